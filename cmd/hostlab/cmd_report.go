package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	var (
		out    printing
		all    bool
		status strict
		others string
	)
	forms := slices.Clone(documentForms)
	for _, f := range effects.Formats {
		forms, others = append(forms, f.Name), others+fmt.Sprintf("\n  %-8s  %s", f.Name, f.About)
	}
	cmd := &cobra.Command{
		Use:   "report DIR... [flags]",
		Short: "Verdicts of recorded experiments, for people and programs",
		Long: `report analyses what 'hostlab run' recorded in a directory. It says what each
change costs: the effect with its interval, n, the practical margin, a verdict,
the noise floor if there are A/A pairs, and what deciding would take. It only
reads, and works while the experiment is still running. If you name several
directories, it compares them and warns of each condition that differs.

report prints one screen, or everything with --all.

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
  json      .effects has one object per effect, of all experiments;
            ` + page("schema/report.schema.json") + ` describes it
  markdown  tables as GitHub renders them` + others + `

Exit status:
  0   done
  1   failed on the way
  2   a flag or a directory cannot be used
With --exit-status, the highest that any of the experiments asks for:
  0   no primary effect is beyond its practical margin
  10  a primary effect is: it costs more or less, or a rate is lower or higher
  11  not decided: inconclusive or unresolved (10 goes before 11), or runs fail
      in more than 5 % at some levels
      A study with a rule of its own exits by that rule, as smt does: 10 harm,
      0 none, 11 all else`,
		Example: `  hostlab report gzip
  hostlab report gzip --out gzip.html
  hostlab report gzip --format json | jq '.effects[] | {level, effect, verdict}'
  hostlab report monday friday --exit-status; test $? -eq 10 && echo "an effect"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs the directory of an experiment, as in 'hostlab report DIR'%s", latest())
			}
			if slices.Contains(args, "") {
				return usagef("the name of a directory is empty; is a variable unset?")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeReport(cmd, std, args, &out, all, status)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	out.flags(cmd, std, forms)
	cmd.Flags().BoolVar(&all, "all", false, "print all that was found, instead of one screen")
	status.flag(cmd, "end with the verdict as a status, 10 or 11")
	return cmd
}

func writeReport(cmd *cobra.Command, std streams, dirs []string, out *printing, all bool, status strict) error {
	set, err := loadSet(dirs)
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	err = out.each(std, func(w io.Writer, form string) error {
		if i := slices.IndexFunc(effects.Formats, func(f effects.Format) bool { return f.Name == form }); i >= 0 {
			return effects.Formats[i].Write(w, set)
		}
		if form == "text" && !all {
			return writeScreen(w, set.Brief())
		}
		return writeDocument(w, set.Document(), form)
	})
	if err != nil {
		return err
	}
	switch set.Outcome() {
	case analysis.Beyond:
		return status.verdict(exitFound)
	case analysis.Open:
		return status.verdict(exitUndecided)
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
		if errors.Is(err, fs.ErrNotExist) && filepath.Base(dir) == dir { // a name, no path
			if state, e := stateDir(); e == nil {
				if kept, e := store.Load(filepath.Join(state, dir)); e == nil {
					r, err = kept, nil
				}
			}
			if err != nil {
				return nil, usagef("%w%s", err, latest())
			}
		}
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, r)
	}
	return out, nil
}

// latest says where records are that nobody gave a directory, and which is the newest; "": there is no such place.
func latest() string {
	state, err := stateDir()
	if err != nil {
		return ""
	}
	newest := store.Latest(state)
	if newest == "" {
		return "; there is no record in " + screen.Clean(state) + ", where 'hostlab run' puts them"
	}
	return "; records are in " + screen.Clean(state) + ", the latest: hostlab report " + screen.Operand(newest)
}

// loadSet reads and analyses the experiments.
func loadSet(dirs []string) (*effects.Set, error) {
	records, err := loadRecords(dirs)
	if err != nil {
		return nil, err
	}
	set := &effects.Set{Version: versionText()}
	for _, r := range records {
		dir := r.Dir
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
