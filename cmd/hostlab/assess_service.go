package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
)

// watched is a service with the session that tells of it.
type watched struct {
	of      *service.Service
	source  explain.Source // nil: it tells no sessions
	version string
	why     string // why source is nil
	port    uint16
}

func (w *watched) close() {
	if w.source != nil {
		_ = w.source.Close()
	}
}

// findService finds what was asked for and reaches its database. nil: there is no service to
// watch. The error is about what was asked for; a database that runs here and refuses us is none.
func (o *assessOptions) findService(ctx context.Context, facts *host.Facts, dir string) (*watched, error) {
	spec, err := service.Parse(o.service)
	if err != nil {
		return nil, usagef("--service %w", err)
	}
	if o.dsn != "" {
		return o.named(ctx, spec, facts)
	}
	if spec.Kind == service.Demo {
		d, err := demo.Start(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("the demo service does not start: %w", err)
		}
		of := &service.Service{Kind: service.Demo, Name: "the demo shop", PID: d.PID()}
		if p, err := (service.Spec{Kind: service.Process, Name: fmt.Sprint(d.PID())}).Find(nil, nil); err == nil {
			p.Kind, p.Name = of.Kind, of.Name
			of = p
		}
		return &watched{of: of, source: d, version: d.Server().Version}, nil
	}
	of, err := spec.Find(facts.Databases, serverCPU)
	if err != nil {
		return nil, usagef("--service %s: %w", o.service, err)
	}
	if of == nil {
		return nil, nil //nolint:nilnil // none is wanted, or none runs
	}
	w := &watched{of: of, port: service.Port(of.PID)}
	kind := ""
	for _, d := range facts.Databases {
		if d.PID == of.PID {
			kind = d.Kind
		}
	}
	if kind == "" {
		w.why = "only its processes were observed: it is no database that hostlab knows"
		return w, nil
	}
	dsn, err := connect.Here(kind, of.PID)
	if err == nil {
		err = w.open(ctx, dsn)
	}
	if err != nil {
		w.why = "its sessions were not seen: " + oneLine(err)
	}
	return w, ctx.Err()
}

// named reaches the server of --dsn, and finds its process where it runs here.
func (o *assessOptions) named(ctx context.Context, spec service.Spec, facts *host.Facts) (*watched, error) {
	dsn, err := connect.Parse(o.dsn)
	switch {
	case err != nil:
		return nil, usagef("--dsn: %w", err)
	case dsn.HasPassword():
		return nil, usagef("--dsn has a password, which everyone on this host would see in the list of processes; leave it out: it can be in %s", dsn.PasswordPlaces())
	case spec.Kind != service.Auto:
		return nil, usagef("--service %s and --dsn both name a service; give one", o.service)
	}
	w := &watched{}
	if err := w.open(ctx, dsn); err != nil {
		return nil, usagef("%w", err)
	}
	server := w.source.Server()
	w.of = &service.Service{Kind: service.Database, Name: server.Vendor}
	if dsn.Local() {
		if of, err := (service.Spec{Kind: service.Name, Name: server.Vendor}).Find(facts.Databases, serverCPU); err == nil && of != nil {
			w.of, w.port = of, service.Port(of.PID)
		}
	}
	return w, nil
}

func (w *watched) open(ctx context.Context, dsn *connect.DSN) error {
	source, err := connect.Open(ctx, dsn)
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case err != nil:
		return err
	}
	w.source, w.version = source, source.Server().Version
	return nil
}

// serve watches the service that was asked for; nil: there is none.
func (o *assessOptions) serve(ctx context.Context, facts *host.Facts, dir string, p *progress) (*assess.Minute, error) {
	w, err := o.findService(ctx, facts, dir)
	if w == nil || err != nil {
		return nil, err
	}
	defer w.close()
	return o.watch(ctx, w, facts, p)
}

// watch watches a service for a minute, and says what each lever could give it.
func (o *assessOptions) watch(ctx context.Context, w *watched, facts *host.Facts, p *progress) (*assess.Minute, error) {
	step := p.step("watching "+w.of.Name, o.lasts)
	m, err := assess.Watch(ctx, w.of, w.source, w.why, assess.Options{
		For: o.lasts, Tool: versionText(), Port: w.port, CPUs: len(facts.Topology.Online.Or(nil)), Progress: func(done time.Duration) { step(done, o.lasts) },
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, service.ErrEnded) && o.service == string(service.Auto) && o.dsn == "":
		o.passed = fmt.Sprintf("%s ended before anything was seen of it, so the host alone was measured.", w.of.Name)
		return nil, nil //nolint:nilnil // it is gone, and the rest is not
	case errors.Is(err, service.ErrEnded):
		return nil, fmt.Errorf("%s ended before anything was seen of it", w.of.Name)
	case err != nil:
		return nil, err
	}
	m.Version = w.version
	return m, nil
}

// subjects are the levers of a service by those that checks and probes speak of.
var subjects = map[string]string{check.Frequency: assess.Clock, check.Idle: assess.Idle, check.SMT: assess.SMT, check.Log: assess.Log, check.Degree: assess.CPUs, check.Memory: assess.Memory}

// commands show more of a lever than a setting would: who takes the CPUs, what another log
// device gives, which reads wait.
var commands = map[string]string{assess.CPUs: "hostlab watch", assess.Log: "hostlab run log-device", assess.Data: "hostlab explain"}

// join gives the levers of a service what checks and probes know: who has the knob, and what
// to type.
func join(m *assess.Minute, probed []lever.Lever) []assess.Lever {
	for _, l := range probed {
		if name := subjects[l.Name]; name != "" && l.SetBy != "" {
			m.Owners[name] = l.SetBy
		}
	}
	out := m.Levers()
	for _, l := range probed {
		for i := range out {
			if out[i].Name == subjects[l.Name] {
				out[i].Command = l.Next.Command
			}
		}
	}
	for i := range out {
		out[i].Command = cmp.Or(commands[out[i].Name], out[i].Command)
	}
	for _, l := range ofProbes(probed) {
		if _, named := subjects[l.Name]; !named && !slices.ContainsFunc(out, func(x assess.Lever) bool { return x.Name == l.Name }) {
			out = append(out, l)
		}
	}
	return out
}

// words are the verdicts of probes and checks as those on a service.
var words = map[lever.Verdict]assess.Verdict{
	lever.Worthwhile: assess.Worthwhile, lever.Recommended: assess.Possible, lever.NoEffect: assess.Negligible, lever.Settled: assess.Negligible,
	lever.NotForRole: assess.Negligible, lever.Unresolved: assess.Undecided, lever.Untestable: assess.NotHere, lever.NotHere: assess.NotHere,
}

// ofProbes are levers as far as probes and checks know them: none is a share of a service's
// time.
func ofProbes(probed []lever.Lever) []assess.Lever {
	out := []assess.Lever{}
	for _, l := range probed {
		name := subjects[l.Name]
		if name == "" {
			name = l.Name
		}
		out = append(out, assess.Lever{Name: name, AtMost: l.Bound, Evidence: l.Evidence, Verdict: words[l.Verdict], Reason: l.Summary, Owner: l.SetBy, Command: l.Next.Command})
	}
	return out
}
