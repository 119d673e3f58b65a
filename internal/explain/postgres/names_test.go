package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// answers gives the next list of rows to each question.
type answers struct {
	rows  [][]explain.Row
	asked []explain.Query
}

func (a *answers) Ask(_ context.Context, q explain.Query) ([]explain.Row, error) {
	a.asked = append(a.asked, q)
	rows := a.rows[0]
	a.rows = a.rows[1:]
	return rows, nil
}

func (a *answers) Close() error { return nil }

// cells are a row; "-" is NULL.
func cells(text string) (r explain.Row) {
	for c := range strings.SplitSeq(text, "|") {
		r = append(r, struct {
			String string
			Valid  bool
		}{strings.TrimPrefix(c, "-"), c != "-"})
	}
	return r
}

// TestBeside: where samples come from memory, statements come with the counters, each once, in one question.
func TestBeside(t *testing.T) {
	a := &answers{rows: [][]explain.Row{{cells("1|2")},
		{cells("3|4|active|Lock|tuple|client backend|77|-"), cells("3|4|active|-|-|client backend|-|select 1"),
			cells("3|4|-|Timeout|VacuumDelay|autovacuum worker|-|-")},
		{cells("5|6|-|-|-|-|-|-")}}}
	s := &Source{Asked: explain.Asked{Asker: a}, memory: &memory{}, version: versionOf(150000)}
	count := func(want string) {
		t.Helper()
		r, err := s.counted(t.Context(), explain.Query{Name: "counters", SQL: "select 1, 2"})
		if err != nil || len(r) != 2 || r.Text(0)+r.Text(1) != want {
			t.Errorf("%v, %v, want %s", r, err, want)
		}
	}
	count("12")
	if _, err := s.runs(t.Context(), false); !errors.Is(err, explain.ErrNotYet) {
		t.Error(err)
	}
	count("34")
	rows, err := s.runs(t.Context(), false)
	if err != nil || len(rows) != 3 || rows[0].Text(4) != "77" || rows[1].Text(5) != "select 1" {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := s.runs(t.Context(), false); !errors.Is(err, explain.ErrNotYet) {
		t.Error("rows are given twice")
	}
	count("56")
	if rows, err := s.runs(t.Context(), false); err != nil || len(rows) != 0 {
		t.Errorf("nobody runs: %v, %v", rows, err)
	}
	testkit.Is(t, 3, len(a.asked), "questions")
}

// TestName: sessions at work have their part and the number of their statement, and workers of autovacuum their pauses;
// who waits for a lock is followed to who holds it.
func TestName(t *testing.T) {
	a := &answers{rows: [][]explain.Row{
		{cells("active|Lock|transactionid|client backend|77|-"), cells("active|-|-|client backend|-|select 1"),
			cells("active|Timeout|VacuumDelay|autovacuum worker|-|-"),
			cells("active|-|-|autovacuum worker|-|-")},
		{cells("5|active|Lock|transactionid|app|shop||0|4,0|public.stock"),
			cells("4|idle in transaction|Client|ClientRead|app|nightly|10.0.0.7|4711||")}}}
	s := &Source{Asked: explain.Asked{Asker: a}, version: versionOf(140000)}
	n, err := s.Name(t.Context(), false)
	if err != nil || len(n.Doing) != 2 || n.Doing[0].ID != "77" || n.Doing[0].Kind != explain.QueryID ||
		n.Doing[0].Part != explain.Locks ||
		n.Doing[1].Kind != explain.Fingerprint || n.Doing[1].Text != "" {
		t.Fatalf("%+v, %v", n, err)
	}
	if len(n.Vacuum) != 2 || n.Vacuum[0].Part != explain.Idle || n.Vacuum[1].Part != explain.DatabaseCPU {
		t.Errorf("%+v", n.Vacuum)
	}
	if len(n.Blocks) != 1 || n.Blocks[0].Relation != "public.stock" || n.Blocks[0].Holder.Event != "prepared transaction" {
		t.Errorf("a prepared transaction has no process: %+v", n.Blocks)
	}
}

// TestMute: until 13 a session keeps no waits where track_activities is off for it, so that its memory tells none.
func TestMute(t *testing.T) {
	for number, want := range map[int]int{130000: 1, 140000: 0} {
		a := &answers{rows: [][]explain.Row{{cells("disabled|||client backend|-|")}}}
		s := &Source{Asked: explain.Asked{Asker: a}, version: versionOf(number), looked: true}
		testkit.Must(s.Name(t.Context(), false))(t)
		missing := strings.Join(s.Account(explain.Growth{}).Missing, "; ")
		if s.untold != want || strings.Contains(missing, "1 sessions wait for their clients") != (want > 0) {
			t.Errorf("%d: %d, %s", number, s.untold, missing)
		}
	}
}

// TestVersions: each version has the questions of its own columns, and those that came later are not asked.
func TestVersions(t *testing.T) {
	for number, c := range map[int]struct{ has, lacks string }{
		100004: {"null::int", "leader_pid"}, 120022: {"null::int", "leader_pid"},
		130023: {"leader_pid|checkpoints_req|(select) d", "pg_stat_wal|query_id|active_time|force_next"},
		140023: {"pg_stat_wal|query_id|active_time|wal_fpi", "force_next|pg_stat_io"},
		150018: {"force_next|checkpoints_req", "pg_stat_io"},
		160014: {"pg_stat_io|checkpoints_req", "pg_stat_checkpointer"},
		170010: {"pg_stat_checkpointer|wal_write_time", "checkpoints_req"},
		180004: {"object = 'wal'|pg_stat_checkpointer", "wal_write_time"}, 190000: {"object = 'wal'", "wal_write_time"},
	} {
		v := versionOf(number)
		all := v.activity().SQL + v.counters(true).SQL + v.databases().SQL + v.tell().SQL + v.running(false).SQL
		for word := range strings.SplitSeq(c.has, "|") {
			testkit.Has(t, all, word, number)
		}
		for word := range strings.SplitSeq(c.lacks, "|") {
			if strings.Contains(all, word) {
				t.Errorf("%d has %s", number, word)
			}
		}
	}
}

// TestRunning: 13 has no numbers of statements, and texts are asked for where they are wanted, or where there is no
// number.
func TestRunning(t *testing.T) {
	for number, want := range map[int]string{130000: "backend_type, null, case when null is null then left(query",
		140000: "query_id, case when query_id is null then left(query", 180000: "query_id, case"} {
		if v := versionOf(number); !strings.Contains(v.running(false).SQL, want) {
			t.Errorf("%d: %s", number, v.running(false).SQL)
		}
	}
	v := versionOf(180000)
	if q := v.running(true); !strings.Contains(q.SQL, "query_id, left(query") || q.Name == v.running(false).Name {
		t.Errorf("%+v", q)
	}
}
