package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/report"
)

// The time that all probes together may take. Facts, checks and the report come
// on top and take about a second; the promise is 90 s in all.
const (
	fullBudget  = 60 * time.Second
	quickBudget = 20 * time.Second
)

// assessOptions is what was asked for.
type assessOptions struct {
	role   check.Role
	logDir string // absolute
	asked  bool   // the log directory was named, so being unable to use it is an error
	html   string // "" for none
	json   string // "" for none, "-" for stdout
	budget time.Duration
	quiet  bool
}

func newAssess(std streams) *cobra.Command {
	var (
		o     assessOptions
		role  string
		quick bool
	)
	cmd := &cobra.Command{
		Use:   "assess [flags]",
		Short: "Inspect, check, measure, report: the answer in a minute",
		Long: `assess tells what this host is, which settings are wrong for its role, what the
platform measurably costs, what each lever could give at most, and what to do
next: on the terminal, and in an HTML file to send to a colleague.

It measures, each with n, interval and noise floor:
  wake-up   what a short burst of work costs after the CPU was idle
  siblings  which CPUs share a core, and what a memory scan on one does
  commit    the latency of a durable 4 KiB append in the log directory
  degree    how a cached query speeds up with its degree of parallelism

Nothing on the host is changed. The commit probe writes one file of at most
64 MiB into the log directory and removes it. Root is not needed. Run it on a
host that is otherwise quiet, or read the warnings.

Exit status: 0 done, 1 failed on the way, 2 unusable flag, log directory or
file, 3 nothing to inspect, 130 interrupted.`,
		Example: `  hostlab assess
  hostlab assess --role production-app --log-dir /oracle/redo --html db7.html
  hostlab assess --quick --quiet --html= --json - | jq .verdict`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.role, err = check.ParseRole(role); err != nil {
				return usageError{err}
			}
			o.budget = fullBudget
			if quick {
				o.budget = quickBudget
			}
			o.asked = cmd.Flags().Changed("log-dir")
			if o.logDir, err = filepath.Abs(o.logDir); err != nil {
				return err
			}
			if !cmd.Flags().Changed("html") {
				o.html = defaultReport(time.Now())
			} else if o.html != "" {
				if err := checkWritable("html", o.html); err != nil {
					return err
				}
			}
			if o.json != "" && o.json != "-" {
				if err := checkWritable("json", o.json); err != nil {
					return err
				}
			}
			if o.json != "" && o.json == o.html {
				return usagef("--html and --json both name %s; give each a file of its own", o.json)
			}
			return assessAndReport(cmd.Context(), std, o)
		},
	}
	choiceFlag(cmd, &role, "role", string(check.ProductionDB), "what the host is for", roleNames())
	cmd.Flags().StringVar(&o.logDir, "log-dir", ".", "directory on the device of the database's log")
	cmd.Flags().StringVar(&o.html, "html", "", "write the HTML report to `FILE` (default: a new file in $XDG_STATE_HOME/hostlab; --html= writes none)")
	cmd.Flags().StringVar(&o.json, "json", "", "write everything as JSON to `FILE` (- for stdout)")
	cmd.Flags().BoolVar(&quick, "quick", false, "measure for 20 s instead of a minute: wider intervals, fewer answers")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no text, only the files asked for")
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
	cobra.CheckErr(cmd.MarkFlagFilename("html", "html"))
	cobra.CheckErr(cmd.MarkFlagFilename("json", "json"))
	return cmd
}

// defaultReport names a new report where the XDG base directory specification
// puts state, so that the directory one stands in, which may well be the log
// directory, stays as it was.
func defaultReport(now time.Time) string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return filepath.Join(os.TempDir(), "hostlab-report.html")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "hostlab", "assess-"+now.Format("20060102-150405")+".html")
}

// assessAndReport measures and writes what was asked for.
func assessAndReport(ctx context.Context, std streams, o assessOptions) error {
	p := newProgress(std.err, o.quiet, o.budget)
	defer p.clear()
	a, err := assess(ctx, o, p)
	p.clear()
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := os.MkdirAll(filepath.Dir(o.html), 0o755); err != nil {
			return fmt.Errorf("cannot write the report: %w; name another file with --html", err)
		}
		if err := writeFile(o.html, func(f *os.File) error { return report.WriteHTML(f, a) }); err != nil {
			return err
		}
		slog.Info("report written", "file", o.html)
	}
	if o.json == "-" {
		if err := report.WriteJSON(std.out, a); err != nil {
			return err
		}
	} else if o.json != "" {
		if err := writeFile(o.json, func(f *os.File) error { return report.WriteJSON(f, a) }); err != nil {
			return err
		}
	}
	if !o.quiet && o.json != "-" {
		_, width := terminal(std.out)
		opt := report.Options{Width: width, Color: colour(std.out), HTML: o.html, JSON: o.json}
		if err := report.WriteTerminal(std.out, a, opt); err != nil {
			return err
		}
	}
	return brokenProbes(a)
}

// brokenProbes makes a probe that failed, other than by finding nothing to
// measure here, the command's own failure, after everything else was written.
func brokenProbes(a *report.Assessment) error {
	var broken []string
	for _, r := range a.Runs {
		if r.Failed != "" {
			broken = append(broken, r.Probe+": "+r.Failed)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("not everything could be measured: %s", strings.Join(broken, "; "))
}
