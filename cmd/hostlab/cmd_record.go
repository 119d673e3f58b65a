package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// recordFlags is what was asked for.
type recordFlags struct {
	service, out, format string
	lasts                time.Duration
	quiet                bool
}

func newRecord(std streams) *cobra.Command {
	var o recordFlags
	cmd := &cobra.Command{
		Use:   "record --service SERVICE [flags]",
		Short: "How the kernel schedules a service: bursts, waits, wake-ups",
		Long: `record measures how the kernel schedules one service: how long CPUs compute and
idle, and the service's share of that; how long its threads wait for a CPU; how
long wake-ups take on idle and on busy CPUs; how much of the time they run
beside a busy sibling. --out writes the bursts. From that file, 'hostlab predict
--workload' says what a power policy would cost this service.

Service:
  pid:N        a process and its children, also those that start later
  cgroup:PATH  a control group and those below it
  unit:NAME    a systemd unit
  NAME         a database, a unit or a program of that name
  auto         the busiest database that runs here

Small programs in the kernel count at each context switch, in short windows at
random moments. They may use 0.5 % of the CPU time in use. If switches are few,
that is enough to watch all the time. The report says which share of the time it
saw, and what that cost. record follows each burst that begins in a window to
its end. If it lost more than 1 % of the bursts, it does not write them.

record needs root, and Linux 5.12 or newer with type information (BTF). Without
these it gives bounds, from counters of idle states, schedstat and PSI, and says
why. It changes nothing and leaves nothing in the kernel, even if killed.

Exit status: 0 done; 1 the service ended early, or the bursts cannot be written;
2 unusable flag, or no such service; 130 interrupted. With 1 and 130, record
prints what it saw until then.`,
		Example: `  sudo hostlab record --service unit:postgresql --for 1m --out bursts.jsonl
  hostlab predict --workload bursts.jsonl
  sudo hostlab record --service pid:4711 --for 20s --format json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), std) },
	}
	f := cmd.Flags()
	f.StringVar(&o.service, "service", "", "`SERVICE`: auto, NAME, pid:N, cgroup:PATH or unit:NAME")
	f.DurationVar(&o.lasts, "for", time.Minute, "how long to record, 1s to 1h")
	f.StringVar(&o.out, "out", "", "write the bursts to `FILE`")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	formatFlag(cmd, &o.format, documentFormats)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("service",
		cobra.FixedCompletions([]string{"pid:", "cgroup:", "unit:"},
			cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)))
	return cmd
}

func (o *recordFlags) run(ctx context.Context, std streams) error {
	switch {
	case o.service == "":
		return usagef("--service is missing; name what to watch, as auto, NAME, pid:N, cgroup:PATH or unit:NAME")
	case o.lasts < time.Second || o.lasts > time.Hour:
		return usagef("--for %s: expected 1s to 1h", o.lasts)
	}
	if o.out != "" {
		if err := checkWritable("out", o.out); err != nil {
			return err
		}
	}
	spec, err := service.Parse(o.service)
	if err != nil {
		return usagef("--service %w", err)
	}
	var servers []host.Database
	if spec.Kind == service.Name || spec.Kind == service.Auto {
		servers = host.Collect(ctx, host.Options{}).Databases
	}
	found, err := spec.Find(servers, service.Used)
	switch {
	case err != nil:
		return usagef("--service %s: %w", o.service, err)
	case found == nil:
		return usagef("--service %s: this names nothing that runs here; record takes a database, unit, program, control group or process",
			o.service)
	}
	target := assess.Target(found)
	p := newProgress(std.err, o.quiet, o.lasts)
	defer p.clear()
	step := p.step("recording "+o.service, o.lasts)
	r, err := trace.Record(ctx, trace.Config{Target: target, For: o.lasts,
		Progress: func(done time.Duration) { step(done, o.lasts) }})
	report := &trace.Report{Hostlab: versionText(), Service: o.service, Result: r}
	if no, ok := errors.AsType[*trace.Unavailable](err); ok {
		report.Reason = no.Reason
		report.Bounds, report.Length = trace.BoundsOf(ctx, trace.Config{Target: target, For: o.lasts})
		if o.out != "" {
			err = fmt.Errorf("%s is not written: %w", o.out, no)
		} else {
			err = nil
		}
	} else if err != nil {
		return err
	} else {
		err = o.write(report)
		if r.Ended == "the service ended" {
			err = errors.Join(err, fmt.Errorf("%s ended after %.1f s; what was seen until then is in the report", o.service,
				r.Length))
		}
	}
	p.clear()
	if e := printDocument(std, report.Document(), o.format); e != nil {
		return e
	}
	return errors.Join(err, ctx.Err())
}

// write writes the bursts, and says in the report where they are.
func (o *recordFlags) write(r *trace.Report) error {
	if o.out == "" {
		return nil
	}
	if err := r.Complete(); err != nil {
		return fmt.Errorf("%s is not written: %w", o.out, err)
	}
	r.Out = o.out
	return writeFile(o.out, func(f *os.File) error { return r.WriteBursts(f) })
}
