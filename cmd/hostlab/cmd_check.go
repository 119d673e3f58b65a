package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

func newCheck(std streams) *cobra.Command {
	var (
		m                      machine
		accept                 exceptions
		role                   check.Role
		format, failOn, logDir string
		explain                string
		all                    bool
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
docs/exceptions.md describes the file.

--explain prints the long text of one check: what it reads, why it matters, its
severity in each role, the sources and where they disagree.

Exit status: 0 nothing at or above --fail-on, 1 findings, 2 unusable flag,
3 nothing to inspect.`,
		Example: `  hostlab check
  hostlab check --role production-app --fail-on high && echo fit for production
  hostlab check --format json | jq '.results[] | select(.status == "finding")'
  hostlab check --explain PWR-001`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("explain") {
				return explainCheck(std, explain, format)
			}
			if logDir != "" {
				m.paths = []string{logDir}
			}
			if m.root == "" {
				if err := ownRole(cmd, roleFile, &role); err != nil {
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
				remind(std)
			}
			results := check.Accept(check.Run(f, role, check.All()), list, f.Identity.Hostname.Or(unnamed), time.Now())
			if err := printDocument(std, check.Document(f, role, results, all, time.Now()), format); err != nil {
				return err
			}
			if worst, any := check.Worst(results); any && int(worst) >= slices.Index(check.Severities, failOn) {
				return verdictStatus{exitFindings}
			}
			return nil
		},
	}
	m.flags(cmd)
	accept.flags(cmd)
	roleFlag(cmd, &role)
	formatFlag(cmd, &format, documentFormats)
	choiceFlag(cmd, &failOn, "fail-on", "low", "lowest severity that makes the exit status 1", check.Severities)
	cmd.Flags().StringVar(&logDir, "log-dir", "", "directory of the database's log: check its storage too")
	cmd.Flags().BoolVar(&all, "all", false, "also list checks that passed or do not apply, and all values read")
	cmd.Flags().StringVar(&explain, "explain", "", "explain the check `ID`, and look at nothing; list names all")
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("explain", func(*cobra.Command, []string, string) (ids []string,
		_ cobra.ShellCompDirective) {
		for _, c := range check.All() {
			ids = append(ids, c.ID+"\t"+c.Title)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}))
	return cmd
}

// explainCheck prints the long text of a check, or names all.
func explainCheck(std streams, id, format string) error {
	if format == "json" {
		return usagef("--explain prints a text, not JSON")
	}
	if id == "list" {
		return printDocument(std, check.List(check.All()), format)
	}
	c, err := check.Find(id)
	if err != nil {
		return usageError{err}
	}
	return printDocument(std, check.Explain(c), format)
}
