// Package observe is the workload that runs nothing: it watches a service that others use
// for a period, and says what a transaction cost it.
package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/workload"
)

type Workload struct{ workload.Usual }

// first is how many blocks of a study have short periods: harm shows early in them.
const first = 10

// forms are the services that can be watched.
const forms = "auto, " + service.Named

// dsnVariable holds a DSN that may have a password.
const dsnVariable = "HOSTLAB_DSN"

// Params are the workload's parameters.
type Params struct {
	// the service to watch: auto, a database, unit or program by its name, unit:NAME, cgroup:PATH, pid:N,
	// pod:NAMESPACE/NAME[/CONTAINER] or container:NAME; on Windows also service:NAME
	Service string `toml:"service"`
	// a database to watch, here or elsewhere, without a password, as assess takes it; none: $HOSTLAB_DSN, else what
	// service says
	DSN string `toml:"dsn"`
	// a period
	For workload.Span `toml:"for" limits:"1,86400"`
	// a period of the first 10 blocks of a study, in which harm is to show early; 0: as for, which is also the longest
	Short workload.Span `toml:"short" limits:"0,86400"`
	// a look at what was seen so far, by which a study finds harm
	Every workload.Span `toml:"every" limits:"1,600"`
	// where the application shows its metrics in Prometheus' text format, without a password: https://HOST/metrics, or
	// http:// on this host
	URL string `toml:"url"`
	// take http:// from another host too, whose answers anybody on the way can change
	PlainHTTP bool `toml:"plain_http"`
	// with url: the histogram of the application's latency, such as http_request_duration_seconds; its series are added up
	Histogram string `toml:"histogram"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "observe",
		Title: "runs nothing: watches a service that others use, for a period",
		About: "A run watches a service that is in use, as assess does, and changes nothing in it. Sums and ratios are of what was " +
			"seen after the run began. CPU time and the wait for a CPU are of all processes of the service, as the kernel counts them, " +
			"without those of hostlab's own session. A database tells its transactions, its log waits and for how long its sessions ran " +
			"statements, commits included: PostgreSQL counts that from 14 on, of others it is sampled. An application tells its latency " +
			"by a histogram at a URL (Prometheus' text format). Percentiles are interpolated within a bucket of that " +
			"histogram, so its buckets limit them. Arrivals are requests that the histogram counts, else transactions that ended: those " +
			"of clients that wait for each answer follow the service's own speed, so that a study takes the load of the period before. " +
			"Energy per operation (energy_op_j) is that of a transaction.",
		Params: &Params{Service: string(service.Auto), For: workload.Seconds(300), Short: workload.Seconds(60),
			Every: workload.Seconds(10)},
		Responses: responses(),
		Live:      true,
	}
}

func (Workload) Validate(cfg workload.Config) error {
	_, err := asks(cfg.Params.(*Params))
	return err
}

// asked is what the parameters name.
type asked struct {
	spec service.Spec
	dsn  *connect.DSN // nil: spec says
	page *page        // nil: none
}

// Named is the database that the parameters name by a DSN, or $HOSTLAB_DSN; nil: service says which.
func Named(p *Params) (*connect.DSN, error) {
	text := p.DSN
	if text == "" && p.Service == string(service.Auto) {
		text = os.Getenv(dsnVariable)
	}
	if text == "" {
		return nil, nil //nolint:nilnil // none is named
	}
	return connect.Parse(text)
}

// asks reads the parameters. The error joins *ParamErrors.
func asks(p *Params) (a asked, err error) {
	var errs []error
	wrong := func(name, text, hint string) { errs = append(errs, workload.Wrong(name, text, hint)) }
	named := p.Service != string(service.Auto)
	if a.spec, err = service.Parse(p.Service); err != nil ||
		slices.Contains([]service.Kind{service.None, service.Demo}, a.spec.Kind) {
		wrong("service", fmt.Sprintf("%q names no service that others use", p.Service), "it takes "+forms)
	}
	if p.DSN != "" && named {
		wrong("dsn", "service names a service too", "give one of them")
	}
	if a.dsn, err = Named(p); err != nil {
		wrong("dsn", err.Error(), "")
	} else if a.dsn != nil {
		if p.DSN != "" && a.dsn.HasPassword() {
			wrong("dsn", connect.ErrPassword.Error(), "or the whole DSN into $"+dsnVariable)
		}
	}
	switch at, name := p.URL, p.Histogram; {
	case at == "" && name != "":
		wrong("histogram", "is of a page that url names", "give url")
	case at != "" && name == "":
		wrong("histogram", "missing", "name the histogram of the latency on that page")
	case at != "":
		var why, hint string
		if a.page, why, hint = newPage(at, name, p.PlainHTTP); a.page == nil {
			wrong("url", why, hint)
		}
	}
	return a, errors.Join(errs...)
}

// Needs looks for a service that is named, and opens no session.
func (Workload) Needs(ctx context.Context, params workload.Params) error {
	a, err := asks(params.(*Params))
	if err != nil || a.dsn != nil {
		return err
	}
	of, err := a.spec.Find(host.Servers(ctx), service.Used)
	return found(of != nil, err)
}

func found(there bool, err error) error {
	switch {
	case err != nil:
		return workload.Wrong("service", err.Error(), "")
	case !there:
		return workload.Wrong("service", "no database runs here", "name the service: "+forms)
	}
	return nil
}

func (Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := (Workload{}).Validate(cfg); err != nil {
		return nil, err
	}
	s := &session{cfg: cfg}
	if err := s.connect(ctx, cfg.Params.(*Params)); err != nil {
		return nil, err
	}
	return s, nil
}

func (a asked) find(ctx context.Context) (*service.Reached, error) {
	servers := host.Servers(ctx)
	if a.dsn != nil {
		r, err := service.ReachServer(ctx, a.dsn, servers)
		if p, ok := errors.AsType[*connect.Problem](err); ok {
			err = &workload.ParamError{Name: "dsn", Text: p.Error(), Passes: !p.Named || p.Away}
		}
		return r, err
	}
	r, err := a.spec.Reach(ctx, servers)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, found(r != nil, err)
}
