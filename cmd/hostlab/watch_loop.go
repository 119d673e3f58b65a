package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hostlab/internal/fleet"
	"hostlab/internal/host"
	"hostlab/internal/lockfile"
	"hostlab/internal/report"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
	"hostlab/internal/serve"
	"hostlab/internal/service"
	"hostlab/internal/watch"
	"hostlab/internal/watch/live"
	"hostlab/internal/workload/logcommit"
)

func (o *watchOptions) run(ctx context.Context, std streams, note io.Writer) (err error) {
	tree, done, err := o.m.inspectable()
	if err != nil {
		return err
	}
	defer done()
	w, _, err := o.open(ctx, tree, note)
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(); e != nil { // else a plain interruption would not be one
			err = errors.Join(err, e)
		}
	}()
	if o.full(std) {
		err = w.Screen(ctx, std.in, std.out, colour(std.out))
	} else {
		if o.out.format != "json" {
			for _, u := range w.Counter.Info().Unknown {
				fmt.Fprintln(note, "hostlab: "+screen.Clean("unknown here: "+u.What+": "+u.Why))
			}
		}
		err = w.Lines(ctx, std.out, o.out.format == "json")
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return o.done(ctx)
	}
	return err
}

// full reports whether the screen is to be filled: there is one, and a person at it.
func (o *watchOptions) full(std streams) bool {
	in, ok := std.in.(*os.File)
	tty, _ := terminal(std.out)
	return !o.out.given() && tty && ok && term.IsTerminal(int(in.Fd())) && os.Getenv("TERM") != "dumb"
}

// open opens all that was asked for, takes the first reading, and returns where the metrics are served. What is refused
// is refused here, before anything was shown.
func (o *watchOptions) open(ctx context.Context, tree host.Tree,
	note io.Writer) (w *live.Watch, url string, err error) {
	counter, err := watch.OpenHere(ctx, watch.Config{Tree: tree, LogDir: o.logDir})
	if err != nil {
		return nil, "", cmp.Or(ctx.Err(), error(cannotLook{err}))
	}
	w = &live.Watch{Counter: counter, Version: versionText(), Interval: o.interval, Count: o.count, Duration: o.duration}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if o.commits {
		if err := logcommit.Preflight(host.StorageOf(tree, o.logDir), o.logDir, logcommit.MaxFileBytes); err != nil {
			return w, "", usagef("--log-dir %w", err)
		}
		cfg := logcommit.DefaultConfig(o.logDir)
		cfg.Bytes = 8 << 20
		if w.Log, err = logcommit.Open(cfg); err != nil {
			return w, "", usagef("--log-dir %w", err)
		}
	}
	cpus, err := w.Begin()
	if err != nil {
		return w, "", cannotLook{err}
	}
	if o.record != "" {
		if err := checkWritable("save", o.record); err != nil {
			return w, "", err
		}
		if w.Record, err = watch.OpenRecorder(o.record, counter.Info().Hostname, o.interval, counter.Info); err != nil {
			if no, ok := errors.AsType[*watch.NotRecord](err); ok {
				return w, "", usagef("--save %w", no)
			}
			return w, "", usagef("--save %s: %w", o.record, plain(err))
		}
		fmt.Fprintf(note, "hostlab: recording to %s; %s\n", screen.Clean(o.record), sizes(cpus, o.interval))
	}
	if o.listen != "" {
		if url, err = scraped(ctx, note, o.listen, w); err != nil {
			return w, "", err
		}
		w.Serving = true
	}
	if o.textfile != "" {
		w.Export = func(metrics io.WriterTo) error {
			return writeFile(o.textfile, func(f *os.File) error {
				_, err := metrics.WriteTo(f)
				return err
			})
		}
	}
	return w, url, w.Publish()
}

// listen opens the address of --listen.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen(serve.Network(addr), addr)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usagef("--listen %s: another program listens there; name another port, or 0 for a free one", addr)
	}
	if err != nil {
		return nil, usagef("--listen %s: %w", addr, err)
	}
	return l, nil
}

// scraped begins to answer Prometheus at an address, as it was given; it ends with the context.
func scraped(ctx context.Context, note io.Writer, given string, metrics io.WriterTo) (url string, err error) {
	addr, err := address(given)
	if err != nil {
		return "", err
	}
	l, err := listen(addr)
	if err != nil {
		return "", err
	}
	url = "http://" + l.Addr().String() + "/metrics"
	fmt.Fprintln(note, "hostlab: metrics on "+screen.Clean(url))
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(note, "hostlab: warning: %s can be reached from other hosts, without a password or encryption\n",
			screen.Clean(l.Addr().String()))
	}
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	serve.Metrics(ctx, l, name, metrics)
	return url, nil
}

// address completes what --listen was given: a port alone, or one without an
// address, is on the loopback interface, since metrics tell strangers about a host.
func address(given string) (string, error) {
	if _, err := strconv.Atoi(given); err == nil {
		given = ":" + given
	}
	name, port, err := net.SplitHostPort(given)
	if err != nil {
		return "", usagef("--listen %s: expected ADDRESS:PORT, such as 127.0.0.1:9750", given)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", usagef("--listen %s: the port must be 0 to 65535", given)
	}
	return net.JoinHostPort(cmp.Or(name, "127.0.0.1"), port), nil
}

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
