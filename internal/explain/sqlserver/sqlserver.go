// Package sqlserver asks Microsoft SQL Server where its sessions' time goes. It was
// written from the documentation of the views and has not been tried on a live server.
//
//   - sys.dm_exec_sessions, sys.dm_exec_requests: what user sessions do, sampled
//   - sys.dm_os_wait_stats: waits since the start; wait_time_ms holds signal_wait_time_ms,
//     the time until a CPU was free after the wait was over
//   - sys.dm_io_virtual_file_stats(db, 2): writes of a database's log file
package sqlserver

import (
	"context"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/explain/ask"
	"hostlab/internal/result"
)

var (
	server = ask.Query{Name: "server", SQL: `select cast(serverproperty('ProductVersion') as varchar(64)), cast(serverproperty('Edition') as varchar(64)), suser_sname(), has_perms_by_name(null, null, 'VIEW SERVER STATE')`}
	// A session's status is running, sleeping or dormant; a request's running, runnable, suspended, rollback.
	sessions = ask.Query{Name: "sessions", SQL: `select s.session_id, s.status, r.status, r.wait_type, s.open_transaction_count
 from sys.dm_exec_sessions s left join sys.dm_exec_requests r on r.session_id = s.session_id where s.is_user_process = 1 and s.session_id <> @@spid`}
	waits = ask.Query{Name: "waits", SQL: `select wait_type, waiting_tasks_count, wait_time_ms, signal_wait_time_ms from sys.dm_os_wait_stats where wait_type in ('WRITELOG', 'HADR_SYNC_COMMIT') or wait_type like 'PAGEIOLATCH%' or wait_type like 'LCK[_]M[_]%'`}
	logs  = ask.Query{Name: "log", SQL: `select sum(f.num_of_writes), sum(f.num_of_bytes_written), sum(f.io_stall_write_ms) from sys.master_files m cross apply sys.dm_io_virtual_file_stats(m.database_id, m.file_id) f where m.type = 1`}
	info  = ask.Query{Name: "info", SQL: `select convert(varchar(33), i.sqlserver_start_time, 126), (select sum(cntr_value) from sys.dm_os_performance_counters where rtrim(counter_name) = 'Transactions/sec' and rtrim(instance_name) = '_Total') from sys.dm_os_sys_info i`}
)

// Source implements explain.Source.
type Source struct {
	ask  ask.Asker
	info explain.Server
}

// New asks what server it is.
func New(ctx context.Context, a ask.Asker, to string) (*Source, error) {
	r, err := ask.One(ctx, a, server)
	if err != nil {
		return nil, err
	}
	s := &Source{ask: a, info: explain.Server{Vendor: "SQL Server", Version: strings.TrimSpace(r.Text(0) + " " + r.Text(1)), Target: to}}
	if !r.Bool(3) {
		s.info.Missing = append(s.info.Missing, "sessions of others and all counters: grant view server state (2022: view server performance state) to ["+strings.ReplaceAll(r.Text(2), "]", "]]")+"]")
	}
	s.info.Missing = append(s.info.Missing, "how many transactions there were, exactly: one that touches several databases counts in each (Transactions/sec)", "how well this reads SQL Server: it follows the documentation and has not been tried on a live server")
	return s, nil
}

// Server implements explain.Source.
func (s *Source) Server() explain.Server { return s.info }

// part says where a wait type belongs.
func part(wait string) explain.PartName {
	has := func(p ...string) bool {
		for _, x := range p {
			if strings.HasPrefix(wait, x) {
				return true
			}
		}
		return false
	}
	switch {
	case has("WRITELOG", "HADR_SYNC_COMMIT", "LOGBUFFER", "LOG_RATE_GOVERNOR"):
		return explain.LogWait
	case has("PAGEIOLATCH", "IO_COMPLETION", "ASYNC_IO_COMPLETION"):
		return explain.DataReads
	case has("LCK_M_", "PAGELATCH", "LATCH_"):
		return explain.Locks
	case has("ASYNC_NETWORK_IO"):
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
		x := explain.Session{ID: r.Int(0)}
		switch status, wait := strings.ToLower(r.Text(2)), r.Text(3); {
		case r.Null(2) && r.Int(4) > 0:
			x.Part, x.Event = explain.Application, "sleeping, transaction open"
		case r.Null(2):
			x.Part, x.Event = explain.Idle, "sleeping"
		case status == "runnable":
			x.Part, x.Event = explain.RunQueue, explain.CPUQueue
		case status == "running" || wait == "":
			x.Part, x.Event = explain.DatabaseCPU, explain.OnCPU
		default:
			x.Part, x.Event = part(wait), wait
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	return []explain.Snapshot{shot}, nil
}

// Count implements explain.Source.
func (s *Source) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	r, err := ask.One(ctx, s.ask, info)
	if err != nil {
		return c, err
	}
	c.Epoch, c.Values["transactions"] = r.Text(0), r.Int(1)
	if r, err = ask.One(ctx, s.ask, logs); err != nil {
		return c, err
	}
	c.Values["log_writes"], c.Values["log_bytes"], c.Values["log_ms"] = r.Int(0), r.Int(1), r.Int(2)
	rows, err := s.ask.Ask(ctx, waits)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		c.Values["n "+r.Text(0)], c.Values["ms "+r.Text(0)], c.Values["signal "+r.Text(0)] = r.Int(1), r.Int(2), r.Int(3)
	}
	return c, nil
}

// Account implements explain.Source.
func (s *Source) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: int64(g.Get("transactions"))}
	a.Log.Writes, a.Log.Bytes, a.Log.Source = int64(g.Get("log_writes")), int64(g.Get("log_bytes")), "sys.dm_io_virtual_file_stats"
	a.Log.Seconds = result.Finite(g.Get("log_ms") / 1e3)
	if a.Log.Writes > 0 {
		a.Log.Average = result.Finite(g.Get("log_ms") / 1e3 / float64(a.Log.Writes))
	}
	for name, v := range g.Values {
		if wait, ok := strings.CutPrefix(name, "ms "); ok && v > 0 {
			// The wait itself, without the time until a CPU was free.
			v = max(0, v-g.Values["signal "+wait])
			a.Counted = append(a.Counted, explain.Counted{Part: part(wait), Events: []string{wait}, Seconds: float64(v) / 1e3, Count: int64(g.Get("n " + wait)), Source: "sys.dm_os_wait_stats"})
		}
	}
	return a
}

var meanings = map[string]string{
	"WRITELOG": "log on its way to the device", "HADR_SYNC_COMMIT": "a replica confirms", "PAGEIOLATCH_SH": "data from disk", "PAGEIOLATCH_EX": "data from disk",
	"ASYNC_NETWORK_IO": "the application reads slowly", "SOS_SCHEDULER_YIELD": "gave its CPU up for a moment", "CXPACKET": "parallel workers", "CXCONSUMER": "parallel workers",
	"LOGBUFFER": "log buffers are full", "sleeping": "the application works", "sleeping, transaction open": "the application works",
	explain.OnCPU: "runs on a CPU", explain.CPUQueue: "ready to run, no CPU is free",
}

// Meaning implements explain.Source.
func (s *Source) Meaning(event string) string {
	if m := meanings[event]; m != "" {
		return m
	}
	if strings.HasPrefix(event, "LCK_M_") {
		return "a lock that another holds"
	}
	return ""
}

// Close implements explain.Source.
func (s *Source) Close() error { return s.ask.Close() }
