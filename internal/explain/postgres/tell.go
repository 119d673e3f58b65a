package postgres

import (
	"context"
	"strings"

	"hostlab/internal/explain"
)

// Tell implements explain.Tells.
func (s *Source) Tell(ctx context.Context) (explain.Telling, error) {
	rows, err := s.put(ctx, tell(s.number))
	t := explain.TellingOf(rows)
	if n, ok := t.Values["blocks_read"]; ok {
		t.Values["read_bytes"] = n * page
	}
	explain.Devices(&t, s.server)
	s.settings = t.Settings
	return t, err
}

// spoken are the settings that its counters speak of.
var spoken = []string{"autovacuum_max_workers", "autovacuum_naptime", "autovacuum_vacuum_cost_delay", "autovacuum_vacuum_cost_limit",
	"bgwriter_lru_maxpages", "checkpoint_completion_target", "checkpoint_timeout", "commit_delay", "commit_siblings", "fsync",
	"full_page_writes", "idle_in_transaction_session_timeout", "max_wal_size", "shared_buffers", "synchronous_commit", "synchronous_standby_names", "wal_compression",
	"work_mem"}

// tell is one question for all of them. Its views are those of 10 to 18: full pages are counted from 14 on, as sessions and
// their time are; 17 has moved checkpoints to a view of their own, and what backends wrote to pg_stat_io.
func tell(number int) explain.Query {
	type view struct{ from, columns string }
	views := []view{
		{"(select pg_postmaster_start_time()::text as epoch, case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::bigint end as log) x",
			"('epoch', '', x.epoch), ('counter', 'log', x.log::text)"},
	}
	database := view{"(select sum(xact_commit + xact_rollback) as xacts, sum(temp_files) as files, sum(temp_bytes) as bytes, sum(blks_read) as reads, sum(blks_hit) as hits, max(stats_reset)::text as epoch from pg_stat_database) x",
		"('epoch', '', x.epoch), ('counter', 'transactions', x.xacts::text), ('counter', 'temp_files', x.files::text), ('counter', 'temp_bytes', x.bytes::text), ('counter', 'blocks_read', x.reads::text), ('counter', 'blocks_hit', x.hits::text)"}
	if number >= 140000 {
		views = append(views,
			view{"pg_stat_wal x", "('epoch', '', x.stats_reset::text), ('counter', 'wal_fpi', x.wal_fpi::text), ('counter', 'wal_bytes', x.wal_bytes::bigint::text)"})
		database.from = strings.Replace(database.from, "max(stats_reset)", `sum(sessions) as sessions, sum(round(session_time * 1000)::bigint) as lasted,
 sum(round(active_time * 1000)::bigint) as active, sum(round(idle_in_transaction_time * 1000)::bigint) as paused, max(stats_reset)`, 1)
		database.columns += ", ('counter', 'sessions', x.sessions::text), ('counter', 'session_us', x.lasted::text), ('counter', 'active_us', x.active::text), ('counter', 'paused_us', x.paused::text)"
	}
	views = append(views, database)
	if number >= 170000 {
		views = append(views,
			view{"pg_stat_checkpointer x", "('epoch', '', x.stats_reset::text), ('counter', 'checkpoints_timed', x.num_timed::text), ('counter', 'checkpoints_forced', x.num_requested::text), ('counter', 'written_checkpoint', x.buffers_written::text)"},
			view{"pg_stat_bgwriter x", "('epoch', '', x.stats_reset::text), ('counter', 'written_background', x.buffers_clean::text)"},
			view{"(select sum(writes) as n, max(stats_reset)::text as epoch from pg_stat_io where backend_type = 'client backend' and object = 'relation') x",
				"('epoch', '', x.epoch), ('counter', 'written_backend', x.n::text)"})
	} else {
		views = append(views,
			view{"pg_stat_bgwriter x", `('epoch', '', x.stats_reset::text), ('counter', 'checkpoints_timed', x.checkpoints_timed::text), ('counter', 'checkpoints_forced', x.checkpoints_req::text),
 ('counter', 'written_checkpoint', x.buffers_checkpoint::text), ('counter', 'written_background', x.buffers_clean::text), ('counter', 'written_backend', x.buffers_backend::text)`})
	}
	var all []string
	for _, v := range views {
		all = append(all, "select v.* from "+v.from+", lateral (values "+v.columns+") v(kind, name, value)")
	}
	all = append(all, "select 'setting', name, current_setting(name) from pg_settings where name in ('"+strings.Join(spoken, "', '")+"')")
	return explain.Query{Name: "tell", SQL: strings.Join(all, " union all ")}
}
