package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/cpus"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
	"hostlab/internal/workload/scanlock"
)

// The least times that give a table that means something, and the most.
const (
	leastInterval = 100 * time.Millisecond
	mostTime      = 30 * 24 * time.Hour
)

func newScanlock(std streams) *cobra.Command {
	o := scanlockRun{std: std, start: startThreads}
	cmd := &cobra.Command{
		Use:   "scanlock [flags]",
		Short: "Run threads that take a lock beside threads that scan memory",
		Long: `scanlock pins threads to CPUs. Some take and release one lock as often as they
can; others overwrite memory, as a database's lazy writer does. It shows how
often each thread gets the lock, and what sharing a core or a cache with a
scanner costs. It is the program of "Be aware: To Hyper or not to Hyper" (2005),
with its masks: -s8 -l7 scans on CPU 3 and takes the lock on CPUs 0 to 2.
Without masks, the first CPU scans and all others take the lock.

` + cpus.Syntax + `
  none        no threads of this kind

Every --interval it prints one line per thread in the form of that program; a
scanner's Spin counts its scans. At the end comes a table of the whole run: the
rate (acquisitions or scans per second), spins per acquisition, and the thread's
part of a fair share. The last column is how long the thread waited for its CPU
because others had it. The first 0.1 s do not count.

The figures come from one run, without an interval: 'hostlab run smt' compares
placements. A line says whether a scanner shares a core with a thread that takes
the lock, measured before the run. Its CPUs are fully busy meanwhile. It changes
nothing and needs no root.

Formats other than text print one document at the end. .threads of the JSON, and
each row of the CSV, is a thread with its rates.
` + page("schema/scanlock.schema.json") + ` describes it.

Exit status: 0 done, also after Ctrl-C without --duration; 1 a worker process
died or hung; 2 unusable flag or CPU; 3 nothing to inspect; 130 interrupted
before --duration was over. After Ctrl-C, or if a worker process ends early, it
prints the figures so far, and marks them as incomplete in the second case.`,
		Example: `  hostlab workload scanlock                            # until Ctrl-C
  hostlab workload scanlock -s8 -l7 --duration 30s     # masks, as in 2005
  hostlab workload scanlock -s cpu:0 -l 1-3,64-67 --duration 10s --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := o.taken(cmd); err != nil {
				return err
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.valid(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	scan, lock := &onceCPUs{cpus: &o.ask.Scan}, &onceCPUs{cpus: &o.ask.Lock}
	f.VarP(scan, "scan-cpus", "s", "`CPUS` that scan (default: the first that may be used)")
	f.VarP(lock, "lock-cpus", "l", "`CPUS` that take the lock (default: all others)")
	// The program of 2005 takes either case.
	f.VarP(scan, "S", "S", "as -s")
	f.VarP(lock, "L", "L", "as -l")
	cobra.CheckErr(errors.Join(f.MarkHidden("S"), f.MarkHidden("L")))
	f.DurationVar(&o.interval, "interval", 10*time.Second, "time between tables")
	f.DurationVar(&o.duration, "duration", 0, "how long to run; 0: until Ctrl-C")
	f.StringVar(&o.size, "scan-size", "1MiB", "memory that each scanner overwrites")
	o.flags(cmd, std, tableForms)
	for _, name := range []string{"scan-cpus", "lock-cpus", "interval", "duration", "scan-size"} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

// onceCPUs is a pflag.Value of CPUs under one name or two, which is given once: the
// last of several sets would win, and the others be lost without a word.
type onceCPUs struct {
	cpus  *string
	given bool
}

func (v *onceCPUs) String() string { return *cmp.Or(v.cpus, new(string)) }
func (v *onceCPUs) Type() string   { return "string" }

func (v *onceCPUs) Set(text string) error {
	if v.given {
		return fmt.Errorf("it was given already, as %q; join sets by +, as in %s", *v.cpus, screen.Short(*v.cpus+"+"+text))
	}
	*v.cpus, v.given = text, true
	return nil
}

// scanlockRun is what the command line asks for.
type scanlockRun struct {
	std                streams
	start              func(context.Context, scanlock.Cell) (scanlock.Running, error)
	ask                scanlock.Ask
	interval, duration time.Duration
	size               string
	printing
}

func startThreads(ctx context.Context, c scanlock.Cell) (scanlock.Running, error) {
	s, err := scanlock.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// taken refuses a flag as the CPUs of another, whose own word was forgotten: no list
// or mask begins with a dash.
func (o *scanlockRun) taken(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if err != nil || !strings.HasPrefix(v, "-") {
			return
		}
		switch f.Name {
		case "scan-cpus", "lock-cpus", "S", "L":
			err = usagef("-%s needs CPUs, as in -%s 0-2, and found %q in their place", f.Shorthand, f.Shorthand, v)
		}
	})
	return err
}

// valid reads the flags that need no host.
func (o *scanlockRun) valid() error {
	if o.interval < leastInterval || o.interval > mostTime {
		return usagef("--interval %s: expected %s to %s", o.interval, leastInterval, screen.Brief(mostTime))
	}
	if o.duration != 0 && (o.duration < leastInterval || o.duration > mostTime) {
		return usagef("--duration %s: expected %s to %s, or 0 to run until Ctrl-C", o.duration, leastInterval,
			screen.Brief(mostTime))
	}
	size, err := workload.With(&struct {
		Bytes workload.Bytes `toml:"size" limits:"128,1073741824"`
	}{}, "size", o.size)
	if bad, ok := errors.AsType[*workload.ParamError](err); ok {
		return usagef("--scan-size: %s", joined(bad.Text, bad.Hint))
	}
	o.ask.ScanSize = int(workload.Value(size, "size").(workload.Bytes))
	return nil
}

// run plans, runs and prints.
func (o *scanlockRun) run(ctx context.Context) error {
	m := machine{}
	facts, err := m.collect(ctx, "")
	if err != nil {
		return err
	}
	started := time.Now()
	plan, err := scanlock.Make(o.ask, facts)
	if err != nil {
		return usageError{err}
	}
	w := scanlock.Watch{Start: o.start, WarmUp: 100 * time.Millisecond, Interval: o.interval, Duration: o.duration}
	if o.onScreen() {
		if err := o.tell(&document.Document{Sections: []document.Section{plan.Section()}}); err != nil {
			return err
		}
		w.Each = func(t scanlock.Table) error { return errors.Join(o.blank(), t.Write2005(o.std.out)) }
	}
	shared, err := o.shared(ctx, facts, plan)
	if err != nil {
		return err
	}
	res, err := w.Run(ctx, plan)
	if err != nil && res.Lost == "" {
		return err
	}
	lost, err := err, error(nil)
	d := scanlock.NewData(plan, res)
	d.Tool, d.Host, d.Started = versionText(), facts.Identity.Hostname.Or("unknown host"), started
	d.Shared = shared
	doc := scanlock.Document(plan, res, d)
	if o.onScreen() { // which has the plan above
		doc.Sections = doc.Sections[1:]
		err = o.blank()
	}
	err = errors.Join(err, o.print(o.std, doc))
	if lost == nil && err == nil && res.Interrupted {
		return context.Canceled
	}
	return cmp.Or(lost, err)
}

// shared measures whether a scanner shares a core with a thread that takes the lock, and names the processor; "":
// there is no pair.
func (o *scanlockRun) shared(ctx context.Context, facts *host.Facts, plan scanlock.Plan) (string, error) {
	of := map[scanlock.Role][]int{}
	for _, th := range plan.Cell.Threads {
		of[th.Role] = append(of[th.Role], th.CPU)
	}
	scan, lock := of[scanlock.Scan], of[scanlock.Lock]
	if len(scan) == 0 || len(lock) == 0 {
		return "", nil
	}
	both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(scan, lock))))
	out, err := pairsAmong(ctx, &facts.Topology, both)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil { // the run needs it for one line alone
		out.Skipped = err.Error()
	}
	return fmt.Sprintf("%s %s, hypervisor: %s.", probe.Between(out, &facts.Topology, scan, lock),
		facts.Identity.CPUModel.Or("unknown processor"), facts.Virt.Hypervisor.Or("unknown")), nil
}

func joined(text, hint string) string {
	return strings.TrimSuffix(text+"; "+hint, "; ")
}

// onScreen reports that tables are shown as they come.
func (o *scanlockRun) onScreen() bool { return o.format == "text" && len(o.outs) == 0 }

func (o *scanlockRun) tell(d *document.Document) error { return writeDocument(o.std.out, d, "text") }

func (o *scanlockRun) blank() error {
	_, err := fmt.Fprintln(o.std.out)
	return err
}
