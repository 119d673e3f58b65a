package postgres

import "hostlab/internal/explain"

// version is what a server counts, and under which names.
type version struct {
	leader           string         // of a parallel worker, in its activity
	statement        string         // number of what a session runs
	sessions, active string         // that began, and the time in which they ran statements, us
	database         string         // counters of pg_stat_database
	flush            explain.Query  // has what our own session counted reported; empty: nothing does
	wal              explain.Query  // the log's account: see Log
	walView          string         // that has it
	clientReads      *explain.Query // of clients, and their time; nil: those of all, in pg_stat_database
	mute             bool           // processes keep no word of their waits where track_activities is off
	sleeps           bool           // a sleep before a commit shows as a wait
	told             []view         // what Tell asks for beside those
}

// oldest and newest are the versions that this was written for.
const oldest, newest = 10, 18

// changes are what versions brought, each on top of those before it.
var changes = []struct {
	since  int
	brings func(*version)
}{
	{oldest, func(v *version) {
		v.leader, v.statement, v.sessions, v.active = "null::int", "null", "0", "null"
		v.database, v.told, v.mute = database10, []view{written10}, true
	}},
	{13, func(v *version) { v.leader = "leader_pid" }},
	{14, func(v *version) {
		v.statement, v.wal, v.walView, v.mute = "query_id", wal14, "pg_stat_wal", false
		v.sessions, v.active = "sum(sessions)", "sum(round(active_time * 1000)::bigint)"
		v.database += spans14
		v.told = append(v.told, images14)
	}},
	{15, func(v *version) { v.flush = flush15 }},
	{16, func(v *version) { v.clientReads = &reads16 }},
	{17, func(v *version) { v.told = []view{images14, checkpoints17, background17, written17} }},
	{18, func(v *version) { v.wal, v.walView, v.sleeps = wal18, "pg_stat_io, pg_stat_wal", true }},
}

// versionOf is what a server counts whose server_version_num is number.
func versionOf(number int) (v version) {
	for _, c := range changes {
		if number/10000 >= c.since {
			c.brings(&v)
		}
	}
	return v
}

// Log is the question for the log's account: bytes, writes, syncs, and the time of both in us, then the time of their
// reset; and the one that has what its session counted reported before. Where a version has none, they are empty.
func Log(number int) (account, flush explain.Query) {
	v := versionOf(number)
	return v.wal, v.flush
}

var (
	flush15 = explain.Query{Name: "flush", SQL: `select pg_stat_force_next_flush()`}

	// Times in us, as whole numbers: a sum of floats may fall in its last digit. 14 to 17; 18 has moved all but
	// wal_bytes to pg_stat_io.
	wal14 = explain.Query{Name: "wal", SQL: `select wal_bytes, wal_write, wal_sync,
 round(wal_write_time * 1000)::bigint, round(wal_sync_time * 1000)::bigint, stats_reset::text from pg_stat_wal`}
	wal18 = explain.Query{Name: "wal", SQL: `select (select wal_bytes from pg_stat_wal), sum(writes), sum(fsyncs),
 sum(round(write_time * 1000)::bigint), sum(round(fsync_time * 1000)::bigint), max(stats_reset)::text,
 sum(writes) filter (where backend_type = 'client backend'), sum(fsyncs) filter (where backend_type = 'client backend'),
 sum(round(write_time * 1000)::bigint) filter (where backend_type = 'client backend'),
 sum(round(fsync_time * 1000)::bigint) filter (where backend_type = 'client backend')
 from pg_stat_io where object = 'wal'`}

	reads16 = explain.Query{Name: "reads", SQL: `select sum(reads), sum(round(read_time * 1000)::bigint) from pg_stat_io
 where backend_type = 'client backend' and object in ('relation', 'temp relation')`}
)

// view is a source of counters, each as name=column, with ; between; epoch is the column with the time of their reset.
type view struct{ from, epoch, counters string }

// Of pg_stat_database.
const (
	database10 = "transactions=sum(xact_commit+xact_rollback); temp_files=sum(temp_files); temp_bytes=sum(temp_bytes); " +
		"blocks_read=sum(blks_read); blocks_hit=sum(blks_hit)"
	spans14 = "; sessions=sum(sessions); session_us=sum(round(session_time*1000)::bigint); " +
		"active_us=sum(round(active_time*1000)::bigint); paused_us=sum(round(idle_in_transaction_time*1000)::bigint)"
)

var (
	server10 = view{"pg_postmaster_start_time() epoch", "epoch",
		"log=case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::bigint end"}
	written10 = view{"pg_stat_bgwriter", "stats_reset",
		"checkpoints_timed=checkpoints_timed; checkpoints_forced=checkpoints_req; " +
			"written_checkpoint=buffers_checkpoint; written_background=buffers_clean; written_backend=buffers_backend"}
	images14 = view{"pg_stat_wal", "stats_reset", "wal_fpi=wal_fpi; wal_bytes=wal_bytes::bigint"}

	// 17 has moved checkpoints to a view of their own, and what sessions wrote to pg_stat_io.
	checkpoints17 = view{"pg_stat_checkpointer", "stats_reset",
		"checkpoints_timed=num_timed; checkpoints_forced=num_requested; written_checkpoint=buffers_written"}
	background17 = view{"pg_stat_bgwriter", "stats_reset", "written_background=buffers_clean"}
	written17    = view{"pg_stat_io where backend_type = 'client backend' and object = 'relation'", "max(stats_reset)",
		"written_backend=sum(writes)"}
)
