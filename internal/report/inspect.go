package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/service"
)

// Options are what is asked for.
type Options struct {
	Service string       // as service.Parse takes it
	Server  *connect.DSN // a database in its place; nil: none
	For     time.Duration
	Role    check.Role
	LogDir  string // absolute; "": that of the watched database
	// OnlyService leaves the host out: no checks and no probes.
	OnlyService bool
	Bursts      bool          // of the CPUs are to be written
	Texts       bool          // the texts of statements are wanted, too
	Budget      time.Duration // of the probes, if no service is watched
	Behind      time.Duration // of the probes after a service was watched
	Accepted    []check.Exception
	Experiments map[string]lever.Evidence // what some have measured, by lever
	Tool        string                    // version of the program
	// Step begins one of the steps, and returns what to call with how far it is.
	Step func(title string, budget time.Duration) func(done, total time.Duration)
	// CannotTry says of studies why they cannot run on the watched service here.
	CannotTry func(context.Context, *assess.Minute) map[string]string
}

// Unusable is an error in what was asked for.
type Unusable struct{ Err error }

func (u *Unusable) Error() string { return u.Err.Error() }
func (u *Unusable) Unwrap() error { return u.Err }

func unusable(format string, args ...any) error { return &Unusable{fmt.Errorf(format, args...)} }

// Inspect watches the service that was asked for, then measures the host. What was seen of a minute that ended early is
// there with a context that has ended.
func Inspect(ctx context.Context, o Options) (*Observed, *host.Facts, error) {
	started, tree := time.Now(), host.Tree{}
	facts := host.Collect(ctx, host.Options{Tree: tree})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	t, err := o.target(ctx, facts)
	if err != nil {
		return nil, nil, err
	}
	defer t.close()
	seen := &Observed{Schema: Schema, Tool: o.Tool, Started: started, Role: o.Role, Place: t.log.dir, LogDirWhy: t.log.why,
		OnlyService: o.OnlyService, Experiments: o.Experiments, Answered: t.answered(facts), Own: t.own(facts),
		Accepted: check.OnHost(o.Accepted, facts.Identity.Hostname.Or(""))}
	if t.log.none == "" {
		seen.LogDir = t.log.dir
	}
	if t.of != nil {
		if err := o.watch(ctx, seen, t, facts); err != nil {
			return nil, nil, err
		}
	}
	if t.demo != nil { // the probes measure the host alone
		t.close()
	}
	if ctx.Err() == nil && !o.OnlyService { // what was watched of an interrupted minute stands without probes
		if err := o.probe(ctx, seen, t, o.config(tree, facts, t, started)); err != nil {
			return nil, nil, err
		}
	}
	seen.Warnings = append(seen.Warnings, t.warnings()...)
	seen.Seconds = time.Since(started).Seconds()
	return seen, facts, nil
}

// watch watches the service. One that was found, and has ended before it worked, leaves the host to be measured.
func (o *Options) watch(ctx context.Context, seen *Observed, t *target, facts *host.Facts) error {
	step := o.Step("watching "+t.of.Name, o.For)
	m, err := assess.Watch(ctx, t.of, t.source, t.why, assess.Options{
		For: o.For, Tool: o.Tool, Port: t.port, NoPort: t.noPort, Local: t.local, Bursts: o.Bursts, Texts: o.Texts,
		CPUs: len(facts.Topology.Online.Or(nil)), Facts: facts, Progress: func(done time.Duration) { step(done, o.For) },
	})
	switch {
	case ctx.Err() != nil && m == nil:
		return ctx.Err()
	case errors.Is(err, service.ErrEnded) && o.Service == string(service.Auto) && o.Server == nil && !o.OnlyService:
		seen.Warnings = append(seen.Warnings,
			fmt.Sprintf("%s ended before hostlab saw any of its work, so only the host was measured.", t.of.Name))
		return nil
	case errors.Is(err, service.ErrEnded):
		return fmt.Errorf("%s ended before hostlab saw any of its work", t.of.Name)
	case err != nil:
		return err
	}
	m.Version = t.version
	m.CannotTry = o.CannotTry(ctx, m)
	seen.Minute = m
	return nil
}
