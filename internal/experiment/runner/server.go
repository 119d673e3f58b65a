package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/setting"
	"hostlab/internal/workload"
	"hostlab/internal/workload/observe"
)

// named are the parameters that name a watched service; of a workload that watches none they name none.
func named(given workload.Params) *observe.Params {
	if params, ok := given.(*observe.Params); ok {
		return params
	}
	return &observe.Params{}
}

// server is a factor that is a parameter of the watched service's database server.
type server struct {
	p      connect.Parameter
	was    connect.Saved
	levels map[string]string // level -> as the server shows it; "" for what was
	missed int               // sessions that the last change did not reach
}

// openServer reaches the server of a live study, and checks the levels. It changes nothing.
func openServer(ctx context.Context, st *experiment.Study, f experiment.Factor) (*server, error) {
	dsn, err := serverOf(ctx, st.Workload.Params)
	if err != nil {
		return nil, fmt.Errorf("factor %s: %w", f.Name, err)
	}
	p, err := connect.OpenParameter(ctx, dsn, f.Server)
	if err != nil {
		return nil, fmt.Errorf("factor %s: %w", f.Name, err)
	}
	s := &server{p: p, levels: map[string]string{}}
	for _, l := range f.Levels {
		if l == experiment.Current {
			s.levels[l] = ""
			continue
		}
		if s.levels[l], err = p.Level(l); err != nil {
			return nil, errors.Join(fmt.Errorf("factor %s: %w", f.Name, err), p.Close())
		}
	}
	return s, nil
}

// CheckLevels reports a factor that cannot be varied from what there is as the study says: a parameter of the watched
// service's server that is unknown, takes a restart or a right, or a level that is there already. Of a live study it
// also reports responses that this service never tells, where one of them decides or nothing else shows harm. It
// changes nothing.
func CheckLevels(ctx context.Context, st *experiment.Study) error {
	if st.Harm != nil {
		if err := tells(ctx, st); err != nil {
			return err
		}
	}
	for _, f := range st.Factors {
		var err error
		switch f.Kind {
		case experiment.KindServer:
			var s *server
			if s, err = openServer(ctx, st, f); err == nil {
				err = errors.Join(s.differs(ctx, f.Server), s.p.Close())
			}
		case experiment.KindSetting:
			err = differs(setting.Local(nil), f.Setting, f.Levels)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tells refuses what decides if the service never tells it: else periods would pass until that is seen.
func tells(ctx context.Context, st *experiment.Study) error {
	found, err := lookUp(ctx, st.Workload.Params)
	if err != nil || found.service == nil || found.service.Server(found.servers) != nil {
		return nil //nolint:nilerr // what finds no service says so
	}
	params, of, watched := named(st.Workload.Params), found.service, false
	for _, r := range st.Responses {
		watched = watched || slices.Contains(st.Harm.Responses, r.Name) && lacks(params, &r) == ""
		if why := lacks(params, &r); r.Primary && why != "" {
			return fmt.Errorf(
				"%s decides, and %s never has it: %s; in a copy of the study, let another response decide, such as cpu_s, "+
					"or latency with workload.latency", r.Name, of.Name, why)
		}
	}
	if !watched {
		return fmt.Errorf(
			"nothing would say that the service is harmed: %s never has %s; in a copy of the study, name another "+
				"response in [harm] responses", of.Name, strings.Join(st.Harm.Responses, ", "))
	}
	return nil
}

// lacks says why a service that is no database never has a response; "": it may have it.
func lacks(params *observe.Params, r *experiment.Response) string {
	return cmp.Or(observe.Lacks(params, cmp.Or(r.From, r.Name)), observe.Lacks(params, r.Over))
}

// differs reads what to go back to, before the first change, and refuses a level that is there already.
func (s *server) differs(ctx context.Context, name string) (err error) {
	if s.was, err = s.p.Save(ctx); err != nil {
		return err
	}
	for level, v := range s.levels {
		if _, ours := s.levels[experiment.Current]; ours && v == s.was.Value {
			return fmt.Errorf("%s is %s already, so level %s would equal the baseline; name another with --set server.%s=LEVEL",
				name, v, level, name)
		}
	}
	return nil
}

// serverOf is the database server that a workload's parameters name: by dsn, or as the service.
func serverOf(ctx context.Context, given workload.Params) (*connect.DSN, error) {
	found, err := lookUp(ctx, given)
	if found.dsn != nil || err != nil {
		return found.dsn, err
	}
	if found.service != nil {
		if d := found.service.Server(found.servers); d != nil {
			return connect.Here(d.Kind, d.PID)
		}
	}
	return nil, fmt.Errorf("service %v is no database server whose parameters can be changed; name one with workload.dsn",
		named(given).Service)
}

// target is what a workload's parameters name: a database by its DSN, or else a service of this host, beside all
// databases of it. A workload that names neither has none.
type target struct {
	dsn     *connect.DSN
	service *service.Service
	servers []host.Database
}

func lookUp(ctx context.Context, given workload.Params) (t target, err error) {
	params := named(given)
	if t.dsn, err = observe.Named(params); t.dsn != nil || err != nil {
		return t, err
	}
	spec, err := service.Parse(params.Service)
	if err != nil {
		return t, err
	}
	t.servers = host.Servers(ctx)
	t.service, err = spec.Find(t.servers, service.Used)
	return t, err
}

// Service says which service a live study watches, for people: what its parameters name, found here, or the
// database that a resume's record has, "" for none.
func Service(ctx context.Context, st *experiment.Study, before string) (string, error) {
	if before != "" {
		return before + ", as before", nil
	}
	found, err := lookUp(ctx, st.Workload.Params)
	of := found.service
	switch {
	case err != nil:
		return "", err
	case found.dsn != nil:
		return found.dsn.Target(), nil
	case of == nil:
		return "", errors.New("no database runs here; name a service, as in --set workload.service=NAME")
	}
	text := of.Name
	if of.PID != 0 {
		text += fmt.Sprintf(" (process %d)", of.PID)
	}
	if of.Why != "" {
		text += ", " + of.Why
	}
	return text, nil
}

// read returns the level in force, or what is there instead.
func (s *server) read(ctx context.Context) (string, error) {
	v, err := s.p.Read(ctx)
	if err != nil {
		return "", err
	}
	for level, shown := range s.levels {
		if shown == v || shown == "" && v == s.was.Value {
			return level, nil
		}
	}
	return v, nil
}

func (s *server) apply(ctx context.Context, level string) (err error) {
	s.missed, err = s.p.Set(ctx, s.levels[level], s.was)
	return err
}

// serverPatience is how long a server is waited for that has gone, as while it starts anew.
const serverPatience = time.Minute

// back puts back what was. A server that is restarting is waited for.
func (s *server) back(ctx context.Context, force bool) error {
	var ours []string
	for _, v := range s.levels {
		if v != "" {
			ours = append(ours, v)
		}
	}
	return patiently(ctx, func() error { return s.p.Back(ctx, s.was, ours, force) })
}

// patiently tries again while the server does not answer.
func patiently(ctx context.Context, try func() error) error {
	for began := time.Now(); ; {
		err := try()
		_, gone := errors.AsType[*away](err)
		p, ok := errors.AsType[*connect.Problem](err)
		if err == nil || !gone && (!ok || p.Named && !p.Away) || ctx.Err() != nil || time.Since(began) > serverPatience {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// caution says what changes of servers do not reach.
func (ls *levels) caution() {
	for _, l := range ls.levers {
		if l.server == nil {
			continue
		}
		for _, text := range l.server.p.Cautions() {
			ls.note("%s", text)
		}
	}
}

// missed says how many sessions the levels that are in force did not reach.
func (ls *levels) missed() (list []string) {
	for _, l := range ls.levers {
		if l.server != nil && l.server.missed > 0 {
			list = append(list, fmt.Sprintf("%s did not take the level of %s: none of their statements began soon enough",
				screen.Count(l.server.missed, "session"), l.Name))
		}
	}
	return list
}

// watched is the one database of this host that an experiment watches and changes until its end, also where
// another is busier by then, or where it was restarted with another process.
type watched struct {
	data   string          // its kind and directory; "": it is no database whose directory is known
	params workload.Params // of the workload, that name it
}

// watchedIn finds the database that a study's parameters name. Of a resume that is the one that was watched
// before, whatever they name now: data is its, "" for none.
func watchedIn(ctx context.Context, given workload.Params, data string) (watched, error) {
	w := watched{params: given}
	params, watches := given.(*observe.Params)
	if !watches {
		return w, nil
	}
	if dsn, err := observe.Named(params); dsn != nil || err != nil {
		return w, err
	}
	if data != "" {
		return pinned(params, data, host.Servers(ctx))
	}
	found, err := lookUp(ctx, params)
	if err != nil || found.service == nil {
		return w, nil //nolint:nilerr // who needs it says what is missing
	}
	for _, d := range found.servers {
		if d.PID == found.service.PID && d.DataDir.State == host.StateOK {
			return pinned(params, d.Kind+" in "+d.DataDir.Value, found.servers)
		}
	}
	return w, nil
}

// pinned names the process of the database whose data these are.
func pinned(params *observe.Params, data string, servers []host.Database) (watched, error) {
	for _, d := range servers {
		if d.DataDir.State == host.StateOK && d.Kind+" in "+d.DataDir.Value == data {
			to := *params
			to.Service = fmt.Sprintf("pid:%d", d.PID)
			return watched{data, &to}, nil
		}
	}
	return watched{}, &away{data}
}

// away is a watched database that does not run now, as while it is restarted.
type away struct{ data string }

func (a *away) Error() string {
	return fmt.Sprintf("the database that was watched, %s, does not run now", a.data)
}

// with returns a study whose parameters name what is watched.
func (w watched) with(st *experiment.Study) *experiment.Study {
	to := *st
	to.Workload.Params = w.params
	return &to
}
