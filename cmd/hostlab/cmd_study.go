package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/studies"
)

func newStudy(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Study files: check one, or copy a built-in one",
		Long: `A study is a TOML file that says what to vary, which workload to run and which
responses decide. Several are built in; copy one to start your own.

Exit status: 0 done, 2 a study that cannot be used.`,
		Example: `  hostlab study list
  hostlab study show gzip-level > my.toml
  hostlab study check my.toml`,
	}
	return group(cmd, newStudyCheck(std), newStudyList(std), newStudyShow(std), newStudySchema(std))
}

func newStudyCheck(std streams) *cobra.Command {
	var (
		o   overrideFlags
		out printing
	)
	cmd := &cobra.Command{
		Use:   "check [flags] FILE|NAME...",
		Short: "Say what a study would do, or list all its problems",
		Long: `check reads study files. For each it says what the study varies, its number of
runs, its time, what decides, and what it changes on the host. It names levels
that this host lacks and leaves them out. It runs nothing.

For a file that cannot be used, it lists the problems as FILE:LINE: TEXT. Where
a table cannot be read, a last line names those that may have more.

A word without a slash that does not end in .toml names a built-in study, and -
reads a study from standard input.

--blocks, --seed and --set are part of a study's identity: to resume a record,
give the values that it began with.

Exit status: 0 all can be used, 2 one cannot.`,
		Example: `  hostlab study check my.toml
  hostlab study check --blocks 6 --set workload.expect=2s my.toml
  hostlab study check power-dialog`,
		Args:              takes(1, -1, "studies, by name or file"),
		ValidArgsFunction: completeStudies(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			over, err := o.overrides(cmd)
			if err != nil {
				return err
			}
			var (
				all   experiment.Problems
				plans []experiment.Outline
			)
			for _, a := range args {
				find := func() (*experiment.Study, error) { return experiment.Find(a, over, runner.Known()) }
				if a == "-" {
					find = func() (*experiment.Study, error) { return experiment.Read("stdin", std.in, over, runner.Known()) }
				}
				s, err := find()
				if bad, ok := errors.AsType[*experiment.Problems](err); ok {
					all.List = append(all.List, bad.List...)
					continue
				}
				if err != nil {
					return err
				}
				// A file is right also where this host cannot run it. What is set for it here
				// has to fit.
				var note [][2]string
				here, err := fitHere(cmd.Context(), s)
				bad, ok := errors.AsType[*experiment.Problems](err)
				switch {
				case err == nil:
					s = here
				case !ok:
					return err
				case len(s.Overrides) > 0:
					all.List = append(all.List, bad.List...)
					continue
				default:
					note = append(note, [2]string{"Note", "run would refuse it: " + bad.Error()})
				}
				plans = append(plans, experiment.Describe(s, note...))
			}
			if plans != nil {
				if err := out.print(std, planDocument(plans...)); err != nil {
					return err
				}
			}
			if len(all.List) > 0 {
				return &all
			}
			return nil
		},
	}
	o.add(cmd)
	out.flags(cmd, std, tableForms)
	return cmd
}

func newStudyList(std streams) *cobra.Command {
	out := printing{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The studies that are built in",
		Long: `list names the studies inside the binary. 'hostlab study check NAME' says what
one does, 'hostlab study show NAME' prints its file.

Exit status: 0 done, 2 unusable flag.`,
		Example: `  hostlab study list
  hostlab study list --format json | jq -r '.studies[].name'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			var list []named
			for _, s := range experiment.Embedded(runner.Known()) {
				list = append(list, named{s.Name, s.Title})
			}
			return out.print(std, listing("study", "Studies", fmt.Sprintf("hostlab has %d studies.", len(list)), list, struct {
				document.Head
				Studies []named `json:"studies"`
			}{document.Head{Kind: "studies", Schema: listSchema}, list}))
		},
	}
	out.flags(cmd, std, tableForms)
	return cmd
}

func newStudyShow(std streams) *cobra.Command {
	out := printing{ending: ".toml"}
	cmd := &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Print the file of a built-in study",
		Long: `show prints the file of a built-in study, byte for byte. Copy it to start your
own.

Exit status: 0 done, 2 no such study.`,
		Example: `  hostlab study show gzip-level > my.toml
  hostlab study show gzip-level --out my.toml`,
		Args:              takes(1, 1, "one name of a study"),
		ValidArgsFunction: completeStudies(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if experiment.IsFile(args[0]) {
				return usagef("study show %s: names a file; show prints built-in studies, which 'hostlab study list' names",
					args[0])
			}
			s, err := experiment.Find(args[0], experiment.Overrides{}, runner.Known())
			if err != nil {
				return err
			}
			return out.each(std, func(w io.Writer, form string) error {
				if form == "json" {
					return document.WriteJSON(w, struct {
						document.Head
						Name   string `json:"name"`
						Title  string `json:"title"`
						Source string `json:"source"` // the file, TOML
					}{document.Head{Kind: "study", Schema: listSchema}, s.Name, s.Title, string(s.Source)})
				}
				_, err := w.Write(s.Source)
				return err
			})
		},
	}
	out.flags(cmd, std, sourceForms)
	return cmd
}

func newStudySchema(std streams) *cobra.Command {
	var out printing
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of study files, for editors",
		Long: `schema prints the JSON Schema (2020-12) of study files. Editors with Taplo or
Even Better TOML complete and check a study whose first line names the schema.
Built-in studies have that line: #:schema ./study.schema.json

Exit status: 0 done, 2 unusable flag.`,
		Example: `  hostlab study schema --out study.schema.json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			return out.each(std, func(w io.Writer, _ string) error { _, err := w.Write(studies.Schema); return err })
		},
	}
	out.flags(cmd, std, []string{"json"})
	return cmd
}

// completeStudies offers the built-in studies to shells.
func completeStudies(d cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 { // each takes one
			return nil, d
		}
		return experiment.Names(), d
	}
}

// overrideFlags are the flags that change a study, for the commands that read one.
type overrideFlags struct {
	aa     int
	blocks int
	quick  bool
	seed   string
	set    []string
}

func (o *overrideFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.aa, "aa", 0,
		"first run `N` pairs of the baseline with itself, for the noise floor and what the plan can find")
	cmd.Flags().IntVar(&o.blocks, "blocks", 0, "run exactly `N` blocks, without the study's looks (interim analyses)")
	cmd.Flags().StringVar(&o.seed, "seed", "", "seed `number` of the random order, in place of the study's")
	cmd.Flags().StringArrayVar(&o.set, "set", nil,
		"`KEY=VALUE`: workload.KEY (a key of [workload] or a parameter, which is not varied then); settle=TIME, waited after "+
			"each change; level.NAME=DIRECTORY; setting.NAME or server.NAME=LEVEL, to try against the present one; may be repeated")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("set", completeOverride))
	cmd.Flags().BoolVar(&o.quick, "quick", false, "of a service in use (live-...): periods of 5 s, 10 minutes in all")
}

// completeOverride completes --set: the settings of this host with their values, and how other keys begin.
func completeOverride(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const prefix = "setting."
	rest, setting := strings.CutPrefix(typed, prefix)
	if !setting {
		return []string{"workload.", "settle=", "level.", prefix, "server."},
			cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	list, then := new(settingsAt).complete(cmd, args, rest)
	for i := range list {
		list[i] = prefix + list[i]
	}
	return list, then
}

func (o *overrideFlags) overrides(cmd *cobra.Command) (experiment.Overrides, error) {
	out := experiment.Overrides{Quick: o.quick}
	if cmd.Flags().Changed("aa") {
		if o.aa < 1 {
			return out, usagef("--aa %d: expected 1 or more", o.aa)
		}
		out.AA = o.aa
	}
	if cmd.Flags().Changed("blocks") {
		if o.blocks < 1 {
			return out, usagef("--blocks %d: expected 1 or more", o.blocks)
		}
		out.Blocks = o.blocks
	}
	if cmd.Flags().Changed("seed") {
		n, err := strconv.ParseUint(o.seed, 10, 64)
		if err != nil {
			return out, usagef("--seed %q: expected a whole number from 0 to %d", o.seed, uint64(1<<64-1))
		}
		out.Seed = &n
	}
	for _, s := range o.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return out, usagef("--set %q: expected workload.KEY=VALUE", s)
		}
		if key = strings.TrimSpace(key); out.Set == nil {
			out.Set = map[string]string{}
		}
		if _, twice := out.Set[key]; twice {
			return out, usagef("--set %s is given twice", key)
		}
		out.Set[key] = value
	}
	return out, nil
}
