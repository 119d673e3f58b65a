// Package mariadb asks MariaDB and MySQL where their sessions' time goes: samples of
// the process list, InnoDB's counters, and the performance schema where it is on.
package mariadb

import (
	"context"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/waits"
)

var (
	server = explain.Query{Name: "server",
		SQL: `select version(), @@version_comment, connection_id(), current_user(), @@performance_schema, @@innodb_flush_log_at_trx_commit, @@log_bin, @@thread_handling, @@sync_binlog`}
	// By the names that host.ServerSetting has; InnoDB's sizes are in bytes.
	platform = explain.Query{Name: "platform",
		SQL: `show global variables where variable_name in ('innodb_flush_method', 'innodb_use_native_aio', 'large_pages', 'innodb_buffer_pool_size',
 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'innodb_doublewrite', 'innodb_data_file_buffering', 'innodb_log_file_buffering')`}
	grants = explain.Query{Name: "grants", SQL: `show grants`}

	// TID is MariaDB's: the number of the thread in the system.
	processMaria = explain.Query{Name: "processes", SQL: `select id, command, coalesce(state, ''), tid, info like 'select%'
 from information_schema.processlist where id <> connection_id()`, Most: explain.Sessions}
	// The performance schema is read without the lock that the process list takes.
	processThreads = explain.Query{Name: "processes",
		SQL: `select processlist_id, processlist_command, coalesce(processlist_state, ''), thread_os_id, processlist_info like 'select%'
 from performance_schema.threads where processlist_id is not null and processlist_id <> connection_id()
 and type = 'FOREGROUND'`, Most: explain.Sessions}
	processPlain = explain.Query{Name: "processes", SQL: `select id, command, coalesce(state, ''), null, info like 'select%'
 from information_schema.processlist where id <> connection_id()`, Most: explain.Sessions}
	// Who is within a transaction: whether it runs no statement, a SELECT, one that is all of
	// its transaction, and has written.
	// InnoDB makes this table anew when nobody has read it for 0.1 s
	// (trx_i_s_possibly_fetch_data_into_cache).
	within = explain.Query{Name: "within", SQL: `select trx_mysql_thread_id, trx_query is null, coalesce(trx_query, '') like 'select%', trx_rows_modified > 0, trx_autocommit_non_locking from information_schema.innodb_trx
 where trx_mysql_thread_id not in (0, connection_id())`, Most: explain.Sessions}

	status = explain.Query{Name: "status", SQL: `show global status where variable_name in ('Uptime', 'Innodb_os_log_written', 'Innodb_log_writes', 'Innodb_os_log_fsyncs', 'Innodb_row_lock_time',
 'Innodb_row_lock_waits', 'Innodb_row_lock_current_waits', 'Innodb_log_waits', 'Innodb_data_reads', 'Binlog_cache_use', 'Binlog_stmt_cache_use', 'Com_begin', 'Com_commit', 'Com_rollback', 'Handler_rollback', 'Innodb_max_trx_id', ` + statements + `)`}
	// Times in ns.
	files = explain.Query{Name: "files", SQL: `select event_name, count_read, sum_timer_read div 1000, count_write, sum_timer_write div 1000, count_misc, sum_timer_misc div 1000
 from performance_schema.file_summary_by_event_name
 where event_name in ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/innodb/innodb_data_file')`}
	// Transactions where they are counted: by default MySQL 8 does.
	counted = explain.Query{Name: "counted", SQL: `select count_star from performance_schema.events_transactions_summary_global_by_event_name where exists (select * from performance_schema.setup_instruments where name = 'transaction' and enabled = 'YES')
 and not exists (select * from performance_schema.setup_consumers where name in ('global_instrumentation', 'thread_instrumentation') and enabled = 'NO')`}
	// InnoDB's own count, where all three of its kinds are enabled; by default none is. MySQL
	// has the column status in the place of enabled.
	metrics = explain.Query{Name: "metrics", SQL: `select sum(count) from information_schema.innodb_metrics
 where name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits') and enabled having count(*) = 3`}
)

type Source struct {
	explain.Asked
	maria bool

	processes explain.Query
	files     bool
	counted   bool
	metrics   explain.Query // InnoDB's count of transactions; zero where it is not enabled
	lazy      string        // why commits wait for no device; "": they do
	waiting   float64       // transactions that wait for rows, at the last count
	last      time.Time     // of that
	pending   float64       // s that waits for rows lasted from one count to the next, so far
	pool      bool          // threads serve sessions in turn, and the server tells how many requests wait for one
	blind     bool          // who is within a transaction does not show
	threads   *explain.Threads
	own       int64          // the thread that serves us; 0: it is not known
	server    int            // the process; 0: it is not known
	looks     *looks         // at its threads; nil: this user may not, or there are none of sessions
	clients   map[int64]bool // system's numbers of threads that have served a client since the last count
	looked    time.Time
	idle      int   // sessions within a transaction that ran no statement, at the last look
	owed      int   // of those, that are not yet in a snapshot
	asked     int64 // our own statements
	seen      modes
	sessions  int                // of clients, most at a look
	counts    []map[string]int64 // all that were read, in order
	shots     int
}

// New asks what server it is. here: the connection does not leave this host. The error is
// one line.
func New(ctx context.Context, a explain.Asker, target string, here bool) (explain.Source, error) {
	r, err := explain.One(ctx, a, server)
	if err != nil {
		return nil, err
	}
	s := &Source{Asked: explain.Asked{Asker: a, Meanings: meanings}, clients: map[int64]bool{}}
	s.maria = strings.Contains(strings.ToLower(r.Text(0)+r.Text(1)), "mariadb")
	s.Info = explain.Server{Vendor: "MySQL", Version: r.Text(0), Target: target}
	if s.maria {
		s.Info.Vendor = "MariaDB"
	}
	if flush := r.Text(5); (flush == "0" || flush == "2") && (!r.Bool(6) || r.Text(8) == "0") {
		s.lazy = "innodb_flush_log_at_trx_commit = " + flush
	}
	if err := s.rights(ctx, r.Text(3)); err != nil {
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
			s.Miss("how long reads and log writes take: grant select on performance_schema.* to %s", account(r.Text(3)))
		default:
			s.files = len(rows) > 0
		}
		rows, err = a.Ask(ctx, counted)
		s.counted = err == nil && len(rows) > 0
	} else {
		s.Miss(
			"how long data reads take: performance_schema is off, and only a restart with performance_schema=ON turns it on")
	}
	if m := s.ownCount(); !s.counted {
		if rows, err := a.Ask(ctx, m); err == nil && len(rows) > 0 {
			s.metrics = m
		}
	}
	if _, err := a.Ask(ctx, within); err != nil {
		s.blind = true
		s.Miss("pauses of the application within transactions: they look idle without information_schema.innodb_trx; grant PROCESS "+
			"on *.* to %s", account(r.Text(3)))
	}
	s.local(ctx, here, r.Text(7))
	switch {
	case s.maria && s.looks != nil:
		s.Miss("how long log writes take: MariaDB has no counter for it; commits are sampled")
	case s.maria:
		s.Miss("how long log writes take: MariaDB has no counter for it; commits are sampled only, and short ones are overstated")
	}
	s.Info.Platform = explain.AskSettings(ctx, a, "show global variables", platform)
	return s, nil
}

// ownCount is the question for InnoDB's count of transactions.
func (s *Source) ownCount() explain.Query {
	m := metrics
	if !s.maria {
		m.SQL = strings.Replace(m.SQL, "and enabled", "and status = 'enabled'", 1)
	}
	return m
}

// rights looks for the privilege without which only one's own sessions show.
func (s *Source) rights(ctx context.Context, user string) error {
	rows, err := s.Ask(ctx, grants)
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
	s.Info.Hidden = true
	s.Miss("sessions of other users: grant PROCESS on *.* to %s", account(user))
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

// Comms are how names of its threads begin: as the program is called, or since 10.8 as what
// they do.
var Comms = []string{"maria", "mysql", "one_connection", "connection"}

// local finds out whether the server's threads are ours to read: the one that serves us must be there under the number
// that the server tells, and belong to it. In a pool a thread serves one session after the other, so that none has an
// account of its own: MariaDB tells no numbers then, and Percona those of running statements.
func (s *Source) local(ctx context.Context, here bool, handling string) {
	if here {
		s.server = s.Peer()
	}
	if handling != "" && handling != "one-thread-per-connection" {
		_, err := s.Ask(ctx, queued)
		s.pool = s.maria && err == nil
		s.Miss("CPU time: threads serve sessions in turn here (thread_handling is %s), so that none is a session's; what executes is taken "+
			"for CPU", handling)
		return
	}
	if here && s.processes.SQL != processPlain.SQL {
		own := s.processes
		own.Name, own.SQL = "own", strings.Replace(own.SQL, "<> connection_id()", "= connection_id()", 1)
		if r, err := explain.One(ctx, s, own); err == nil && !r.Null(3) {
			own := r.Int(3)
			if explain.Here(here, own, Comms...) == nil {
				s.threads, s.own = &explain.Threads{}, own
				if process, _, err := explain.Tasks(own); err == nil {
					s.server = int(process)
					s.threads.Gone = func(live time.Duration) (time.Duration, error) {
						all, err := proc.CPUTime(int(process))
						return all - live, err
					}
					if threads, err := waits.OpenThreads(s.server, int(own)); err == nil {
						s.looks = &looks{threads: threads}
					}
				}
				return
			}
		}
	}
	s.Miss("CPU time: the server's threads are not of this host, or hidden; what executes is taken for CPU")
}

// Begin implements explain.Begins.
func (s *Source) Begin() {
	if s.threads != nil {
		s.threads.Forget()
	}
	if s.looks != nil {
		s.looks.begin()
	}
	clear(s.clients)
	s.idle, s.owed, s.seen, s.sessions, s.counts, s.shots = 0, 0, modes{}, 0, nil, 0
}

// Process implements explain.Hosted.
func (s *Source) Process() (server int, own int64, ok bool) {
	return s.server, s.own, s.server != 0
}

// Close implements explain.Source.
func (s *Source) Close() error {
	if s.looks != nil {
		s.looks.threads.Close()
	}
	return s.Asked.Close()
}

func (s *Source) OwnCPU() (float64, bool) { return s.threads.Used(s.own) }
