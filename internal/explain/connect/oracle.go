package connect

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hostlab/internal/explain"
)

var (
	oracleServer = explain.Query{Name: "server",
		SQL: `select version_full, user from product_component_version where rownum = 1`}
	oracleServer12 = explain.Query{Name: "server12",
		SQL: `select version, user from product_component_version where rownum = 1`}
	oracleSessions = explain.Query{Name: "sessions", SQL: `select sid, status, state, wait_class, event, taddr
 from v$session where type = 'USER' and sid <> sys_context('userenv', 'sid')`, Most: explain.Sessions}
	oracleEvents = explain.Query{Name: "events", SQL: `select event, wait_class, total_waits_fg, time_waited_micro_fg, total_waits, time_waited_micro
 from v$system_event
 where wait_class in ('Commit', 'User I/O', 'Concurrency', 'Application') or event = 'log file parallel write'`}
	oracleModel = explain.Query{Name: "model", SQL: `select stat_name, value from v$sys_time_model
 where stat_name in ('DB time', 'DB CPU')`}
	oracleStats = explain.Query{Name: "stats", SQL: `select name, value from v$sysstat
 where name in ('redo size', 'redo writes', 'redo write time', 'user commits', 'user rollbacks')`}
	oracleInstance = explain.Query{Name: "instance",
		SQL: `select to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') from v$instance`}
)

// oracleSource asks Oracle Database where its sessions' time goes. It was written
// from the documentation of the views and has not been tried on a live server. It needs
// no Diagnostics Pack: V$SESSION is sampled from outside, V$ACTIVE_SESSION_HISTORY is
// not touched.
//
//   - V$SESSION: what user sessions do
//   - V$SYSTEM_EVENT: TOTAL_WAITS_FG and TIME_WAITED_MICRO_FG, of user sessions only
//   - V$SYS_TIME_MODEL: DB CPU, of user sessions only
//   - V$SYSSTAT: redo writes, redo size, user commits and rollbacks
type oracleSource struct {
	explain.Asked
}

func newOracle(ctx context.Context, a explain.Asker, to string, _ bool) (explain.Source, error) {
	r, err := explain.One(ctx, a, oracleServer)
	if err != nil { // before 18
		if r, err = explain.One(ctx, a, oracleServer12); err != nil {
			return nil, err
		}
	}
	s := &oracleSource{Asked: explain.Asked{Asker: a, Info: explain.Server{Vendor: "Oracle", Version: r.Text(0),
		Target: to},
		Meanings: oracleMeanings}}
	untried(&s.Asked)
	if _, err := a.Ask(ctx, oracleInstance); err != nil {
		// Oracle reports a hidden view as missing
		if strings.Contains(err.Error(), "ORA-00942") || strings.Contains(err.Error(), "ORA-01031") {
			err = errors.New("V$ views are hidden from this user: grant select_catalog_role to " + r.Text(1))
		}
		return nil, err
	}
	return s, nil
}

// oracleResting are the states of sessions that run nothing (V$SESSION, STATUS).
var oracleResting = []string{"INACTIVE", "KILLED", "CACHED", "SNIPED"}

// oraclePart says where an event belongs, by its wait class.
func oraclePart(class, event string) explain.PartName {
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

func (s *oracleSource) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.Ask(ctx, oracleSessions)
	if err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	for _, r := range rows {
		x := explain.Session{ID: r.Int(0), Event: r.Text(4)}
		switch status, state := r.Text(1), r.Text(2); {
		case status != "ACTIVE" && !slices.Contains(oracleResting, status),
			status == "ACTIVE" && state != "WAITING" && !strings.HasPrefix(state, "WAITED "):
			x.Part, x.Event = explain.Unexplained, "status "+status+", "+state
		case status != "ACTIVE" && !r.Null(5): // within a transaction
			x.Part = explain.Application
		case status != "ACTIVE":
			x.Part = explain.Idle
		case state != "WAITING": // the event is then the last one, which is over
			x.Part, x.Event = explain.DatabaseCPU, explain.OnCPU
		default:
			// Sessions that wait for a message of a queue or a timer are called active too.
			if x.Part = oraclePart(r.Text(3), r.Text(4)); x.Part == explain.Idle && !r.Null(5) &&
				strings.HasPrefix(x.Event, "SQL*Net") {
				x.Part = explain.Application
			}
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	return []explain.Snapshot{shot}, nil
}

func (s *oracleSource) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	r, err := explain.One(ctx, s, oracleInstance)
	if err != nil {
		return c, err
	}
	c.Epoch = r.Text(0)
	for _, q := range []explain.Query{oracleModel, oracleStats} {
		rows, err := s.Ask(ctx, q)
		if err != nil {
			return c, err
		}
		for _, r := range rows {
			c.Values[r.Text(0)] = r.Int(1)
		}
	}
	rows, err := s.Ask(ctx, oracleEvents)
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

func (s *oracleSource) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: int64(g.Get("user commits") + g.Get("user rollbacks"))}
	a.Log.Writes, a.Log.Bytes, a.Log.Source = int64(g.Get("redo writes")), int64(g.Get("redo size")),
		"V$SYSSTAT, log file parallel write"
	if g.Has("lgwr us") {
		a.Log.Timed(g.Get("lgwr us")/1e6, g.Get("lgwr n"))
	}
	for name, v := range g.Values {
		if key, ok := strings.CutPrefix(name, "us "); ok && v > 0 {
			class, event, _ := strings.Cut(key, "|")
			a.Counted = append(a.Counted, explain.Counted{Part: oraclePart(class, event), Events: []string{event},
				Seconds: float64(v) / 1e6, Count: int64(g.Get("n " + key)), Source: "V$SYSTEM_EVENT"})
		}
	}
	if g.Has("DB CPU") {
		a.CPU = &explain.CPUTime{Run: g.Get("DB CPU") / 1e6, Source: "V$SYS_TIME_MODEL"}
	}
	return a
}

var oracleMeanings = map[string]string{
	"log file sync": "a commit waits for the log writer", "db file sequential read": "data from disk, a block",
	"db file scattered read":        "data from disk, many blocks",
	"direct path read":              "data from disk, past the cache",
	"enq: tx - row lock contention": "a row that another changes",
	"buffer busy waits":             "a block that another changes",
	"sql*net message from client":   "the application works",
	"sql*net more data to client":   "the application reads slowly", "on cpu": "runs on a CPU (CPU used by this session)",
}
