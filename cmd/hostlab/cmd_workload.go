package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// mostRuns is as many as a study may have blocks.
const mostRuns = 10_000

func newWorkload(std streams) *cobra.Command {
	var (
		o     all.Trial
		out   printing
		picks []string
		yes   bool
	)
	cmd := &cobra.Command{
		Use:   "workload NAME [parameter=value]... [flags]",
		Short: "Run one workload by itself, to try its parameters",
		Long: `workload runs a workload a few times by itself and prints the median of each of
its responses. Use it to try parameters before a study uses them. It compares
nothing: runs follow each other, so drift of the host is in all of them. If
hostlab was stopped during a run (SIGSTOP, suspend), it leaves out the run and
names it.

'workload list' names the workloads, 'workload show NAME' their parameters.
Separate the words of a list and the entries of a table by spaces, or write
JSON: run='gzip -1 big.log', run='["echo", "two words"]', env='A=1 B=2'.

Exit status: 0 done, 1 a run failed, 2 a parameter or flag that cannot be used,
130 interrupted.`,
		Example: `  hostlab workload command run='gzip -1 --keep --force big.log' --runs 10
  hostlab workload command run='pgbench -T 10' --pick tps='regex:tps = (\S+)'
  hostlab workload logcommit dir=/var/lib/postgresql rate=200
  hostlab workload observe service=postgres for=30s --runs 1
  hostlab workload show dialog`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("name a workload: %s", strings.Join(workloadNames(), ", "))
			}
			w, err := findWorkload(args[0])
			if err != nil {
				return err
			}
			if o.Runs < 1 || o.Runs > mostRuns {
				return usagef("--runs %d: expected 1 to %d", o.Runs, mostRuns)
			}
			if err := o.Parse(w, args[1:], picks); err != nil {
				return usageError{err}
			}
			if deed := w.Outside(o.Params); deed != "" && !yes {
				if err := permitOutside(cmd.Context(), std, "workload "+args[0], []string{deed}); err != nil {
					return err
				}
			}
			work, remove, err := workdir()
			if err != nil {
				return err
			}
			rep, err := o.Do(cmd.Context(), w, work)
			if err = errors.Join(err, remove()); err != nil {
				if p, ok := errors.AsType[*workload.ParamError](err); ok {
					return usageError{p}
				}
				return err
			}
			return out.print(std, rep.Document())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return workloadNames(), cobra.ShellCompDirectiveNoFileComp
			}
			w, ok := all.Find(args[0])
			if !ok {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, p := range w.Describe().List() {
				names = append(names, p.Name+"=")
			}
			return names, cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().IntVar(&o.Runs, "runs", 5, "how many runs")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the work")
	cmd.Flags().StringArrayVar(&picks, "pick", nil, "NAME=FROM: take a response from the output, such as t=json:$.elapsed")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before it uses your server")
	out.flags(cmd, std, tableForms)
	var listed, described printing
	list := &cobra.Command{
		Use:   "list",
		Short: "Name the workloads",
		Long: `list names the workloads inside the binary. 'hostlab workload show NAME' says
what one does and what its parameters are.

Exit status: 0 done, 2 unusable flag.`,
		Example: `  hostlab workload list
  hostlab workload list --format json | jq -r '.workloads[].name'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return listed.print(std, workloadList())
		},
	}
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "Describe a workload: what it does, its parameters, its responses",
		Long: `show prints what a workload does and does not show. It lists its parameters with
their defaults and limits, and the responses that every run has.

Exit status: 0 done, 2 no such workload.`,
		Example: `  hostlab workload show dialog`,
		Args:    takes(1, 1, "one name of a workload"),
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := findWorkload(args[0])
			if err != nil {
				return err
			}
			return described.print(std, all.Describe(w.Describe()))
		},
		ValidArgsFunction: cobra.FixedCompletions(workloadNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	listed.flags(list, std, tableForms)
	described.flags(show, std, documentForms)
	for _, c := range []*cobra.Command{list, show} {
		c.DisableFlagsInUseLine = true
		cmd.AddCommand(c)
	}
	cmd.AddCommand(newScanlock(std))
	return cmd
}

func workloadNames() (names []string) {
	for _, w := range all.Workloads() {
		names = append(names, w.Describe().Name)
	}
	return names
}

func findWorkload(name string) (workload.Workload, error) {
	if w, ok := all.Find(name); ok {
		return w, nil
	}
	if hint := meant(name, workloadNames()); hint != "" {
		return nil, usagef("no workload %q%s", name, hint)
	}
	return nil, usagef("no workload %q; there are %s", name, strings.Join(workloadNames(), ", "))
}

// workdir makes the directory of a run's own files, which workloads write by name. The
// function removes it.
func workdir() (dir string, remove func() error, err error) {
	if err := trust.AsRoot(os.TempDir()); err != nil {
		return "", nil, usagef("TMPDIR: %w", err)
	}
	dir, err = os.MkdirTemp("", "hostlab-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// listSchema is the version of the JSON of lists, of plans and files of studies, and of what 'workload' prints.
const listSchema = 1

// named is a member of a list.
type named struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

func listing(command, title, answer string, list []named, data any) *document.Document {
	t := &document.Table{Columns: []document.Column{{Head: "name"}, {Head: "title"}}}
	for _, x := range list {
		t.Add(document.Texts(x.Name, x.Title)...)
	}
	return &document.Document{Name: command, Title: title, Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled(title, t)}, Data: data}
}

func workloadList() *document.Document {
	var list []named
	for _, x := range all.Workloads() {
		d := x.Describe()
		list = append(list, named{d.Name, d.Title})
	}
	return listing("workload", "Workloads", fmt.Sprintf("hostlab has %d workloads.", len(list)), list, struct {
		document.Head
		Workloads []named `json:"workloads"`
	}{document.Head{Kind: "workloads", Schema: listSchema}, list})
}

// planDocument shows what studies do.
func planDocument(plans ...experiment.Outline) *document.Document {
	d := &document.Document{Name: "study", Title: "Plan", Data: struct {
		document.Head
		Plans []experiment.Outline `json:"plans"`
	}{document.Head{Kind: "plans", Schema: listSchema}, plans}}
	for _, p := range plans {
		head, title := p.Study, "Plan"
		if p.Title != p.Study {
			head += ": " + p.Title
		}
		d.Answer = append(d.Answer, document.Line{Text: head})
		if len(plans) > 1 {
			title += " of " + p.Study
		}
		var pairs document.Pairs
		for _, r := range p.Text {
			pairs = append(pairs, document.Pair{Name: r.Label, Value: r.Text})
		}
		d.Sections = append(d.Sections, document.Titled(title, pairs))
	}
	d.Rows = document.PairRows(d.Sections)
	return d
}
