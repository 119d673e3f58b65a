package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hostlab/internal/explain"
)

func (s *Source) Tell(ctx context.Context) (explain.Telling, error) {
	rows, err := s.put(ctx, s.tell())
	t := explain.TellingOf(rows)
	if n, ok := t.Values["blocks_read"]; ok {
		t.Values["read_bytes"] = n * page
	}
	explain.Devices(&t, s.server)
	if n := s.compilers(); n > 0 {
		t.Levels = map[string]int64{compiled: n}
	}
	s.settings = t.Settings
	if err == nil {
		s.told.answer, s.told.at = t, time.Now()
	}
	return t, err
}

func (s *Source) Answered() (explain.Telling, time.Time) { return s.told.answer, s.told.at }

// spoken are the settings that its counters speak of.
var spoken = []string{"auto_explain.log_analyze", "auto_explain.log_min_duration", "log_duration", "log_min_duration_statement", "log_statement",
	"autovacuum_max_workers", "autovacuum_naptime", "autovacuum_vacuum_cost_delay",
	"autovacuum_vacuum_cost_limit",
	"bgwriter_lru_maxpages", "checkpoint_completion_target", "checkpoint_timeout", "commit_delay", "commit_siblings",
	"deadlock_timeout", "vacuum_cost_delay",
	"fsync",
	"full_page_writes", "io_method", "idle_in_transaction_session_timeout", "max_wal_size", "shared_buffers",
	"synchronous_commit", "synchronous_standby_names", "wal_compression", "work_mem"}

// compiled is how many sessions have loaded the server's compiler, as they do with the first statement that is compiled.
// The setting jit does not tell: this session has it off, and others may have it on.
const compiled = "sessions_with_llvmjit"

// compilers counts them among processes of a server of this host, as far as they may be looked at. What a process has
// mapped takes the kernel as long to write as a hundred counters: idle ones compile nothing, and one that has mapped as
// much as when it had no compiler has none.
func (s *Source) compilers() (n int64) {
	var maps bytes.Buffer
	without := map[int64]string{}
	for _, p := range s.threads.Uses() {
		if p.Run <= 0 {
			continue
		}
		all, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.ID))
		size, _, _ := strings.Cut(string(all), " ")
		if size != "" && s.plain[p.ID] == size {
			without[p.ID] = size
			continue
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.ID))
		if err != nil {
			continue
		}
		maps.Reset()
		maps.Grow(1 << 16) // else small reads, of which each looks for its place anew, take twice as long
		_, err = maps.ReadFrom(f)
		_ = f.Close()
		switch {
		case err != nil:
		case bytes.Contains(maps.Bytes(), []byte("/llvmjit.so")):
			n++
		default:
			without[p.ID] = size
		}
	}
	s.plain = without
	return n
}

// oldestSnapshot is who keeps the oldest snapshot, and how many transactions there have been that change rows.
const oldestSnapshot = `select v.* from (select pid, backend_xmin, concat('user ', pg_get_userbyid(usesysid), ', application ', application_name) as who
 from pg_stat_get_activity(null) where backend_xmin is not null and pid <> pg_backend_pid() and backend_type = 'client backend' order by age(backend_xmin) desc limit 1) x,
 lateral (values ('setting', 'snapshot_pid', x.pid::text), ('setting', 'snapshot_xmin', x.backend_xmin::text), ('setting', 'snapshot_of', x.who)) v(kind, name, value)
 union all select 'counter', 'xids', txid_snapshot_xmax(txid_current_snapshot())::text`

// mostlyDead is the table that has most rows which nobody sees any more, where those are more than all others and no few,
// and how many of its pages were asked for.
const (
	mostlyDead = `select v.* from (select oid from pg_class where relkind in ('r', 'm') and pg_stat_get_dead_tuples(oid) > greatest(10000, pg_stat_get_live_tuples(oid))
 order by pg_stat_get_dead_tuples(oid) desc limit 1) x, lateral (values ('counter', '` + pagesOf + `' || x.oid::regclass, pg_stat_get_blocks_fetched(x.oid)::text)) v(kind, name, value)`
	pagesOf = "pages of "
)

// tell is one question for all of them. Each view is read once.
func (v *version) tell() explain.Query {
	var all []string
	for _, x := range append([]view{server10, {"pg_stat_database", "max(stats_reset)", v.database}}, v.told...) {
		columns, values := "("+x.epoch+")::text as epoch", "('epoch', '', x.epoch)"
		for c := range strings.SplitSeq(x.counters, "; ") {
			name, column, _ := strings.Cut(c, "=")
			columns += ", (" + column + ")::text as " + name
			values += ", ('counter', '" + name + "', x." + name + ")"
		}
		all = append(all, "select v.* from (select "+columns+" from "+x.from+") x, lateral (values "+values+
			") v(kind, name, value)")
	}
	all = append(all, oldestSnapshot, mostlyDead)
	settings := "('" + strings.Join(spoken, "', '") + "')"
	all = append(all, "select 'setting', name, current_setting(name) from pg_settings where name in "+settings)
	return explain.Query{Name: "tell", SQL: strings.Join(all, " union all ")}
}
