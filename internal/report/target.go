package report

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
)

// target is what is looked at: a service with the session that tells of it, and the place of its log.
type target struct {
	of      *service.Service // nil: none is watched
	source  explain.Source   // nil: it tells no sessions
	version string
	why     string // why source is nil
	doubt   string // why it is not trusted with a password; "": it is, or it was named
	port    uint16
	noPort  string // why port is 0
	local   bool   // no client of another host can reach it
	demo    *demo.Service
	log     place
}

// target finds what was asked for, once. The error is about what was asked for; a database that runs here and
// refuses us
// is none.
func (o *Options) target(ctx context.Context, facts *host.Facts) (t *target, err error) {
	tree := host.Tree{}
	named, err := o.named(tree)
	if err != nil {
		return nil, err
	}
	if o.Server != nil {
		t, err = ofServer(ctx, o.Server, facts)
	} else {
		t, err = o.find(ctx, facts)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case o.OnlyService && t.of == nil:
		return nil, unusable("no service to watch was found; name one with --service (%s), or a database server with --dsn, "+
			"--dsn-file or $HOSTLAB_DSN (%s)", service.Forms, connect.Forms())
	case o.Bursts && t.of == nil:
		return nil, unusable(
			"--bursts writes those of a service that runs here, and none is watched; name one with --service (%s)",
			service.Forms)
	case o.Bursts && !t.of.Here():
		t.close()
		return nil, unusable("--bursts writes those of a service that runs here, and %s has no process here", t.of.Name)
	case o.OnlyService:
		t.log = place{none: "the host was left out"}
	case named != nil:
		t.log = *named
	case t.demo != nil:
		t.log = o.tried(tree, place{dir: o.demoDir(), why: "the directory of the demo shop"})
	default:
		t.log = logOf(tree, t.of, facts.Servers())
	}
	return t, nil
}

// demoDir is where a demo commits.
func (o *Options) demoDir() string { return cmp.Or(o.LogDir, os.TempDir()) }

// find reaches a service of this host.
func (o *Options) find(ctx context.Context, facts *host.Facts) (*target, error) {
	spec, err := service.Parse(o.Service)
	if err != nil {
		return nil, unusable("--service %w", err)
	}
	if spec.Kind == service.Demo {
		return startDemo(ctx, o.demoDir())
	}
	r, err := spec.Reach(ctx, facts.Servers())
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, unusable("--service %s: %w", o.Service, err)
	case r == nil: // none is wanted, or none runs
		return &target{}, nil
	}
	return ofReached(r), nil
}

// ofServer reaches a database that was named.
func ofServer(ctx context.Context, dsn *connect.DSN, facts *host.Facts) (*target, error) {
	r, err := service.ReachServer(ctx, dsn, facts.Servers())
	switch {
	case ctx.Err() != nil:
		return nil, context.Canceled
	case connect.IsUsage(err):
		return nil, &Unusable{err}
	case err != nil:
		return nil, err
	}
	return ofReached(r), nil
}

// ofReached is a service that was found here, and where clients of other hosts reach it.
func ofReached(r *service.Reached) *target {
	t := &target{of: r.Of, source: r.Source, why: r.Why, doubt: r.Doubt}
	if t.source != nil {
		t.version = t.source.Server().Version
	}
	if t.of.Here() {
		port, known := service.Port(t.of.PID)
		t.port, t.local = port, known && port == 0 && t.of.Kind == service.Database
		if t.noPort = service.NoPort(); known {
			t.noPort = "it listens on no network port; hostlab does not count round trips of requests that it sends"
		}
	}
	return t
}

// startDemo starts the shop of hostlab's own.
func startDemo(ctx context.Context, dir string) (*target, error) {
	d, err := demo.Start(ctx, dir)
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
	return &target{of: of, source: d, version: d.Server().Version, local: true, demo: d}, nil
}

func (t *target) close() {
	if t.source != nil {
		_ = t.source.Close()
	}
	if t.demo != nil {
		_ = t.demo.Close()
	}
}

// answered is what its server said of its settings; nil where it was not asked, or is none of this host's.
func (t *target) answered(facts *host.Facts) *answered {
	if t.of == nil || t.source == nil {
		return nil
	}
	own := t.of.Server(facts.Servers())
	if own == nil || len(t.source.Server().Platform.Values) == 0 {
		return nil
	}
	return &answered{own.PID, t.source.Server().Platform}
}

// own are the servers of this host that the watched service holds.
func (t *target) own(facts *host.Facts) (pids []int) {
	if t.of == nil || !t.of.Here() {
		return nil
	}
	members := t.of.Members()
	for _, d := range slices.Concat(facts.Servers(), facts.Apps) {
		if slices.Contains(members, d.PID) {
			pids = append(pids, d.PID)
		}
	}
	return pids
}

// warnings are doubts about what is watched, and where commits were timed.
func (t *target) warnings() (list []string) {
	if t.doubt != "" {
		list = append(list, "Its "+t.doubt+".")
	}
	if t.log.wrong != "" && t.log.none == "" {
		remedy := "Name a directory with --log-dir"
		if os.Geteuid() > 0 { // root has seen all
			remedy += ", or run hostlab as root"
		}
		list = append(list, fmt.Sprintf("Commits were timed in %s: %s. %s.", t.log.dir, t.log.wrong, remedy))
	}
	return list
}
