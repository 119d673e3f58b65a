package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// fake is a server's memory.
type fake struct {
	titles map[int]string
	seen   map[int]waits.Seen
	ready  map[int]bool
	gone   bool // its memory is elsewhere
	groups map[*waits.Group][]int
	looks  int // at one process each
	asked  int
	known  []int
}

func (f *fake) Children() ([]int, error) {
	if f.titles == nil {
		return nil, errors.ErrUnsupported
	}
	return slices.Sorted(maps.Keys(f.titles)), nil
}
func (f *fake) Follow(pids []int)                        { f.known = pids }
func (f *fake) FindTransactions([]int, int) error        { return nil }
func (f *fake) Close()                                   {}
func (f *fake) Title(pid int) (title string, whole bool) { return f.titles[pid], false }
func (f *fake) Group(pids []int) *waits.Group {
	g := &waits.Group{}
	for _, pid := range pids {
		if _, has := f.seen[pid]; has {
			f.groups[g] = append(f.groups[g], pid)
		}
	}
	return g
}

func (f *fake) CPU() time.Duration { return 0 }

func (f *fake) Missed() waits.Missed { return waits.Missed{} }

func (f *fake) Looks(g *waits.Group, ask func(int) bool, _ time.Time, mean time.Duration,
	_ bool) ([]waits.Moment, error) {
	time.Sleep(mean)
	return []waits.Moment{{Seconds: mean.Seconds(), Seen: f.look(g, ask)}}, nil
}

func (f *fake) Look(g *waits.Group) []waits.Seen { return f.look(g, nil) }

func (f *fake) look(g *waits.Group, ask func(int) bool) (out []waits.Seen) {
	if f.gone {
		return nil
	}
	for _, pid := range f.groups[g] {
		f.looks++
		x := f.seen[pid]
		x.PID, x.Runs = pid, x.Word == 0 && x.In == waits.Call{}
		if ask != nil && x.Word != 0 && ask(pid) {
			f.asked++
			x.Runs = f.ready[pid]
		}
		out = append(out, x)
	}
	return out
}

const lockTuple = 3<<24 | 4

var walSync = 10<<24 | uint32(slices.Index(eventsOf(15)[10], "WALSync"))

// serving is a server with our own session and the processes of each; what they do is per process.
func serving(sessions ...waits.Seen) (*memory, *fake) {
	f := &fake{titles: map[int]string{1: "postgres: us db [local] idle", 2: "postgres: walwriter ",
		3: "postgres: checkpointer "},
		seen: map[int]waits.Seen{1: {Word: clientRead}, 2: {Word: walSync}, 3: {Word: 5 << 24}}, ready: map[int]bool{},
		groups: map[*waits.Group][]int{}}
	for i, x := range sessions {
		f.titles[100+i], f.seen[100+i] = "postgres: them db 10.0.0.9(55001) SELECT", x
	}
	return newMemory(f, eventsOf(15), 1), f
}

// watched are the seconds by what sessions did.
func watched(t *testing.T, m *memory, lasts time.Duration) (seconds map[string]float64, looks int) {
	t.Helper()
	shots := testkit.Must(m.watch(t.Context(), time.Now().Add(lasts), 20*time.Millisecond))(t)
	seconds = map[string]float64{}
	for _, s := range shots {
		for _, x := range s.Sessions {
			name := fmt.Sprintf("%s %s", x.Part, x.Event)
			if x.Background {
				name = "background " + name
			}
			seconds[name] += s.Seconds * float64(max(1, x.Times))
		}
	}
	return seconds, len(shots)
}

// What sessions do shows by their words, transactions and states, each for the time that it takes.
func TestMemoryTellsWhatSessionsDo(t *testing.T) {
	m, f := serving(waits.Seen{Word: clientRead}, waits.Seen{Word: clientRead, Xact: true},
		waits.Seen{Word: lockTuple, Xact: true},
		waits.Seen{Xact: true}, waits.Seen{Word: lockTuple, Xact: true}, waits.Seen{Word: 99<<24 | 7, Xact: true},
		waits.Seen{In: waits.Call{Number: -1}})
	f.ready[104] = true
	f.titles[108], f.seen[108] = "postgres: parallel worker for PID 103 ", waits.Seen{Word: walSync}
	f.titles[107], f.seen[107] = "postgres: walsender repl 10.0.0.8(40000) streaming", waits.Seen{Word: 6<<24 | 7}
	got, looks := watched(t, m, time.Second)
	if looks < 2 {
		t.Fatalf("%d looks", looks)
	}
	all := got["idle Client:ClientRead"]
	for name, times := range map[string]float64{"idle Client:ClientRead": 1, "application Client:ClientRead": 1,
		"lock Lock:tuple":     1,
		"cpu on CPU or ready": 2, "other no event:a page of memory": 1, "other class 99:event 7": 1, "background log IO:WALSync": 2,
		"background other Client:WalSenderWriteData": 1} {
		if d := got[name] - times*all; d > 1e-9 || d < -1e-9 || all <= 0 {
			t.Errorf("%s: %v s, want %v times %v", name, got[name], times, all)
		}
	}
	testkit.Is(t, 8, len(got), got)
	clients, others := m.processes()
	if len(clients) != 7 || len(others) != 5 {
		t.Errorf("clients %v, others %v", clients, others)
	}
}

// Of 2,000 sessions that have not run since the last count, nothing is asked but now and then, and none is left out.
func TestManyIdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := make([]waits.Seen, 2000)
		for i := range idle {
			idle[i] = waits.Seen{Word: clientRead}
		}
		m, f := serving(append(idle, waits.Seen{Word: lockTuple, Xact: true})...)
		testkit.OK(t, m.list(time.Now()))
		m.settle(func(int64) bool { return false })
		m.churned, f.looks, f.asked = time.Time{}, 0, 0
		shots, err := m.watch(t.Context(), time.Now(), 20*time.Millisecond)
		if err != nil || len(shots) != 0 {
			t.Fatalf("%v, %d looks", err, len(shots))
		}
		testkit.OK(t, m.list(time.Now()))
		f.looks = 0
		// within one time between lists
		_ = testkit.Must(m.watch(t.Context(), time.Now().Add(800*time.Millisecond), 20*time.Millisecond))(t)
		if f.looks > 40*4 || f.asked != 40 {
			t.Errorf("40 looks looked at %d processes, asked of %d", f.looks, f.asked)
		}
		for _, s := range m.shots {
			n := 0
			for _, x := range s.Sessions {
				if !x.Background {
					n += max(1, x.Times)
				}
			}
			if n != 2001 {
				t.Fatalf("%d sessions, want 2001", n)
			}
		}
		f.seen[100] = waits.Seen{Word: walSync, Xact: true} // it begins to work
		m.listed = time.Time{}
		if got, _ := watchedLook(t, m); got["log IO:WALSync"] == 0 {
			t.Errorf("who was idle and works shows as %v", got)
		}
	})
}

// watchedLook is what one more look sees.
func watchedLook(t *testing.T, m *memory) (map[string]float64, error) {
	t.Helper()
	shots, err := m.watch(t.Context(), time.Now().Add(time.Millisecond), 20*time.Millisecond)
	out := map[string]float64{}
	for _, s := range shots {
		for _, x := range s.Sessions {
			out[fmt.Sprintf("%s %s", x.Part, x.Event)] += s.Seconds
		}
	}
	return out, err
}

// Processes begin and end while they are watched, one by a number that another had; one that logs in has no word yet.
func TestProcessesComeAndGo(t *testing.T) {
	m, f := serving(waits.Seen{Word: lockTuple, Xact: true})
	if got, err := watchedLook(t, m); err != nil || got["lock Lock:tuple"] == 0 {
		t.Fatalf("%v, %v", got, err)
	}
	delete(f.titles, 100)
	delete(f.seen, 100)
	f.titles[200] = "postgres: them db [local] authentication"
	m.listed = time.Time{}
	got, err := watchedLook(t, m)
	if err != nil || got["lock Lock:tuple"] != 0 {
		t.Fatalf("one that has ended shows: %v, %v", got, err)
	}
	f.seen[200] = waits.Seen{Word: walSync, Xact: true} // much later
	m.churned, m.listed = time.Time{}, time.Time{}
	if got, err = watchedLook(t, m); err != nil || got["log IO:WALSync"] == 0 {
		t.Errorf("one that has logged in does not show: %v, %v", got, err)
	}
	f.gone, m.listed = true, time.Time{}
	if _, err = watchedLook(t, m); err == nil {
		t.Error("memory that has gone tells something")
	}
	f.gone, f.titles, m.listed = false, nil, time.Time{}
	if _, err = watchedLook(t, m); err == nil {
		t.Error("a kernel without children's list tells something")
	}
}

// A build whose numbers mean other waits, or whose transactions stand elsewhere, is found out by what the server itself
// says.
func TestMemoryAgrees(t *testing.T) {
	row := func(fields ...string) (r explain.Row) {
		for _, f := range fields {
			r = append(r, sql.NullString{String: f, Valid: true})
		}
		return r
	}
	for name, c := range map[string]struct {
		rows []explain.Row
		bad  bool
	}{
		"as it says": {[]explain.Row{row("3", "Activity", "ArchiverMain", ""), row("100", "Lock", "tuple", "active"),
			row("101", "Client", "ClientRead", "idle")}, false},
		"one has changed": {[]explain.Row{row("3", "Activity", "ArchiverMain", ""),
			row("100", "Lock", "relation", "active")}, false},
		"other numbers": {[]explain.Row{row("3", "Activity", "CheckpointerMain", ""),
			row("100", "Lock", "relation", "active")}, true},
		"other transaction": {[]explain.Row{row("101", "Client", "ClientRead", "idle in transaction")}, true},
		"nothing is told":   {nil, false},
	} {
		m, _ := serving(waits.Seen{Word: lockTuple, Xact: true}, waits.Seen{Word: clientRead})
		testkit.OK(t, m.list(time.Now()))
		testkit.Is(t, c.bad, (m.agree(func() ([]explain.Row, error) { return c.rows, nil }) != nil), name)
	}
}

// Titles tell sessions, also behind a server's name, cut off, or with names that look like something else.
func TestKinds(t *testing.T) {
	for title, want := range map[string]kind{
		"postgres: u d [local] idle": client, "postgres: main: u d 10.0.0.1(5000) SELECT": client,
		"postgres: u d ::1(41000) idle in transaction": client, "postgres: idle walsender [local] BIND": client,
		"postgres: walsender u [local] streaming 0/1": background, "postgres: main: walsender u h(4000) idle": background,
		"postgres: checkpointer ": background, "postgres: main: parallel worker for PID 77 ": worker,
		"postgres: autovacuum worker d": background, "postgres: pg_cron launcher (1)": background,
		"/usr/bin/postgres": unknown, "": unknown,
	} {
		k, leader := kindOf(title, false)
		if k != want || (k == worker) != (leader == 77) {
			t.Errorf("%q: kind %d of %d, want %d", title, k, leader, want)
		}
	}
	if k, _ := kindOf("postgres: a_long_name a_long", true); k != client {
		t.Error("a session whose title is cut off is none")
	}
}

// The numbers of waits have the names that Classify knows, in each version, in its own spelling.
func TestEventNames(t *testing.T) {
	for major := 13; major <= 18; major++ {
		e := eventsOf(major)
		found := map[string]bool{}
		for class, names := range e {
			for i := range names {
				kind, event := e.name(class<<24 | uint32(i))
				found[strings.ToLower(kind+":"+event)] = true
			}
		}
		for _, name := range []string{"io:walsync", "io:walwrite", "io:walinitwrite", "io:datafileread", "lwlock:walwrite",
			"lwlock:walinsert",
			"client:clientread", "client:clientwrite", "lock:transactionid", "lock:tuple", "bufferpin:bufferpin", "ipc:syncrep",
			map[bool]string{true: "lwlock:bufferio", false: "ipc:bufferio"}[major == 13],
			"timeout:pgsleep", "activity:walwritermain"} {
			if !found[name] {
				t.Errorf("PostgreSQL %d: no %s", major, name)
			}
		}
		if kind, event := e.name(clientRead); kind != "Client" || event != "ClientRead" {
			t.Errorf("PostgreSQL %d: %s:%s", major, kind, event)
		}
		if kind, event := e.name(10<<24 | 0xffff); kind != "IO" || event != "event 65535" {
			t.Errorf("PostgreSQL %d: %s:%s", major, kind, event)
		}
	}
	for _, major := range []int{12, 19, 0} {
		want := fmt.Sprintf("13 to 18, and not of %d", major)
		testkit.Refused(openMemory(1, 1, major))(t, want, "PostgreSQL", major)
	}
}
