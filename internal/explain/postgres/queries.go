package postgres

import (
	"fmt"

	"hostlab/internal/explain"
)

// All questions. pg_stat_get_activity is what the view pg_stat_activity is made of,
// without its joins.
var (
	server = explain.Query{Name: "server", SQL: `select current_setting('server_version'), current_setting('server_version_num'), pg_backend_pid(),
 current_user, current_database(), coalesce(current_setting('track_wal_io_timing', true), ''), current_setting('track_io_timing'), current_setting('track_activities'),
 pg_has_role(current_user, 'pg_read_all_stats', 'usage'), pg_is_in_recovery(), current_setting('synchronous_commit')`}

	// By the names that host.ServerSetting has, with a unit where there is one.
	platform = explain.Query{Name: "platform",
		SQL: `select name, current_setting(name) from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'huge_pages', 'shared_buffers')`}

	activity13 = explain.Query{Name: "activity", SQL: activity("leader_pid"), Most: explain.Sessions}
	activity10 = explain.Query{Name: "activity", SQL: activity("null::int"), Most: explain.Sessions}

	flush15 = explain.Query{Name: "flush", SQL: `select pg_stat_force_next_flush()`}

	// Times in us, as whole numbers: a sum of floats may fall in its last digit. 14 to 17; 18
	// has moved all but wal_bytes to pg_stat_io.
	wal14 = explain.Query{Name: "wal",
		SQL: `select wal_bytes, wal_write, wal_sync, round(wal_write_time * 1000)::bigint, round(wal_sync_time * 1000)::bigint, stats_reset::text from pg_stat_wal`}
	wal18 = explain.Query{Name: "wal", SQL: `select (select wal_bytes from pg_stat_wal), sum(writes), sum(fsyncs), sum(round(write_time * 1000)::bigint), sum(round(fsync_time * 1000)::bigint), max(stats_reset)::text,
 sum(writes) filter (where backend_type = 'client backend'), sum(fsyncs) filter (where backend_type = 'client backend'),
 sum(round(write_time * 1000)::bigint) filter (where backend_type = 'client backend'), sum(round(fsync_time * 1000)::bigint) filter (where backend_type = 'client backend')
 from pg_stat_io where object = 'wal'`}

	// Since 16.
	reads16 = explain.Query{Name: "reads", SQL: `select sum(reads), sum(round(read_time * 1000)::bigint) from pg_stat_io
 where backend_type = 'client backend' and object in ('relation', 'temp relation')`}
)

// Log is the question for the log's account: bytes, writes, syncs, and the time of both in
// us, then the time of their reset. Before 14 there is none, and it is empty.
func Log(number int) (q explain.Query) {
	switch {
	case number >= 180000:
		return wal18
	case number >= 140000:
		return wal14
	}
	return q
}

// databases counts transactions, and since 14 sessions and the time in which they ran statements,
// us: each session begins with a transaction of the server's own (InitPostgres).
func databases(number int) explain.Query {
	sessions, active := "0", "null"
	if number >= 140000 {
		sessions, active = "sum(sessions)", "sum(round(active_time * 1000)::bigint)"
	}
	return explain.Query{Name: "database", SQL: `select pg_postmaster_start_time()::text, sum(xact_commit + xact_rollback), sum(blks_read), sum(round(blk_read_time * 1000)::bigint), max(stats_reset)::text, ` + sessions + `,
 case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::bigint end, ` + active + ` from pg_stat_database`}
}

// counters are all of them in one answer: columnsDatabase of databases, columnsReads of reads16, the time for which transactions of clients have
// been open that are older than flush, and those of the log. It has our own transaction reported at its end.
func counters(number int, timed bool) explain.Query {
	reads, log := "select null, null", Log(number).SQL
	if number >= 160000 && timed {
		reads = reads16.SQL
	}
	flushed := ""
	if number >= 150000 {
		flushed = ", (" + flush15.SQL + ") as flushed"
	}
	return explain.Query{Name: "counters", SQL: fmt.Sprintf("select a.*, b.*, c.*, d.* from (%s) a, (%s) b, (%s) c, (%s) d%s", databases(number).SQL, reads, open, log, flushed)}
}

const columnsDatabase, columnsReads = 8, 2

// open is the age of transactions that the counters of sessions lag behind.
const open = `select coalesce(sum(extract(epoch from clock_timestamp() - xact_start)), 0) from pg_stat_get_activity(null)
 where pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start < clock_timestamp() - interval '1 s'`

// waiting is what the server itself says that its processes wait for.
var waiting = explain.Query{Name: "waiting", SQL: `select pid, wait_event_type, wait_event, coalesce(state, '') from pg_stat_get_activity(null) where wait_event is not null`, Most: explain.Sessions}

// backends are all processes that the server reports.
var backends = explain.Query{Name: "backends", SQL: `select pid, coalesce(backend_type, '') from pg_stat_get_activity(null)`, Most: explain.Sessions}

func activity(leader string) string {
	return `select pid, coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(backend_type, ''), ` + leader + `,
 query = '<insufficient privilege>',
 coalesce(extract(epoch from clock_timestamp() - xact_start), 0)
 from pg_stat_get_activity(null)
 where pid <> pg_backend_pid() and (backend_type is null or backend_type in ('client backend', 'parallel worker') or wait_event ilike 'wal%')`
}
