package postgres

import (
	"context"
	"strings"

	"hostlab/internal/explain"
)

// Tell implements explain.Tells.
func (s *Source) Tell(ctx context.Context) (explain.Telling, error) {
	rows, err := s.put(ctx, s.tell())
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
	"full_page_writes", "io_method", "idle_in_transaction_session_timeout", "max_wal_size", "shared_buffers", "synchronous_commit", "synchronous_standby_names", "wal_compression",
	"work_mem"}

// tell is one question for all of them.
func (v *version) tell() explain.Query {
	views := append([]view{
		{"(select pg_postmaster_start_time()::text as epoch, case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::bigint end as log) x",
			"('epoch', '', x.epoch), ('counter', 'log', x.log::text)"},
		{"(select sum(xact_commit + xact_rollback) as xacts, sum(temp_files) as files, sum(temp_bytes) as bytes, sum(blks_read) as reads, sum(blks_hit) as hits, " + v.spans + "max(stats_reset)::text as epoch from pg_stat_database) x",
			"('epoch', '', x.epoch), ('counter', 'transactions', x.xacts::text), ('counter', 'temp_files', x.files::text), ('counter', 'temp_bytes', x.bytes::text), ('counter', 'blocks_read', x.reads::text), ('counter', 'blocks_hit', x.hits::text)"},
	}, v.told...)
	if v.spans != "" {
		views[1].columns += ", ('counter', 'sessions', x.sessions::text), ('counter', 'session_us', x.lasted::text), ('counter', 'active_us', x.active::text), ('counter', 'paused_us', x.paused::text)"
	}
	var all []string
	for _, x := range views {
		all = append(all, "select v.* from "+x.from+", lateral (values "+x.columns+") v(kind, name, value)")
	}
	all = append(all, "select 'setting', name, current_setting(name) from pg_settings where name in ('"+strings.Join(spoken, "', '")+"')")
	return explain.Query{Name: "tell", SQL: strings.Join(all, " union all ")}
}
