package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

func newReport(std streams) *cobra.Command {
	var format, out, others string
	formats := slices.Clone(documentFormats)
	for _, f := range effects.Formats {
		formats, others = append(formats, f.Name), others+fmt.Sprintf("\n  %-8s  %s", f.Name, f.About)
	}
	cmd := &cobra.Command{
		Use:   "report DIR... [flags]",
		Short: "Verdicts of recorded experiments, for people and programs",
		Long: `report analyses what 'hostlab run' recorded in a directory. It says what each
change costs: the effect with its interval, n, the practical margin, a verdict,
the noise floor if there are A/A pairs, and what deciding would take. It only
reads, and works while the experiment is still running. If you name several
directories, it compares them and warns of each condition that differs.

It does not say "no practical difference" in these cases; the headline names
which:
- runs fail more often at one level than at another, or in more than 5 %
- values are too coarse
- stalls move the mean beyond the margin
- the level of an earlier run shows in a run
- a held level differs beyond the margin
If a response has values of 0, report compares levels by difference, not ratio.

  text      for a terminal (default)
  html      one self-contained page with pictures, to send
  json      documented in docs/schema/report.schema.json; .effects has one
            object per effect, of all experiments
  markdown  tables as GitHub renders them` + others + `

Exit status, the highest that any of the experiments asks for:
  0   no primary effect is beyond its practical margin
  10  a primary effect is: it costs more or less, or a rate is lower or higher
  11  not decided: inconclusive or unresolved (10 goes before 11), or runs fail
      in more than 5 % at some levels
      A study with a rule of its own exits by that rule, as smt does: 10 harm,
      0 none, 11 all else
  2   a flag or a directory that cannot be used
  1   it failed on the way`,
		Example: `  hostlab report gzip
  hostlab report gzip --format html --out gzip.html
  hostlab report gzip --format json | jq '.effects[] | {level, effect, verdict}'
  hostlab report monday friday; test $? -eq 10 && echo "an effect"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs the directory of an experiment, as in 'hostlab report DIR'")
			}
			if slices.Contains(args, "") {
				return usagef("the name of a directory is empty; is a variable unset?")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWritable("out", out); err != nil {
				return err
			}
			if tty, _ := terminal(std.out); tty && (out == "" || out == "-") && format == "html" {
				return usagef("a page is not for a terminal; name a file with --out, as in --out %s.html", filepath.Base(args[0]))
			}
			return writeReport(cmd, std, args, format, out)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	formatFlag(cmd, &format, formats)
	outFlag(cmd, &out)
	return cmd
}

func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "write to `FILE` instead of stdout")
	cobra.CheckErr(cmd.MarkFlagFilename("out"))
}

// verdictStatus ends a command that has printed all: only the status is left to say.
type verdictStatus struct{ status int }

func (v verdictStatus) Error() string { return fmt.Sprintf("verdict: status %d", v.status) }

func writeReport(cmd *cobra.Command, std streams, dirs []string, format, out string) error {
	set, err := loadSet(dirs)
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	write := func(w io.Writer) error {
		if i := slices.IndexFunc(effects.Formats, func(f effects.Format) bool { return f.Name == format }); i >= 0 {
			return effects.Formats[i].Write(w, set)
		}
		return writeDocument(w, set.Document(), format)
	}
	if _, err := output(std, cmp.Or(out, "-"), write); err != nil {
		return err
	}
	switch set.Outcome() {
	case analysis.Beyond:
		return verdictStatus{exitEffect}
	case analysis.Open:
		return verdictStatus{exitUndecided}
	case analysis.NoneBeyond:
	}
	return nil
}

// loadRecords reads the records of experiments, each of which is named once.
func loadRecords(dirs []string) (out []*store.Record, err error) {
	for i, dir := range dirs {
		if slices.ContainsFunc(dirs[:i], func(d string) bool { return filepath.Clean(d) == filepath.Clean(dir) }) {
			return nil, usagef("%s is named twice", dir)
		}
		r, err := store.Load(dir)
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, r)
	}
	return out, nil
}

// loadSet reads and analyses the experiments.
func loadSet(dirs []string) (*effects.Set, error) {
	records, err := loadRecords(dirs)
	if err != nil {
		return nil, err
	}
	set := &effects.Set{Version: versionText()}
	for i, r := range records {
		dir := dirs[i]
		one := effects.Report{Dir: dir, Analysis: analysis.Analyse(r.Experiment, r.Runs, r.End), Study: r.Study, Runs: r.Runs,
			Warnings: r.Warnings}
		if open := r.Changed(); len(open) > 0 {
			var names []string
			for _, e := range open {
				was := ""
				if !e.Unread {
					was = " (it read " + e.Value + " before)"
				}
				names = append(names, e.Factor+was)
			}
			one.Restore = true
			one.Warnings = append(one.Warnings, "what this experiment has changed is not put back: "+strings.Join(names, ", ")+
				"; unless it is running, see to it: hostlab run --restore --out "+screen.Operand(dir))
		}
		set.Reports = append(set.Reports, one)
	}
	return set, nil
}
