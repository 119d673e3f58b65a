package assess

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Greedy are sessions of a database, or threads of another service, that always had work for a CPU, beside others that
// slept now and then.
type Greedy struct {
	TID     int     `json:"tid"`     // of the one that ran most
	Title   string  `json:"title"`   // of its process, or the name of its thread
	Threads int     `json:"threads"` // as it
	Others  int     `json:"others"`  // that had work, and not always
	Seconds float64 `json:"seconds"` // that the first were on a CPU
	Watched float64 `json:"watched"` // and that they were watched, s
}

// Sessions that have work do so for working of the time at least. Those that wait for their clients, for locks or for
// the log have it for no more than pausing, or sleep far more often for each second on a CPU, as where a crowd leaves
// them no pause: between that and full a session is neither.
const (
	working = 0.1
	pausing = 0.85
	shorter = 0.1 // of the turns between two sleeps
)

// greedyOf tells them apart; nil: there are none, or all are alike.
func greedyOf(uses []explain.Use, wall float64) *Greedy {
	uses = slices.DeleteFunc(uses, func(u explain.Use) bool { return u.Watched < wall/2 || u.Watched <= 0 })
	wants := func(u explain.Use) float64 { return (u.Run + u.Queue) / u.Watched }
	longest := 0.0
	for _, u := range uses {
		if wants(u) >= full {
			longest = max(longest, u.Turn)
		}
	}
	var g Greedy
	most := 0.0
	for _, u := range uses {
		pauses := u.Turn < shorter*longest
		switch {
		case wants(u) < working:
		case wants(u) >= full && !pauses:
			g.Threads, g.Seconds, g.Watched = g.Threads+1, g.Seconds+u.Run, g.Watched+u.Watched
			if u.Run > most {
				most, g.TID = u.Run, int(u.ID)
			}
		case wants(u) > pausing && !pauses:
			return nil
		default:
			g.Others++
		}
	}
	if g.Threads == 0 || g.Others < g.Threads {
		return nil
	}
	g.Title = titleOf(g.TID)
	return &g
}

// greedyIn is the session that was one of them in next to all of several stretches; nil: none was.
func greedyIn(list []*Minute) *Greedy {
	most := mostOf(list, func(m *Minute) *Greedy { return m.Greedy })
	times := 0.0
	for _, m := range list {
		if m.Greedy != nil && m.Greedy.same(most) {
			times++
		}
	}
	if times < full*float64(len(list)) {
		return nil
	}
	return most
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
	if g == nil || ran <= 0 || g.Seconds < greedily*ran || queue.Value < lever.Margin {
		return nil
	}
	waited := lever.Unit(queue.Value - max(0, g.Watched-g.Seconds)/m.Report.Busy) // that of the others
	if waited < lever.Margin || !m.Connected && g.Seconds >= mainly*ran {         // the latter has the service's own work
		return nil
	}
	of := lever.Unit(g.Seconds / ran)
	most := m.withoutGreedy()
	likely := min(most, of*(cpu.Value+queue.Value)) // what computes keeps others waiting
	named := fmt.Sprintf("%d (%s)", g.TID, screen.Cut(screen.Clean(g.Title), 80))
	kind, its := "session", "the server's"
	if !m.Connected {
		kind, its = "thread", "its"
	}
	who := kind + " " + named
	if g.Threads > 1 {
		who = fmt.Sprintf("%d %ss, most of all %s,", g.Threads, kind, named)
	}
	return []explain.Finding{{Parameter: kind + "s that compute", Part: explain.DatabaseCPU, Number: of,
		Unit: "of its CPU time", N: int64(g.Threads), Explains: &likely, AtMost: &most,
		Unseen: "it does not show what clients on this host then take of the CPUs",
		Text: fmt.Sprintf("%s always computed, and took %s of %s CPU time, while %s for a CPU for %s of active time",
			who, result.Share(of), its, screen.Plural(g.Others, "other waits", "others wait"), result.Share(waited)),
		Step: m.giveWay(g)}}
}

// withoutGreedy is the most that the others gain of their active time without them: they wait for no CPU, behind each
// other neither, as one may wait for another that has the only CPU left. Their caches stay warm, and with their clients
// they get all CPUs that other programs leave (utilisation law, as in queueing.most).
func (m *Minute) withoutGreedy() float64 {
	g, r, q := m.Greedy, &m.Report, m.queue()
	active := r.Busy - g.Watched // of the others
	if active <= 0 {
		return 1
	}
	queue := m.share(explain.RunQueue).High * r.Busy
	waited := queue - (g.Watched - g.Seconds) // they wait themselves, too
	ran := r.Part(explain.DatabaseCPU).Seconds - g.Seconds
	used := q.used - g.Seconds/max(r.Wall, 1e-9) + q.clients
	return lever.Unit(min((waited+q.cooled*ran)/active, 1-used*(1-q.cooled)/max(q.cpus-q.others, used, 1e-9)))
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
