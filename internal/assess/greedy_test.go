package assess

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// A session that always computes stands out among those that wait now and then, and not among its like.
func TestGreedy(t *testing.T) {
	use := func(id int64, run, queue float64) explain.Use {
		return explain.Use{ID: id, Run: run, Queue: queue, Watched: 20}
	}
	turns := func(u explain.Use, each float64) explain.Use { u.Turn = each; return u }
	for _, c := range []struct {
		name string
		uses []explain.Use
		want int // sessions
	}{
		{"one of four", []explain.Use{use(1, 12, 8), use(2, 6, 4), use(3, 6, 4), use(4, 5, 4)}, 1},
		{"all alike", []explain.Use{use(1, 12, 8), use(2, 11, 8.5), use(3, 11, 7)}, 0},
		{"alone", []explain.Use{use(1, 12, 8), use(2, 0.1, 0)}, 0},
		{"most of them", []explain.Use{use(1, 12, 8), use(2, 12, 8), use(3, 6, 4)}, 0},
		{"it has just begun", []explain.Use{{ID: 1, Run: 5, Queue: 4, Watched: 9}, use(2, 6, 4)}, 0},
		{"others want one, too, and sleep often", []explain.Use{turns(use(1, 12, 8), 12), turns(use(2, 6, 13), 1e-4), turns(use(3, 6, 13), 0.1)}, 1},
		{"all compute for long", []explain.Use{turns(use(1, 12, 8), 12), turns(use(2, 6, 13), 2), turns(use(3, 6, 12), 1)}, 0},
		{"none", nil, 0},
	} {
		g := greedyOf(c.uses, 20)
		testkit.Is(t, c.want > 0, g != nil, c.name)
		if g != nil && (g.Threads != c.want || g.TID != 1 || g.Others != len(c.uses)-1) {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.RunQueue: 40})
	m.Connected, m.Report.Vendor = true, "PostgreSQL"
	m.Greedy = &Greedy{TID: 47, Title: "etl shop [local] COPY", Threads: 1, Others: 4, Seconds: 30}
	want := "session 47 (etl shop [local] COPY) always computed, and took 50 % of the server's CPU time, while 4 others wait for a CPU for 40 % of active time"
	list := m.greedy()
	if len(list) != 1 || list[0].Text != want || !strings.Contains(list[0].Step, "where pid = 47), and run it") {
		t.Errorf("%+v", list)
	}
	m.Greedy.Watched, m.Alone = 40, true
	if most := m.withoutGreedy(); most < 30./60 || most > 36./60 {
		t.Errorf("of 60 s others waited for 30 s, and ran for 30 s: at most %g", most)
	}
	m.Greedy.Title = "etl shop 192.0.2.7(51234) COPY" // whose client no file for others names
	m.Confide()
	testkit.Is(t, "etl shop COPY", m.Greedy.Title)
	m.Report.Vendor, m.Greedy.Threads = "", 2
	if list := m.greedy(); len(list) != 1 || !strings.HasPrefix(list[0].Text, "2 sessions, most of all 47 (") || strings.Contains(list[0].Step, "select") {
		t.Errorf("%+v", list)
	}
	m.Greedy.Watched = 70
	testkit.Is(t, 0, len(m.greedy()), "the wait for a CPU is its own")
	m.Greedy.Watched, m.Greedy.Seconds, m.Connected = 0, 55, false
	testkit.Is(t, 0, len(m.greedy()), "the service's own work")
	m.Connected = true
	if m.Greedy.Seconds = 5; m.greedy() != nil {
		t.Error("it computed little")
	}
	half := &Minute{Greedy: &Greedy{TID: 47, Seconds: 1}}
	if g := greedyIn([]*Minute{half, half}); g == nil || g.Seconds != 2 {
		t.Errorf("two stretches: %+v", g)
	}
	testkit.Is(t, true, greedyIn([]*Minute{half, {}}) == nil, "one of two stretches")
}
