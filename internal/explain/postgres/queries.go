package postgres

import "hostlab/internal/explain/ask"

// All questions. pg_stat_get_activity is what the view pg_stat_activity is made of,
// without its joins.
var (
	server = ask.Query{Name: "server", SQL: `select current_setting('server_version'), current_setting('server_version_num'), pg_backend_pid(),
 current_user, current_database(), coalesce(current_setting('track_wal_io_timing', true), ''), current_setting('track_io_timing'), current_setting('track_activities'),
 pg_has_role(current_user, 'pg_read_all_stats', 'usage'), pg_is_in_recovery(), current_setting('synchronous_commit')`}

	activity13 = ask.Query{Name: "activity", SQL: activity("leader_pid")}
	activity10 = ask.Query{Name: "activity", SQL: activity("null::int")}

	database = ask.Query{Name: "database", SQL: `select pg_postmaster_start_time()::text, sum(xact_commit + xact_rollback), sum(blks_read), sum(blk_read_time), max(stats_reset)::text from pg_stat_database`}

	// Times in ms. 14 to 17; 18 has moved all but wal_bytes to pg_stat_io.
	wal14 = ask.Query{Name: "wal", SQL: `select wal_bytes, wal_write, wal_sync, wal_write_time, wal_sync_time, stats_reset::text from pg_stat_wal`}
	wal18 = ask.Query{Name: "wal", SQL: `select (select wal_bytes from pg_stat_wal), sum(writes), sum(fsyncs), sum(write_time), sum(fsync_time), max(stats_reset)::text,
 sum(writes) filter (where backend_type = 'client backend'), sum(fsyncs) filter (where backend_type = 'client backend'),
 sum(write_time) filter (where backend_type = 'client backend'), sum(fsync_time) filter (where backend_type = 'client backend')
 from pg_stat_io where object = 'wal'`}

	// Since 16.
	reads16 = ask.Query{Name: "reads", SQL: `select sum(reads), sum(read_time) from pg_stat_io where backend_type = 'client backend' and object in ('relation', 'temp relation')`}
)

func activity(leader string) string {
	return `select pid, coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(backend_type, ''), ` + leader + `,
 coalesce(extract(epoch from clock_timestamp() - state_change), 0), query = '<insufficient privilege>',
 coalesce(extract(epoch from clock_timestamp() - xact_start), 0)
 from pg_stat_get_activity(null)
 where pid <> pg_backend_pid() and (backend_type is null or backend_type in ('client backend', 'parallel worker') or wait_event ilike 'wal%')`
}
