package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
)

// asked is the service that a command is asked about.
type asked struct {
	service      string       // as service.Parse takes it
	dsn, dsnFile string       // "": none
	server       *connect.DSN // of these; nil: none
	lasts        time.Duration
	passed       string // why a service that was found was not watched; "" it was, or there is none
}

func (o *asked) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.service, "service", "auto", "`SERVICE` to watch: "+service.Forms)
	f.StringVar(&o.dsn, "dsn", "", "`DSN` of a database to watch, here or elsewhere, without a password (default $"+dsnVariable+
		"; see explain)")
	f.StringVar(&o.dsnFile, "dsn-file", "", "`FILE` with the DSN; it may hold a password, with mode 0600")
	f.DurationVar(&o.lasts, "for", time.Minute, "how long to watch")
	for _, name := range []string{"dsn", "for"} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// check finds the mistakes in what was asked, before anything is done.
func (o *asked) check(most time.Duration) error {
	if o.lasts < leastRecording || o.lasts > most {
		return usagef("--for %s: expected 1s to %.0fh", o.lasts, most.Hours())
	}
	if _, err := service.Parse(o.service); err != nil {
		return usagef("--service %w", err)
	}
	text, err := o.source()
	if text == "" || err != nil {
		return err
	}
	if o.server, err = connect.Parse(text); err != nil {
		return usageError{err}
	}
	switch {
	case o.dsn != "" && o.server.HasPassword():
		return usagef("--dsn has a password, which everyone on this host would see in the list of processes; leave it out: it can "+
			"be in %s", o.server.PasswordPlaces())
	case o.service != string(service.Auto) && text != os.Getenv(dsnVariable):
		return usagef("--service %s and --dsn both name a service; give one", o.service)
	case o.service != string(service.Auto):
		o.server = nil
	}
	return nil
}

// watched is a service with the session that tells of it.
type watched struct {
	of      *service.Service
	source  explain.Source // nil: it tells no sessions
	version string
	why     string // why source is nil
	doubt   string // why it is not trusted with a password; "": it is, or it was named
	port    uint16
	noPort  string // why port is 0
	local   bool   // no client of another host can reach it
	demo    *demo.Service
	demoDir string // where it commits
}

func (w *watched) close() {
	if w.source != nil {
		_ = w.source.Close()
	}
	if w.demo != nil {
		_ = w.demo.Close()
	}
}

// answered is what its server said of its settings; nil where it was not asked, or is none of this host's.
func (w *watched) answered(facts *host.Facts) *answered {
	own := w.of.Server(facts.Servers())
	if own == nil || w.source == nil || len(w.source.Server().Platform.Values) == 0 {
		return nil
	}
	return &answered{own.PID, w.source.Server().Platform}
}

// findService finds what was asked for and reaches its database. nil: there is no service to
// watch. The error is about what was asked for; a database that runs here and refuses us is none.
func (o *asked) findService(ctx context.Context, facts *host.Facts, dir string) (*watched, error) {
	if o.server != nil {
		return named(ctx, o.server, facts)
	}
	spec, err := service.Parse(o.service)
	if err != nil {
		return nil, usagef("--service %w", err)
	}
	if spec.Kind == service.Demo {
		return startDemo(ctx, dir, spec.Name)
	}
	r, err := spec.Reach(ctx, facts.Servers())
	if err != nil && ctx.Err() == nil {
		err = usagef("--service %s: %w", o.service, err)
	}
	if r == nil { // none is wanted, or none runs
		return nil, err
	}
	return ofReached(r), nil
}

// ofReached is a service that was found here, and where clients of other hosts reach it.
func ofReached(r *service.Reached) *watched {
	w := &watched{of: r.Of, source: r.Source, why: r.Why, doubt: r.Doubt}
	if w.source != nil {
		w.version = w.source.Server().Version
	}
	if w.of.Here() {
		port, known := service.Port(w.of.PID)
		w.port, w.local = port, known && port == 0 && w.of.Kind == service.Database
		if known {
			w.noPort = "it listens on no network port; hostlab does not count round trips of requests that it sends"
		} else {
			w.noPort = service.NoPort
		}
	}
	return w
}

// startDemo starts the shop of hostlab's own.
func startDemo(ctx context.Context, dir, engine string) (*watched, error) {
	d, err := demo.Start(ctx, dir, engine)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("the demo service does not start: %w", err)
	}
	of, err := (service.Spec{Kind: service.Process, Name: fmt.Sprint(d.PID())}).Find(nil, nil)
	if err != nil { // this system does not tell
		of = &service.Service{PID: d.PID()}
	}
	of.Kind, of.Name = service.Demo, "the demo shop"
	w := &watched{of: of, source: d, version: d.Server().Version, local: true, demo: d, demoDir: dir}
	if text := d.DSN(); text != "" {
		dsn, err := connect.Parse(text)
		if err == nil {
			w.source, err = connect.Open(ctx, dsn)
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		w.version = w.source.Server().Version
	}
	return w, nil
}

// named reaches a server.
func named(ctx context.Context, dsn *connect.DSN, facts *host.Facts) (*watched, error) {
	r, err := service.ReachServer(ctx, dsn, facts.Servers())
	switch {
	case ctx.Err() != nil:
		return nil, context.Canceled
	case connect.IsUsage(err):
		return nil, usageError{err}
	case err != nil:
		return nil, err
	}
	return ofReached(r), nil
}

// watch watches a service. With the context's error comes what was seen until then.
func (o *asked) watch(ctx context.Context, w *watched, facts *host.Facts, p *progress) (*assess.Minute, error) {
	step := p.step("watching "+w.of.Name, o.lasts)
	m, err := assess.Watch(ctx, w.of, w.source, w.why, assess.Options{
		For: o.lasts, Tool: versionText(), Port: w.port, NoPort: w.noPort, Local: w.local,
		CPUs: len(facts.Topology.Online.Or(nil)), Facts: facts, Progress: func(done time.Duration) { step(done, o.lasts) },
	})
	switch {
	case ctx.Err() != nil && m == nil:
		return nil, ctx.Err()
	case errors.Is(err, service.ErrEnded) && o.service == string(service.Auto) && o.server == nil:
		o.passed = fmt.Sprintf("%s ended before hostlab saw any of its work, so only the host was measured.", w.of.Name)
		return nil, nil //nolint:nilnil // it is gone, and the rest is not
	case errors.Is(err, service.ErrEnded):
		return nil, fmt.Errorf("%s ended before hostlab saw any of its work", w.of.Name)
	case err != nil:
		return nil, err
	}
	m.Version = w.version
	if w.doubt != "" {
		m.Report.Warnings = append(m.Report.Warnings, w.doubt)
	}
	m.CannotTry = cannotTry(ctx, m)
	return m, ctx.Err()
}
