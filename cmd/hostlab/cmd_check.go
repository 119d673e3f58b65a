package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

func newCheck(std streams) *cobra.Command {
	var (
		m              machine
		accept         exceptions
		role           check.Role
		out            printing
		failOn, logDir string
		explain        string
		all            bool
		status         strict
	)
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Which settings are wrong for this host's role",
		Long: `check compares this host's settings with what vendors and tuning tools recommend
for its role. On a production database or application server, short and
predictable response times come first. A development system may save power.

Each finding has an ID, a severity, the value and where check read it, the
reason, the source and a command that changes it. If this host lacks a setting,
its check does not apply; that is no failure. check writes nothing and needs no
root.

--exceptions names a file of findings that you accept. check lists them apart,
with the reason and the last day. After that day they are findings again.
` + page("exceptions.md") + ` describes the file.

--explain prints the long text of one check: what it reads, why it matters, its
severity in each role, the sources and where they disagree.

Exit status:
  0    done
  1    failed on the way
  2    a flag or file cannot be used
  3    there is nothing to inspect
  10   with --exit-status: findings at or above --fail-on`,
		Example: `  hostlab check
  hostlab check --exit-status --fail-on high && echo fit for production
  hostlab check --format json | jq '.results[] | select(.status == "finding")'
  hostlab check --explain PWR-001`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("explain") {
				return explainCheck(std, explain, &out)
			}
			if cmd.Flags().Changed("fail-on") && !bool(status) {
				return usagef("--fail-on says which findings are an exit status; add --exit-status")
			}
			if logDir != "" {
				m.paths = []string{logDir}
			}
			if m.root == "" {
				if err := ownRole(cmd, &role); err != nil {
					return err
				}
			}
			list, err := accept.read()
			if err != nil {
				return err
			}
			f, err := m.collect(cmd.Context(), "log-dir")
			if err != nil {
				return err
			}
			if m.root == "" {
				remind(notes(cmd, std))
			}
			results := check.Accept(check.Run(f, role, check.All()), list, f.Identity.Hostname.Or(unnamed), time.Now())
			if m.root != "" {
				check.Elsewhere(f, results)
			}
			if err := out.print(std, check.Document(f, role, results, all, time.Now())); err != nil {
				return err
			}
			if worst, any := check.Worst(results); any && int(worst) >= slices.Index(check.Severities, failOn) {
				return status.verdict(exitFound)
			}
			return nil
		},
	}
	m.flags(cmd)
	accept.flags(cmd)
	roleFlag(cmd, &role)
	out.flags(cmd, std, tableForms)
	status.flag(cmd, "end with status 10 on findings")
	choiceFlag(cmd, &failOn, "fail-on", "low", "lowest severity that counts for --exit-status", check.Severities)
	cmd.Flags().StringVar(&logDir, "log-dir", "", "directory of the database's log: check its storage too")
	cmd.Flags().BoolVar(&all, "all", false, "also list checks that passed or do not apply, and all values read")
	cmd.Flags().StringVar(&explain, "explain", "", "explain the check `ID`, and look at nothing; list names all")
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("explain", checkIDs))
	return cmd
}

// checkIDs completes the ID of a check.
func checkIDs(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
	for _, c := range check.All() {
		ids = append(ids, c.ID+"\t"+c.Title)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// explainCheck prints the long text of a check, or names all.
func explainCheck(std streams, id string, out *printing) error {
	if id == "list" {
		return out.print(std, check.List(check.All()))
	}
	c, err := check.Find(id)
	if err != nil {
		return usageError{err}
	}
	return out.print(std, check.Explain(c))
}
