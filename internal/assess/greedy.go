package assess

import (
	"fmt"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Greedy are sessions of a database that always had work for a CPU, beside others that had not.
type Greedy struct {
	TID     int     `json:"tid"`     // of the one that ran most
	Title   string  `json:"title"`   // of its process, or the name of its thread
	Threads int     `json:"threads"` // as it
	Others  int     `json:"others"`  // that had work, and not always
	Seconds float64 `json:"seconds"` // that the first were on a CPU
}

// Sessions that have work do so for working of the time at least. Those that wait for their clients, for locks or for
// the log have it for no more than pausing: between that and full a session is neither.
const (
	working = 0.1
	pausing = 0.85
)

// greedyOf tells them apart; nil: there are none, or all are alike.
func greedyOf(uses []explain.Use, wall float64) *Greedy {
	var g Greedy
	most, highest := 0.0, 0.0
	for _, u := range uses {
		if u.Watched < wall/2 || u.Watched <= 0 {
			continue
		}
		switch wants := (u.Run + u.Queue) / u.Watched; {
		case wants >= full:
			g.Threads, g.Seconds = g.Threads+1, g.Seconds+u.Run
			if u.Run > most {
				most, g.TID = u.Run, int(u.ID)
			}
		case wants >= working:
			g.Others, highest = g.Others+1, max(highest, wants)
		}
	}
	if g.Threads == 0 || g.Others < g.Threads || highest > pausing {
		return nil
	}
	g.Title = titleOf(g.TID)
	return &g
}

// greedyIn is the session that was one of them in next to all of several stretches; nil: none was.
func greedyIn(list []*Minute) *Greedy {
	by, times := map[int]*Greedy{}, map[int]int{}
	for _, m := range list {
		g := m.Greedy
		if g == nil {
			continue
		}
		if times[g.TID]++; by[g.TID] == nil {
			by[g.TID] = new(*g)
		} else {
			by[g.TID].Seconds += g.Seconds
		}
	}
	for tid, g := range by {
		if float64(times[tid]) >= full*float64(len(list)) {
			return g
		}
	}
	return nil
}

// titleOf is how a process calls itself, as PostgreSQL's do after their session, or the name of a thread.
func titleOf(tid int) string {
	if words, _ := proc.Words(tid, "cmdline"); len(words) > 0 {
		if title, ours := strings.CutPrefix(words[0], "postgres: "); ours {
			return strings.TrimSpace(title)
		}
	}
	thread, _ := proc.Read(tid) // one that has ended has no name
	return thread.Name
}

// greedily is the share of the CPU time from which such sessions are named.
const greedily = 0.2

// greedy says so where others wait for a CPU.
func (m *Minute) greedy() []explain.Finding {
	g, cpu, queue := m.Greedy, m.share(explain.DatabaseCPU), m.share(explain.RunQueue)
	ran := m.Report.Part(explain.DatabaseCPU).Seconds
	if g == nil || !m.Connected || ran <= 0 || g.Seconds < greedily*ran || queue.Value < lever.Margin {
		return nil
	}
	of := lever.Unit(g.Seconds / ran)
	likely := lever.Unit(of * (cpu.Value + queue.Value)) // what computes keeps others waiting
	// without it nobody waits for a CPU, its own time is none, and the rest runs with warm caches
	most := lever.Unit(queue.High + float64(g.Threads)*m.Report.Wall/max(m.Report.Busy, 1e-9) + cooled*cpu.High)
	named := fmt.Sprintf("%d (%s)", g.TID, screen.Cut(screen.Clean(g.Title), 80))
	who := "session " + named
	if g.Threads > 1 {
		who = fmt.Sprintf("%d sessions, most of all %s,", g.Threads, named)
	}
	return []explain.Finding{{Parameter: "sessions that compute", Part: explain.DatabaseCPU, Number: of,
		Unit: "of its CPU time", N: int64(g.Threads), Explains: &likely, AtMost: result.Finite(most),
		Text: fmt.Sprintf("%s always computed, and took %s of the server's CPU time, while %s for a CPU for %s of active time",
			who, result.Share(of), screen.Plural(g.Others, "other waits", "others wait"), result.Share(queue.Value)),
		Step: m.giveWay(g)}}
}

// giveWay is what to do about such a session.
func (m *Minute) giveWay(g *Greedy) string {
	step := fmt.Sprintf("run it when less is to do; until then it gives way by: sudo renice -n 19 -p %d", g.TID)
	ask := map[string]string{"PostgreSQL": "select query from pg_stat_activity where pid = %d",
		"MariaDB": "select info from information_schema.processlist where tid = %d",
		"MySQL":   "select processlist_info from performance_schema.threads where thread_os_id = %d"}[m.Report.Vendor]
	if ask == "" || len(m.Service.Containers) > 0 { // which numbers its processes otherwise
		return step
	}
	return "see what it runs (" + fmt.Sprintf(ask, g.TID) + "), and " + step
}
