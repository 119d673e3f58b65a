package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/fleet"
	"hostlab/internal/lockfile"
	"hostlab/internal/report"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// ringOptions are those of a service that is kept in a ring.
type ringOptions struct {
	service string // "": the CPUs are watched
	keep    string // how long
	dir     string // "": the usual one
}

func (o *ringOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.service, "service", "", "with --ring: the `SERVICE` to keep: "+service.Forms)
	f.StringVar(&o.keep, "ring", "",
		"keep an account of --service every 10 s, for this `TIME`, such as 2d; 'hostlab assess --at' reads it")
	f.StringVar(&o.dir, "ring-dir", "",
		"`DIR` of the ring (default: ring/SERVICE in $XDG_STATE_HOME/hostlab; of root in /var/lib/hostlab)")
	cobra.CheckErr(cmd.MarkFlagDirname("ring-dir"))
}

// span reads a time of days or hours.
func span(text string) (time.Duration, error) {
	d, err := fleet.Days(text)
	if err != nil || d < time.Hour || d > ring.Longest {
		return 0, usagef("--ring %s: expected 1h to 60d", text)
	}
	return d, nil
}

// check refuses what does not go together.
func (o *ringOptions) check(cmd *cobra.Command, lasts time.Duration) error {
	switch {
	case o.keep == "" && (o.service != "" || o.dir != ""):
		return usagef("--service and --ring-dir go with --ring TIME, which keeps an account of the service; 'hostlab assess --service' tells of it now")
	case o.keep == "":
		return nil
	case o.service == "":
		return usagef("--ring needs --service NAME: %s", service.Forms)
	}
	for _, name := range []string{"interval", "count", "log-dir", "probe-commits", "save", "textfile", "from", "root",
		"format", "out", "exit-status", "quiet-below", "load-above", "quiet-for"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is of no use with --ring, which keeps a service and not the CPUs; run a second 'hostlab watch'",
				name)
		}
	}
	if cmd.Flags().Changed("duration") && lasts < report.KeptFor {
		return usagef("--duration %s: expected at least one account, %s", lasts, screen.Brief(report.KeptFor))
	}
	if spec, err := service.Parse(o.service); err != nil {
		return usagef("--service %w", err)
	} else if spec.Kind == service.None || spec.Kind == service.Demo {
		return usagef("--service %s: name a service that runs here", o.service)
	}
	return nil
}

// run keeps the service until ctx ends, or for so long.
func (o *ringOptions) run(ctx context.Context, note io.Writer, lasts time.Duration, listen string) error {
	keep, err := span(o.keep)
	if err != nil {
		return err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = ringOf(o.service); err != nil {
			return usagef("name the ring's directory with --ring-dir: %w", err)
		}
	}
	whole := ctx
	if lasts > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, lasts)
		defer stop()
	}
	var metrics *report.Metrics
	if listen != "" {
		metrics = report.NewMetrics(versionText())
		if _, err := scraped(ctx, note, listen, metrics); err != nil {
			return err
		}
	}
	options := report.Options{Service: o.service, Tool: versionText(), OnlyService: true}
	err = report.Keep(ctx, options, dir, keep, metrics,
		func(text string) { fmt.Fprintln(note, "hostlab: "+screen.Clean(text)) })
	if busy, ok := errors.AsType[*lockfile.Busy](err); ok {
		return usageError{busy}
	}
	if _, ok := errors.AsType[*report.Unusable](err); ok {
		return usageError{err}
	}
	if err == nil && lasts > 0 && whole.Err() != nil {
		return stopped{dir + " holds the accounts until then"}
	}
	return err
}
