package postgres

import (
	"cmp"
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
)

// databases counts transactions, and since 14 sessions and the time in which they ran statements,
// us: each session begins with a transaction of the server's own (InitPostgres).
func (v *version) databases() explain.Query {
	return explain.Query{Name: "database", SQL: `select pg_postmaster_start_time()::text, sum(xact_commit + xact_rollback),
 sum(blks_read), sum(round(blk_read_time * 1000)::bigint), max(stats_reset)::text, ` + v.sessions + `,
 case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::bigint end, ` + v.active + `
 from pg_stat_database`}
}

// counters are all of them in one answer: columnsDatabase of databases, columnsReads of reads, the time for which
// transactions of clients have been open that are older than flush, and those of the log. It has our own transaction
// reported at its end.
func (v *version) counters(timed bool) explain.Query {
	reads, flushed := "select null, null", ""
	if v.clientReads != nil && timed {
		reads = v.clientReads.SQL
	}
	if v.flush.SQL != "" {
		flushed = ", (" + v.flush.SQL + ") as flushed"
	}
	// A question without columns is one, too.
	const all = "select a.*, b.*, c.*, d.* from (%s) a, (%s) b, (%s) c, (%s) d%s"
	return explain.Query{Name: "counters", SQL: fmt.Sprintf(all, v.databases().SQL, reads, open,
		cmp.Or(v.wal.SQL, "select"), flushed)}
}

const columnsDatabase, columnsReads = 8, 2

// open is the age of transactions that the counters of sessions lag behind.
const open = `select coalesce(sum(extract(epoch from clock_timestamp() - xact_start)), 0) from pg_stat_get_activity(null)
 where pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start < clock_timestamp() - interval '1 s'`

// waiting is what the server itself says that its processes wait for.
var waiting = explain.Query{Name: "waiting",
	SQL: `select pid, wait_event_type, wait_event, coalesce(state, '') from pg_stat_get_activity(null) where wait_event is not null`, Most: explain.Sessions}

// backends are all processes that the server reports.
var backends = explain.Query{Name: "backends",
	SQL: `select pid, coalesce(backend_type, '') from pg_stat_get_activity(null)`, Most: explain.Sessions}

func (v *version) activity() explain.Query {
	return explain.Query{Name: "activity", Most: explain.Sessions, SQL: `select pid, coalesce(state, ''),
 coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(backend_type, ''), ` + v.leader + `,
 query = '<insufficient privilege>', coalesce(extract(epoch from clock_timestamp() - xact_start), 0)
 from pg_stat_get_activity(null) where pid <> pg_backend_pid()
 and (backend_type is null or backend_type in ('client backend', 'parallel worker') or wait_event ilike 'wal%')`}
}
