package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/cpus"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/report"
	"hostlab/internal/trust"
	"hostlab/internal/workload/logcommit"
)

// The time that all probes together may take. Facts, checks and the report come
// on top and take about a second; the promise is 90 s in all.
const (
	fullBudget  = 60 * time.Second
	quickBudget = 20 * time.Second
)

// After the time in which a service was watched, probes take less.
const (
	behindFull  = 20 * time.Second
	watchQuick  = 12 * time.Second
	behindQuick = 7 * time.Second
)

// assessOptions is what was asked for.
type assessOptions struct {
	asked
	role     check.Role
	logDir   string // absolute; "": none was named
	html     string // "" for none, "-" for stdout
	noReport string // why there is none though none was declined
	json     string // "" for none, "-" for stdout
	record   string // "" for none, "-" for stdout
	root     string // a recording to replay; "": none
	budget   time.Duration
	behind   time.Duration // budget of the probes after a service that was watched
	quiet    bool
	accept   exceptions
	accepted []check.Exception
}

func newAssess(std streams) *cobra.Command {
	var (
		o     assessOptions
		quick bool
	)
	cmd := &cobra.Command{
		Use:   "assess [flags]",
		Short: "Inspect, check, measure, report: the answer in a minute",
		Long: `assess watches the service that runs here for a minute, under its own load. It
shows where the service's time goes, and the most that each lever on the
platform could save. It also shows what this host is, which settings are wrong
for its role, and what to type next. It prints text and writes an HTML file
that you can send to a colleague.

A service is a database, a systemd unit, a control group, or a process with its
children; on Windows a Windows service, a program or a process. Where Windows
gives no value, the report says unknown, and why. By default assess takes the
database that runs here; of several, the busiest. It logs in as you, or, if you
are root, as the server's own account. If it may not log in, it observes the
processes and says what to grant. --service demo starts a small demo shop, so
that you can try all of this.

For settings of PostgreSQL, MariaDB, MySQL and SQL Server, the answer of the
running server counts, not its files. hostlab reads SQL Server as Microsoft
documents it; nobody has tried that on a live server.

Then it measures the platform with short probes. Each figure has n, a confidence
interval and a noise floor:
` + probe.Help() + `

assess changes no setting and needs no root. The commit probe writes two files
of 8 MiB into the log directory and one of 1 MiB into memory. They have no names
and vanish with the probe. If assess watches a service, or the host is
busy, the probes use at most a tenth of the CPUs. They stop if the watched
service slows down.

The log directory is the one of --log-dir, else of the watched database. If you
may not write there, assess uses a temporary directory on the same device.
Otherwise no commits are timed. The report says where, or why not.

--record writes all of this to one text file. On another machine, --root replays
the file and prints the same report, to the letter. The file omits the host's
name and addresses. It keeps the names of the service and its server.

Exit status:
  0    done
  1    failed on the way
  2    a flag, the log directory or a file cannot be used
  3    there is nothing to inspect
  130  interrupted; the report covers the time until then`,
		Example: `  hostlab assess
  hostlab assess --role production-app --log-dir /oracle/redo --html db7.html
  hostlab assess --service unit:tomcat9 --for 5m
  hostlab assess --dsn postgres://monitor@db1/prod
  hostlab assess --record db7.txtar --html=
  hostlab assess --root db7.txtar --html db7.html
  hostlab assess --quick --quiet --html= --json - | jq .verdict.text`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.budget, o.behind = fullBudget, behindFull
			if quick {
				o.budget, o.behind = quickBudget, behindQuick
				if !cmd.Flags().Changed("for") {
					o.lasts = watchQuick
				}
			}
			for _, name := range []string{"record", "service", "dsn", "dsn-file", "for", "quick", "log-dir", "role",
				"exceptions"} {
				if o.root != "" && cmd.Flags().Changed(name) {
					return usagef("--root and --%s exclude each other: a recording holds all that was seen", name)
				}
			}
			if err := o.check(time.Hour); err != nil {
				return err
			}
			if o.root == "" {
				var err error
				if o.accepted, err = o.accept.read(); err != nil {
					return err
				}
				if err := ownRole(cmd, roleFile, &o.role); err != nil {
					return err
				}
			}
			if err := o.findLogDir(); err != nil {
				return err
			}
			if err := o.findOutputs(cmd.Flags().Changed("html")); err != nil {
				return err
			}
			return assessAndReport(cmd.Context(), std, o)
		},
	}
	roleFlag(cmd, &o.role)
	o.flags(cmd)
	cmd.Flags().StringVar(&o.logDir, "log-dir", "",
		"directory on the device of the database's log (default: that of the watched database)")
	cmd.Flags().StringVar(&o.html, "html", "",
		"write the HTML report to `FILE` (- for stdout; default: a new file in $XDG_STATE_HOME/hostlab; --html= writes none)")
	cmd.Flags().StringVar(&o.json, "json", "", "write everything as JSON to `FILE` (- for stdout)")
	cmd.Flags().StringVar(&o.record, "record", "", "also write all readings to `FILE`, which --root replays elsewhere")
	cmd.Flags().StringVar(&o.root, "root", "", "report what this `FILE` of --record holds (- for stdin), and measure nothing")
	o.accept.flags(cmd)
	cmd.Flags().BoolVar(&quick, "quick", false, "measure for 20 s instead of a minute: wider intervals, fewer answers")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no text, only the files asked for")
	cobra.CheckErr(cmd.Flags().SetAnnotation("html", emptiable, []string{"true"}))
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
	cobra.CheckErr(cmd.MarkFlagFilename("html", "html"))
	cobra.CheckErr(cmd.MarkFlagFilename("json", "json"))
	return cmd
}

// findLogDir makes the log directory absolute.
func (o *assessOptions) findLogDir() (err error) {
	named := o.logDir
	if named == "" {
		return nil
	}
	if o.logDir, err = filepath.Abs(named); err != nil {
		return usagef("--log-dir %s: the current directory is unknown: %w", named, plain(err))
	}
	return nil
}

// findOutputs decides where the report and the data go, and refuses early what
// cannot be written.
func (o *assessOptions) findOutputs(htmlAsked bool) error {
	if !htmlAsked {
		file, err := defaultReport(time.Now())
		if err != nil {
			o.noReport = fmt.Sprintf("No HTML report was written: %v; name a file with --html.", err)
		}
		o.html = file
	}
	if o.json != "" && o.json == o.html {
		return usagef("--html and --json both name %s; give each a file of its own", o.json)
	}
	if htmlAsked {
		if err := checkWritable("html", o.html); err != nil {
			return err
		}
	}
	if o.record != "" {
		if err := checkWritable("record", o.record); err != nil {
			return err
		}
	}
	return checkWritable("json", o.json)
}

// defaultReport names a new report in the state directory.
func defaultReport(now time.Time) (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "assess-"+now.Format("20060102-150405")+".html"), nil
}

// assessAndReport measures and writes what was asked for. The text comes in any
// case: a minute of measuring is not lost to a full disk.
func assessAndReport(ctx context.Context, std streams, o assessOptions) error {
	remind(std)
	p := newProgress(std.err, o.quiet, o.budget)
	defer p.clear()
	a, err := inspect(ctx, std, o, p)
	p.clear()
	if err != nil {
		return err
	}
	d := a.Document()
	if o.root != "" {
		d.About = append(d.About, "Replayed from "+cmp.Or(strings.TrimPrefix(o.root, "-"), "standard input"))
	}
	html, err1 := output(std, o.html, func(w io.Writer) error { return document.WriteHTML(w, d) })
	json, err2 := output(std, o.json, func(w io.Writer) error { return document.WriteJSON(w, d.Data) })
	if !o.quiet && o.json != "-" && o.html != "-" {
		files := document.Section{Title: "Files"}
		for _, f := range [][2]string{{"Report: ", html}, {"Data: ", json}, {"", o.noReport}} {
			if f[1] != "" {
				files.Blocks = append(files.Blocks, document.Line{Text: f[0] + f[1]})
			}
		}
		d.Sections = append(d.Sections, files)
		if err := printDocument(std, d, "text"); err != nil {
			return err
		}
	}
	if a.Minute != nil && ctx.Err() == nil {
		err2 = errors.Join(err2, a.Minute.Early())
	}
	return errors.Join(err1, err2, brokenProbes(a), ctx.Err())
}

// output writes one form of the assessment and returns the file's name, or "".
func output(std streams, name string, write func(io.Writer) error) (string, error) {
	switch name {
	case "":
		return "", nil
	case "-":
		return "", write(std.out)
	}
	if err := trust.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", name, plain(err))
	}
	if err := writeFile(name, func(f *os.File) error { return write(f) }); err != nil {
		return "", err
	}
	return name, nil
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

// alpha gives the 95 % intervals of all probes.
const alpha = 0.05

func inspect(ctx context.Context, std streams, o assessOptions, p *progress) (*report.Assessment, error) {
	if o.root != "" {
		m := &machine{root: o.root, in: func() io.Reader { return std.in }}
		tree, done, err := m.open()
		if err != nil {
			return nil, err
		}
		defer done()
		return replay(ctx, m, tree)
	}
	started := time.Now()
	tree := host.Tree{}
	if err := host.Look(tree); err != nil {
		return nil, cannotLook{err}
	}
	facts := host.Collect(ctx, host.Options{Tree: tree})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.logDir != "" {
		if err := logcommit.Preflight(host.StorageOf(tree, o.logDir), o.logDir, probe.CommitRoom); err != nil {
			return nil, usageError{err}
		}
	}
	w, err := o.findService(ctx, facts, cmp.Or(o.logDir, os.TempDir()))
	if err != nil {
		return nil, err
	}
	if w != nil {
		defer w.close()
	}
	place := logPlace{dir: o.logDir, why: "named with --log-dir"}
	if place.dir == "" {
		place = logOf(tree, w, facts.Servers())
	}
	cfg := probe.Config{
		Facts: facts, LogDir: place.dir, LogFound: place.found, MemDir: memoryDir(tree), CPUs: cpus.Usable(facts),
		Seed: uint64(started.UnixNano()), Alpha: alpha,
	}
	if place.dir == "" {
		cfg.NoLog, place.why = place.why, ""
	} else {
		if err := logcommit.Preflight(host.StorageOf(tree, place.dir), place.dir, probe.CommitRoom); err != nil {
			slog.Info("no commit probe", "why", err)
			cfg.LogDir, cfg.NoLog, place.why = "", err.Error(), ""
		}
	}
	seen := &observed{Schema: report.Schema, Tool: versionText(), Started: started, Role: o.role, Place: place.dir,
		LogDir: cfg.LogDir, LogDirWhy: place.why,
		Accepted: check.OnHost(o.accepted, facts.Identity.Hostname.Or(""))}
	var m *assess.Minute
	if w != nil {
		seen.Answered = w.answered(facts)
		if m, err = o.watch(ctx, w, facts, p); m == nil && err != nil {
			return nil, err
		}
	}
	seen.Minute = m
	if ctx.Err() == nil { // what was watched of an interrupted minute stands without probes
		if err := o.probe(ctx, seen, cfg, w, p); err != nil {
			return nil, err
		}
	}
	if o.passed != "" {
		seen.Warnings = append(seen.Warnings, o.passed)
	}
	if w != nil && w.doubt != "" {
		seen.Warnings = append(seen.Warnings, "Its "+w.doubt+".")
	}
	if place.wrong != "" && cfg.LogDir != "" {
		seen.Warnings = append(seen.Warnings,
			fmt.Sprintf("Commits were timed in %s: %s. Name a directory with --log-dir, or run it as root.", place.dir,
				place.wrong))
	}
	seen.Seconds = time.Since(started).Seconds()
	if o.record != "" {
		return seen.record(context.WithoutCancel(ctx), std, tree, o.record)
	}
	return seen.assessment(tree, facts), nil
}
