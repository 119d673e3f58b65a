package explain

import (
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// TestChains: each session that waits is followed to who holds at the end.
func TestChains(t *testing.T) {
	runs := func(id int64) Holder { return Holder{PID: id, Part: DatabaseCPU, Event: OnCPU} }
	for name, c := range map[string]struct {
		waiters map[int64]Waiter
		holders map[int64]Holder
		want    []Block
	}{
		"one": {map[int64]Waiter{2: {"t", []int64{1}}}, map[int64]Holder{1: runs(1)}, []Block{{runs(1), "t", 1}}},
		"a chain": {map[int64]Waiter{2: {"t", []int64{1}}, 3: {"u", []int64{2}}}, map[int64]Holder{1: runs(1), 2: runs(2)},
			[]Block{{runs(1), "t", 1}, {runs(1), "u", 2}}},
		"who queues before it, too": {map[int64]Waiter{3: {"t", []int64{2, 1}}, 2: {"t", []int64{1}}},
			map[int64]Holder{1: runs(1)},
			[]Block{{runs(1), "t", 1}, {runs(1), "t", 1}}},
		"who queues before it, with a lower number": {map[int64]Waiter{3: {"t", []int64{2, 9}}, 2: {"t", []int64{9}}},
			map[int64]Holder{9: runs(9)},
			[]Block{{runs(9), "t", 1}, {runs(9), "t", 1}}},
		"each other": {map[int64]Waiter{1: {"t", []int64{2}}, 2: {"u", []int64{1}}}, nil,
			[]Block{{Holder{PID: 1, Part: Locks, Event: "each waits for the other"}, "t", 2},
				{Holder{PID: 2, Part: Locks, Event: "each waits for the other"}, "u", 2}}},
		"itself": {map[int64]Waiter{1: {"t", []int64{1}}}, nil,
			[]Block{{Holder{PID: 1, Part: Locks, Event: "each waits for the other"}, "t", 1}}},
		"who ended": {map[int64]Waiter{2: {"", []int64{1}}}, nil,
			[]Block{{Holder{PID: 1, Part: Unexplained, Event: "not seen"}, "", 1}}},
		"nobody": {map[int64]Waiter{2: {"t", nil}}, nil, nil},
	} {
		got := Chains(c.waiters, c.holders)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i := range got {
			testkit.Is(t, c.want[i], got[i], name)
		}
	}
}

// TestNames: each part that matters has its three most frequent statements, and holders show by what they did.
func TestNames(t *testing.T) {
	n := names{began: time.Now()}
	n.last = n.began.Add(19 * time.Second)
	for i := range 20 {
		look := Naming{Doing: []Doing{{Part: Locks, ID: "1", Kind: QueryID}, {Part: LogWait, ID: "9", Kind: QueryID}},
			Blocks: []Block{{Holder{PID: 7, Part: Application, Event: "idle in transaction", User: "u", Application: "a\x1b"},
				"t", 1}},
			Vacuum: []Doing{{Part: DatabaseCPU}, {Part: Idle}}}
		for id := range 4 {
			if i%(id+1) == 0 {
				look.Doing = append(look.Doing, Doing{Part: DatabaseCPU, ID: string(rune('a' + id)), Kind: Fingerprint})
			}
		}
		if i%4 == 0 {
			look.Blocks = append(look.Blocks, Block{Holder{PID: int64(i), Part: LogWait, Event: "IO:WALSync"}, "t", 2})
		}
		n.looks = append(n.looks, look)
	}
	r := Report{Busy: 100, Elapsed: 100, Parts: []Part{{Name: DatabaseCPU, Seconds: 60}, {Name: Locks, Seconds: 38},
		{Name: LogWait, Seconds: 2}}}
	n.fill(&r)
	var ids string
	for _, s := range r.Statements {
		ids += s.ID
		if s.Share.N != 20 || s.Share.Low > s.Share.Value || s.Share.High < s.Share.Value {
			t.Errorf("%+v", s)
		}
	}
	if ids != "abc1" {
		t.Errorf("statements %q of parts above 5 %%: %+v", ids, r.Statements)
	}
	if len(r.Blockers) != 2 || r.Blockers[0].Part != Application || r.Blockers[0].PID != 7 || r.Blockers[0].Held != 1 ||
		r.Blockers[1].Depth != 2 ||
		r.Blockers[1].Sessions != 5 {
		t.Errorf("%+v", r.Blockers)
	}
	near(t, "holder that paused", r.Blockers[0].Share.Value, 0.8)
	r.Vendor = "PostgreSQL"
	still, gone := r.Blockers[0], r.Blockers[1] // one of whose sessions held in the last look but three
	if _, step := r.Idler(still, 0.3); !strings.HasSuffix(step, "; to end this one now: select pg_terminate_backend(7)") {
		t.Error(step)
	}
	if _, step := r.Idler(gone, 0.3); strings.Contains(step, "terminate") {
		t.Errorf("a session that holds no more: %s", step)
	}
	if b, seconds := r.Paused(); b.PID != 7 || seconds < 30 || seconds > 31 {
		t.Errorf("paused: %+v, %v s", b, seconds)
	}
	near(t, "workers", r.Vacuum.Seconds, 40)
	near(t, "of those at work", r.Vacuum.Running, 20)
}

// TestFingerprint: statements that differ in values alone have one fingerprint, and others do not.
func TestFingerprint(t *testing.T) {
	for _, alike := range [][]string{
		{"select * from t where a = 1", "SELECT  *\nFROM t WHERE a = 23 ;", "select * from t -- all\n where a = $1",
			"select * from t /* x */ where a = 1.5e3 ", "select * from t where a = 0xff"},
		{"select 'a'", "select 'it''s'", `select 'a\'b'`, "select $$x$$", "select 'cut off"},
		{"insert into t1 values (1, 'a')", "insert into t1 values (2, 'b'), (3, 'c')", "insert into t1 values (2, 'b'), (3",
			"insert into t1 values (2, 'b'), ("},
		{"select a from t where b in (1)", "select a from t where b in (1, 2, 3)"},
	} {
		for _, s := range alike[1:] {
			a, b := normal(alike[0], false), normal(s, false)
			testkit.Is(t, b, a)
		}
	}
	for _, pair := range [][2]string{{"select a from t1", "select a from t2"}, {`select "a"`, `select "b"`},
		{"update t set a = 1", "update t set b = 1"}} {
		if FingerprintOf(pair[0], false) == FingerprintOf(pair[1], false) {
			t.Errorf("%q", pair)
		}
	}
	if FingerprintOf(`select "a"`, true) != FingerprintOf(`select 'b'`, true) {
		t.Error("double quotes hold strings in MariaDB")
	}
}

// TestConfide: a file for others has neither texts of statements nor addresses of clients.
func TestConfide(t *testing.T) {
	r := Report{Statements: []Statement{{ID: "1", Text: "select 'secret'"}},
		Blockers: []Blocker{{PID: 7, User: "app", Client: "10.0.0.7 port 80"}}}
	if r.Confide(); r.Statements[0].Text != "" || r.Blockers[0].Client != "" || r.Statements[0].ID != "1" ||
		r.Blockers[0].User != "app" {
		t.Errorf("%+v", r)
	}
}
