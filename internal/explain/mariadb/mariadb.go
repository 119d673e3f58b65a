// Package mariadb asks MariaDB and MySQL where their sessions' time goes: samples of
// the process list, InnoDB's counters, and the performance schema where it is on.
package mariadb

import (
	"context"
	"fmt"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/explain/ask"
)

// Options are what only who connects knows.
type Options struct {
	Target string
	Local  bool // the connection does not leave this host
	// SchedStat and Comm read /proc; nil: of this host.
	SchedStat func(id int64) (run, queue float64, err error)
	Comm      func(id int64) string
}

var (
	server = ask.Query{Name: "server", SQL: `select version(), @@version_comment, connection_id(), current_user(), @@performance_schema, @@innodb_flush_log_at_trx_commit, @@log_bin`}
	grants = ask.Query{Name: "grants", SQL: `show grants`}

	// TID is MariaDB's: the number of the thread in the system.
	processMaria = ask.Query{Name: "processes", SQL: `select id, command, coalesce(state, ''), time_ms / 1000, tid from information_schema.processlist where id <> connection_id()`}
	// The performance schema is read without the lock that the process list takes.
	processThreads = ask.Query{Name: "processes", SQL: `select processlist_id, processlist_command, coalesce(processlist_state, ''), processlist_time, thread_os_id from performance_schema.threads where processlist_id is not null and processlist_id <> connection_id() and type = 'FOREGROUND'`}
	processPlain   = ask.Query{Name: "processes", SQL: `select id, command, coalesce(state, ''), time, null from information_schema.processlist where id <> connection_id()`}

	status = ask.Query{Name: "status", SQL: `show global status where variable_name in ('Uptime', 'Com_commit', 'Com_insert', 'Com_update', 'Com_delete', 'Handler_commit', 'Innodb_os_log_written',
 'Innodb_log_writes', 'Innodb_os_log_fsyncs', 'Innodb_row_lock_time', 'Innodb_row_lock_waits', 'Innodb_data_reads', 'Innodb_data_read', 'Questions')`}
	// Times in picoseconds.
	files = ask.Query{Name: "files", SQL: `select event_name, count_read, sum_timer_read, count_write, sum_timer_write, count_misc, sum_timer_misc from performance_schema.file_summary_by_event_name where event_name in ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/innodb/innodb_data_file')`}
)

// Source implements explain.Source.
type Source struct {
	ask   ask.Asker
	info  explain.Server
	maria bool

	processes ask.Query
	files     bool
	threads   *explain.Threads
	own       int64   // the thread that serves us
	clients   []int64 // system's thread numbers, of the last sample
	shots     int
}

// New asks what server it is. The error is one line.
func New(ctx context.Context, a ask.Asker, o Options) (*Source, error) {
	r, err := ask.One(ctx, a, server)
	if err != nil {
		return nil, err
	}
	s := &Source{ask: a}
	s.maria = strings.Contains(strings.ToLower(r.Text(0)+r.Text(1)), "mariadb")
	s.info = explain.Server{Vendor: "MySQL", Version: r.Text(0), Target: o.Target}
	if s.maria {
		s.info.Vendor = "MariaDB"
	}
	miss := func(format string, a ...any) { s.info.Missing = append(s.info.Missing, fmt.Sprintf(format, a...)) }
	if err := s.rights(ctx, r.Text(3), miss); err != nil {
		return nil, err
	}
	schema := r.Bool(4)
	s.processes = processPlain
	switch {
	case s.maria:
		s.processes = processMaria
	case schema:
		s.processes = processThreads
	}
	if schema {
		rows, err := a.Ask(ctx, files)
		switch {
		case err != nil:
			miss("how long reads and log writes take: grant select on performance_schema.* to %s", account(r.Text(3)))
		default:
			s.files = len(rows) > 0
		}
	} else {
		miss("how long data reads take: performance_schema is off, and only a restart with performance_schema=ON turns it on")
	}
	if s.maria {
		miss("how long log writes take: MariaDB has no counter for it; commits are sampled only, and short ones are overstated")
	}
	s.local(ctx, o)
	return s, nil
}

// rights looks for the privilege without which only one's own sessions show.
func (s *Source) rights(ctx context.Context, user string, miss func(string, ...any)) error {
	rows, err := s.ask.Ask(ctx, grants)
	switch {
	case err != nil && strings.Contains(err.Error(), "skip-grant-tables"):
		return nil // nobody's rights are looked at
	case err != nil:
		return err
	}
	for _, r := range rows {
		g := strings.ToUpper(r.Text(0))
		what, on, _ := strings.Cut(g, " ON ")
		if strings.HasPrefix(on, "*.*") && (strings.Contains(what, "ALL PRIVILEGES") || strings.Contains(what, "PROCESS")) {
			return nil
		}
	}
	s.info.Hidden = true
	miss("sessions of other users: grant PROCESS on *.* to %s", account(user))
	return nil
}

// account writes what current_user() tells as SQL takes it: 'user'@'host'. A user's name
// may hold an @, a host's does not.
func account(user string) string {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'" }
	i := strings.LastIndex(user, "@")
	if i < 0 { // a role
		return quote(user)
	}
	return quote(user[:i]) + "@" + quote(user[i+1:])
}

// local finds out whether the server's threads are ours to read: the one that serves
// us must be there under the number that the server tells, and belong to it.
func (s *Source) local(ctx context.Context, o Options) {
	if o.SchedStat == nil {
		o.SchedStat = explain.SchedStat
	}
	if o.Comm == nil {
		o.Comm = explain.Comm
	}
	if o.Local && s.processes.SQL != processPlain.SQL {
		own := s.processes
		own.Name, own.SQL = "own", strings.Replace(own.SQL, "<> connection_id()", "= connection_id()", 1)
		if r, err := ask.One(ctx, s.ask, own); err == nil && !r.Null(4) {
			// Threads of mariadbd are called mariadbd, or since 10.8 one_connection.
			comm := o.Comm(r.Int(4))
			if _, _, err := o.SchedStat(r.Int(4)); err == nil && (strings.HasPrefix(comm, "maria") || strings.HasPrefix(comm, "mysql") || comm == "one_connection" || comm == "connection") {
				s.threads, s.own = &explain.Threads{Read: o.SchedStat}, r.Int(4)
				return
			}
		}
	}
	s.info.Missing = append(s.info.Missing, "CPU time: the server's threads are not of this host, or hidden; what executes is taken for CPU")
}

// Server implements explain.Source.
func (s *Source) Server() explain.Server { return s.info }

// Sample implements explain.Source.
func (s *Source) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.ask.Ask(ctx, s.processes)
	if err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	s.clients = s.clients[:0]
	for _, r := range rows {
		x := explain.Session{ID: r.Int(0), Pause: max(0, r.Float(3))}
		x.Part, x.Event, x.Background = Classify(r.Text(1), r.Text(2))
		shot.Sessions = append(shot.Sessions, x)
		if !x.Background && !r.Null(4) {
			s.clients = append(s.clients, r.Int(4))
		}
	}
	s.shots++
	return []explain.Snapshot{shot}, nil
}

// Count implements explain.Source.
func (s *Source) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]float64{}}
	rows, err := s.ask.Ask(ctx, status)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		c.Values[strings.ToLower(r.Text(0))] = r.Float(1)
	}
	if s.files {
		if rows, err = s.ask.Ask(ctx, files); err != nil {
			return c, err
		}
		for _, r := range rows {
			kind := "log_"
			if strings.HasSuffix(r.Text(0), "data_file") {
				kind = "data_"
			}
			for i, name := range []string{"reads", "read_time", "writes", "write_time", "syncs", "sync_time"} {
				c.Values[kind+name] = r.Float(i + 1)
			}
		}
	}
	if s.threads != nil {
		if s.shots == 0 { // the first count comes before the first sample
			if _, err := s.Sample(ctx); err != nil {
				return c, err
			}
			s.shots = 0
		}
		s.threads.Watch(s.clients)
		c.Values["cpu_run"], c.Values["cpu_queue"], _ = s.threads.Total()
	}
	return c, nil
}

// Account implements explain.Source.
func (s *Source) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: -1}
	if g.Has("handler_commit") {
		// Every statement that changes something, and every COMMIT, ends in one.
		a.Transactions = int64(g.Get("handler_commit"))
	}
	a.Log.Source = "Innodb_os_log_written"
	if g.Has("innodb_os_log_written") {
		a.Log.Bytes = int64(g.Get("innodb_os_log_written"))
	}
	if g.Has("innodb_log_writes") {
		a.Log.Writes, a.Log.Source = int64(g.Get("innodb_log_writes")), "Innodb_log_writes"
	}
	if g.Has("innodb_os_log_fsyncs") {
		a.Log.Syncs = int64(g.Get("innodb_os_log_fsyncs"))
	}
	switch {
	case s.maria:
		a.Log.Untimed = "MariaDB has no counter for it"
	case !s.files:
		a.Log.Untimed = "the performance schema, which times it, is off or hidden"
	}
	const ps = 1e-12
	if g.Has("log_writes") && g.Get("log_writes")+g.Get("log_syncs") > 0 {
		seconds := (g.Get("log_write_time") + g.Get("log_sync_time")) * ps
		a.Log.Writes, a.Log.Syncs, a.Log.Seconds = int64(g.Get("log_writes")), int64(g.Get("log_syncs")), explain.Number(seconds)
		a.Log.Average = explain.Number(seconds / max(1, min(g.Get("log_writes"), g.Get("log_syncs"))))
		a.Log.Source = "performance_schema.file_summary_by_event_name"
	}
	if g.Get("innodb_row_lock_waits") > 0 || g.Get("innodb_row_lock_time") > 0 {
		a.Counted = append(a.Counted, explain.Counted{Part: explain.Locks, Events: []string{"InnoDB row lock"}, Seconds: g.Get("innodb_row_lock_time") * 1e-3,
			Count: int64(g.Get("innodb_row_lock_waits")), Source: "Innodb_row_lock_time", From: explain.Executing})
	}
	switch {
	case g.Has("innodb_data_reads") && g.Get("innodb_data_reads") == 0:
		a.Counted = append(a.Counted, explain.Counted{Part: explain.DataReads, Events: []string{"wait/io/file/innodb/innodb_data_file"}, Source: "Innodb_data_reads: no reads", Whole: true})
	case g.Get("data_reads") > 0:
		a.Counted = append(a.Counted, explain.Counted{Part: explain.DataReads, Events: []string{"wait/io/file/innodb/innodb_data_file"},
			Seconds: g.Get("data_read_time") * ps, Count: int64(g.Get("data_reads")), Source: "performance_schema, threads of the server's own included", From: explain.Executing})
	}
	if s.threads != nil {
		if _, _, ended := s.threads.Total(); float64(ended) > 0.5*g.Seconds {
			a.Missing = append(a.Missing, fmt.Sprintf("CPU time: %d sessions ended meanwhile, too many to follow; what executes is taken for CPU", ended))
		} else {
			a.CPU = &explain.CPUTime{Run: g.Get("cpu_run"), Queue: g.Get("cpu_queue"), Source: "schedstat"}
		}
	}
	return a
}

// OwnCPU implements explain.Costed.
func (s *Source) OwnCPU() (float64, bool) { return s.threads.Used(s.own) }

// Meaning implements explain.Source.
func (s *Source) Meaning(event string) string { return meanings[strings.ToLower(event)] }

// Close implements explain.Source.
func (s *Source) Close() error { return s.ask.Close() }
