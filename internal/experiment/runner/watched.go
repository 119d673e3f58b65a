package runner

import (
	"context"
	"fmt"

	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/observe"
)

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
	of, servers, err := serviceOf(ctx, params)
	if err != nil || of == nil {
		return w, nil //nolint:nilerr // who needs it says what is missing
	}
	for _, d := range servers {
		if d.PID == of.PID && d.DataDir.State == host.StateOK {
			return pinned(params, d.Kind+" in "+d.DataDir.Value, servers)
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
