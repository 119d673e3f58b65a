package connect

import (
	"context"
	"slices"
	"strings"

	"hostlab/internal/explain"
)

var (
	mssqlServer = explain.Query{Name: "server",
		SQL: `select cast(serverproperty('ProductVersion') as varchar(64)), cast(serverproperty('Edition') as varchar(64)), suser_sname(), has_perms_by_name(null, null, 'VIEW SERVER STATE')`}
	// By the names that host.ServerSetting has. Of trace flags, 3979 alone decides how commits reach the device; those
	// that mssql.conf names besides are answered with none. DBCC gives rows only where it is executed from a text.
	mssqlPlatform = explain.Query{Name: "platform", SQL: `set nocount on;
 declare @flags table (flag int, status int, everywhere int, here int);
 insert into @flags exec ('dbcc tracestatus (3979) with no_infomsgs');
 select 'traceflag0', coalesce(max(case when everywhere = 1 then '3979' end), '') from @flags
 union all select 'traceflag1', '' union all select 'traceflag2', ''`}
	// A session's status is running, sleeping or dormant; a request's running, runnable, suspended, rollback.
	mssqlSessions = explain.Query{Name: "sessions", SQL: `select s.session_id, s.status, r.status, r.wait_type, s.open_transaction_count
 from sys.dm_exec_sessions s left join sys.dm_exec_requests r on r.session_id = s.session_id where s.is_user_process = 1 and s.session_id <> @@spid`, Most: explain.Sessions}
	mssqlWaits = explain.Query{Name: "waits", SQL: `select wait_type, waiting_tasks_count, wait_time_ms, signal_wait_time_ms
 from sys.dm_os_wait_stats
 where wait_type in ('WRITELOG', 'HADR_SYNC_COMMIT') or wait_type like 'PAGEIOLATCH%' or wait_type like 'LCK[_]M[_]%'`}
	mssqlLogs = explain.Query{Name: "log", SQL: `select sum(f.num_of_writes), sum(f.num_of_bytes_written), sum(f.io_stall_write_ms)
 from sys.master_files m cross apply sys.dm_io_virtual_file_stats(m.database_id, m.file_id) f where m.type = 1`}
	mssqlInfo = explain.Query{Name: "info", SQL: `select convert(varchar(33), i.sqlserver_start_time, 126), (select sum(cntr_value)
 from sys.dm_os_performance_counters where rtrim(counter_name) = 'Transactions/sec'
 and rtrim(instance_name) = '_Total') from sys.dm_os_sys_info i`}
)

// sqlServerSource asks Microsoft SQL Server where its sessions' time goes. It was
// written from the documentation of the views and has not been tried on a live server.
//
//   - sys.dm_exec_sessions, sys.dm_exec_requests: what user sessions do, sampled
//   - sys.dm_os_wait_stats: waits since the start; wait_time_ms holds signal_wait_time_ms,
//     the time until a CPU was free after the wait was over
//   - sys.dm_io_virtual_file_stats(db, 2): writes of a database's log file
type sqlServerSource struct {
	explain.Asked
}

func newSQLServer(ctx context.Context, a explain.Asker, to string, _ bool) (explain.Source, error) {
	r, err := explain.One(ctx, a, mssqlServer)
	if err != nil {
		return nil, err
	}
	s := &sqlServerSource{Asked: explain.Asked{Asker: a, Info: explain.Server{Vendor: "SQL Server",
		Version: strings.TrimSpace(r.Text(0) + " " + r.Text(1)), Target: to}, Meanings: mssqlMeanings}}
	if !r.Bool(3) {
		s.Miss("sessions of others and all counters: grant view server state (2022: view server performance state) to [%s]",
			strings.ReplaceAll(r.Text(2), "]", "]]"))
	}
	s.Miss(
		"how many transactions there were, exactly: one that touches several databases counts in each (Transactions/sec)")
	untried(&s.Asked)
	s.Info.Platform = explain.AskSettings(ctx, a, "dbcc tracestatus", mssqlPlatform)
	return s, nil
}

// mssqlPart says where a wait type belongs.
func mssqlPart(wait string) explain.PartName {
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(wait, p) })
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

func (s *sqlServerSource) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.Ask(ctx, mssqlSessions)
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
		case status == "running", status == "rollback" && wait == "":
			x.Part, x.Event = explain.DatabaseCPU, explain.OnCPU
		case wait != "":
			x.Part, x.Event = mssqlPart(wait), wait
		default:
			x.Part, x.Event = explain.Unexplained, "status "+status
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	return []explain.Snapshot{shot}, nil
}

func (s *sqlServerSource) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	r, err := explain.One(ctx, s, mssqlInfo)
	if err != nil {
		return c, err
	}
	c.Epoch, c.Values["transactions"] = r.Text(0), r.Int(1)
	if r, err = explain.One(ctx, s, mssqlLogs); err != nil {
		return c, err
	}
	c.Values["log_writes"], c.Values["log_bytes"], c.Values["log_ms"] = r.Int(0), r.Int(1), r.Int(2)
	rows, err := s.Ask(ctx, mssqlWaits)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		c.Values["n "+r.Text(0)], c.Values["ms "+r.Text(0)], c.Values["signal "+r.Text(0)] = r.Int(1), r.Int(2), r.Int(3)
	}
	return c, nil
}

func (s *sqlServerSource) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: int64(g.Get("transactions"))}
	a.Log.Writes, a.Log.Bytes, a.Log.Source = int64(g.Get("log_writes")), int64(g.Get("log_bytes")),
		"sys.dm_io_virtual_file_stats"
	a.Log.Timed(g.Get("log_ms")/1e3, g.Get("log_writes"))
	for name, v := range g.Values {
		if wait, ok := strings.CutPrefix(name, "ms "); ok && v > 0 {
			// The wait itself, without the time until a CPU was free.
			v = max(0, v-g.Values["signal "+wait])
			a.Counted = append(a.Counted, explain.Counted{Part: mssqlPart(wait), Events: []string{wait},
				Seconds: float64(v) / 1e3, Count: int64(g.Get("n " + wait)), Source: "sys.dm_os_wait_stats"})
		}
	}
	return a
}

var mssqlMeanings = map[string]string{
	"writelog": "log on its way to the device", "hadr_sync_commit": "a replica confirms",
	"pageiolatch_sh": "data from disk", "pageiolatch_ex": "data from disk",
	"async_network_io": "the application reads slowly", "sos_scheduler_yield": "gave its CPU up for a moment",
	"cxpacket": "parallel workers", "cxconsumer": "parallel workers",
	"logbuffer": "log buffers are full", "sleeping": "the application works",
	"sleeping, transaction open": "the application works",
	"on cpu":                     "runs on a CPU", "waiting for a cpu": "ready to run, no CPU is free",
}

func (s *sqlServerSource) Meaning(event string) string {
	if strings.HasPrefix(event, "LCK_M_") {
		return "a lock that another holds"
	}
	return s.Asked.Meaning(event)
}
