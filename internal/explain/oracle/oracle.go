// Package oracle asks Oracle Database where its sessions' time goes. It was written
// from the documentation of the views and has not been tried on a live server. It needs
// no Diagnostics Pack: V$SESSION is sampled from outside, V$ACTIVE_SESSION_HISTORY is
// not touched.
//
//   - V$SESSION: what user sessions do
//   - V$SYSTEM_EVENT: TOTAL_WAITS_FG and TIME_WAITED_MICRO_FG, of user sessions only
//   - V$SYS_TIME_MODEL: DB CPU, of user sessions only
//   - V$SYSSTAT: redo writes, redo size, user commits and rollbacks
package oracle

import (
	"context"
	"errors"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/explain/ask"
	"hostlab/internal/result"
)

var (
	server   = ask.Query{Name: "server", SQL: `select version_full, user from product_component_version where rownum = 1`}
	server12 = ask.Query{Name: "server12", SQL: `select version, user from product_component_version where rownum = 1`}
	sessions = ask.Query{Name: "sessions", SQL: `select sid, status, state, wait_class, event, taddr from v$session where type = 'USER' and sid <> sys_context('userenv', 'sid')`}
	events   = ask.Query{Name: "events", SQL: `select event, wait_class, total_waits_fg, time_waited_micro_fg, total_waits, time_waited_micro from v$system_event where wait_class in ('Commit', 'User I/O', 'Concurrency', 'Application') or event = 'log file parallel write'`}
	model    = ask.Query{Name: "model", SQL: `select stat_name, value from v$sys_time_model where stat_name in ('DB time', 'DB CPU')`}
	stats    = ask.Query{Name: "stats", SQL: `select name, value from v$sysstat where name in ('redo size', 'redo writes', 'redo write time', 'user commits', 'user rollbacks')`}
	instance = ask.Query{Name: "instance", SQL: `select to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') from v$instance`}
)

// Source implements explain.Source.
type Source struct {
	ask  ask.Asker
	info explain.Server
}

// New asks what server it is.
func New(ctx context.Context, a ask.Asker, to string) (*Source, error) {
	r, err := ask.One(ctx, a, server)
	if err != nil { // before 18
		if r, err = ask.One(ctx, a, server12); err != nil {
			return nil, err
		}
	}
	s := &Source{ask: a, info: explain.Server{Vendor: "Oracle", Version: r.Text(0), Target: to}}
	s.info.Missing = append(s.info.Missing, "how well this reads Oracle: it follows the documentation and has not been tried on a live server")
	if _, err := a.Ask(ctx, instance); err != nil {
		return nil, rights(err, r.Text(1))
	}
	return s, nil
}

// rights names the grant where a view is hidden, which Oracle reports as missing.
func rights(err error, user string) error {
	if strings.Contains(err.Error(), "ORA-00942") || strings.Contains(err.Error(), "ORA-01031") {
		return errors.New("V$ views are hidden from this user: grant select_catalog_role to " + user)
	}
	return err
}

// Server implements explain.Source.
func (s *Source) Server() explain.Server { return s.info }

// part says where an event belongs, by its wait class.
func part(class, event string) explain.PartName {
	switch {
	case class == "Commit", strings.HasPrefix(event, "log file s"), strings.HasPrefix(event, "log buffer"):
		return explain.LogWait
	case class == "User I/O":
		return explain.DataReads
	case class == "Concurrency", class == "Application":
		return explain.Locks
	case class == "Idle":
		return explain.Idle
	case strings.HasPrefix(event, "SQL*Net"):
		return explain.Application
	}
	return explain.OtherWaits
}

// Sample implements explain.Source.
func (s *Source) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.ask.Ask(ctx, sessions)
	if err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	for _, r := range rows {
		x := explain.Session{ID: r.Int(0), Event: r.Text(4)}
		switch {
		case r.Text(1) != "ACTIVE" && !r.Null(5): // within a transaction
			x.Part = explain.Application
		case r.Text(1) != "ACTIVE":
			x.Part = explain.Idle
		case r.Text(2) != "WAITING": // the event is then the last one, which is over
			x.Part, x.Event = explain.DatabaseCPU, explain.OnCPU
		default:
			// Sessions that wait for a message of a queue or a timer are called active too.
			if x.Part = part(r.Text(3), r.Text(4)); x.Part == explain.Idle && !r.Null(5) && strings.HasPrefix(x.Event, "SQL*Net") {
				x.Part = explain.Application
			}
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	return []explain.Snapshot{shot}, nil
}

// Count implements explain.Source.
func (s *Source) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	r, err := ask.One(ctx, s.ask, instance)
	if err != nil {
		return c, err
	}
	c.Epoch = r.Text(0)
	for _, q := range []ask.Query{model, stats} {
		rows, err := s.ask.Ask(ctx, q)
		if err != nil {
			return c, err
		}
		for _, r := range rows {
			c.Values[r.Text(0)] = r.Int(1)
		}
	}
	rows, err := s.ask.Ask(ctx, events)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		name := r.Text(1) + "|" + r.Text(0)
		if r.Text(0) == "log file parallel write" { // the log writer's, not of user sessions
			c.Values["lgwr n"], c.Values["lgwr us"] = r.Int(4), r.Int(5)
			continue
		}
		c.Values["n "+name], c.Values["us "+name] = r.Int(2), r.Int(3)
	}
	return c, nil
}

// Account implements explain.Source.
func (s *Source) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: int64(g.Get("user commits") + g.Get("user rollbacks"))}
	a.Log.Writes, a.Log.Bytes, a.Log.Source = int64(g.Get("redo writes")), int64(g.Get("redo size")), "V$SYSSTAT, log file parallel write"
	if g.Has("lgwr us") {
		a.Log.Seconds = result.Finite(g.Get("lgwr us") / 1e6)
		if n := g.Get("lgwr n"); n > 0 {
			a.Log.Average = result.Finite(g.Get("lgwr us") / 1e6 / n)
		}
	}
	for name, v := range g.Values {
		if key, ok := strings.CutPrefix(name, "us "); ok && v > 0 {
			class, event, _ := strings.Cut(key, "|")
			a.Counted = append(a.Counted, explain.Counted{Part: part(class, event), Events: []string{event}, Seconds: float64(v) / 1e6, Count: int64(g.Get("n " + key)), Source: "V$SYSTEM_EVENT"})
		}
	}
	if g.Has("DB CPU") {
		a.CPU = &explain.CPUTime{Run: g.Get("DB CPU") / 1e6, Source: "V$SYS_TIME_MODEL"}
	}
	return a
}

var meanings = map[string]string{
	"log file sync": "a commit waits for the log writer", "db file sequential read": "data from disk, a block", "db file scattered read": "data from disk, many blocks",
	"direct path read": "data from disk, past the cache", "enq: TX - row lock contention": "a row that another changes", "buffer busy waits": "a block that another changes",
	"SQL*Net message from client": "the application works", "SQL*Net more data to client": "the application reads slowly", explain.OnCPU: "runs on a CPU (CPU used by this session)",
}

// Meaning implements explain.Source.
func (s *Source) Meaning(event string) string { return meanings[event] }

// Close implements explain.Source.
func (s *Source) Close() error { return s.ask.Close() }
