package assess

import (
	"fmt"
	"os"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/waits"
)

// Full is a thread that had work for a CPU all the time: no more than one CPU serves it.
type Full struct {
	TID   int     `json:"tid"`
	Name  string  `json:"name"`  // "": it has ended
	Share float64 `json:"share"` // of the time, on a CPU or ready for one
}

// full is the share of the time from which a thread is always at work.
const full = 0.95

// busy are the threads that were always at work, and all is how many were watched for most of the time.
func (b *blocked) busy() (list []Full, all int) {
	if b.tally == nil {
		return nil, 0
	}
	for id, looks := range b.tally.Looks {
		watched := 0.0
		for _, s := range looks {
			watched += s
		}
		if watched < b.tally.Wall.Seconds()/2 {
			continue
		}
		all++
		if share := looks[waits.Wait{Kind: waits.Running}] / watched; share >= full {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", id.PID, id.TID))
			list = append(list, Full{id.TID, strings.TrimSpace(string(name)), share})
		}
	}
	return list, all
}

// alone is the thread that has all the work of a service while CPUs are idle: no lever of the platform but a faster clock shortens it.
func (m *Minute) alone() (list []explain.Finding) {
	if len(m.Full) != 1 || m.Connected || m.Host.Busy == nil || m.Host.CPUs < 2 || m.Host.Allowed == 1 || *m.Host.Busy >= 1-0.5/float64(m.Host.CPUs) ||
		m.Throttled != nil && *m.Throttled > 0 || m.share(explain.RunQueue).Value >= lever.Margin {
		return nil
	}
	t := m.Full[0]
	who := fmt.Sprintf("thread %d", t.TID)
	if t.Name != "" {
		who = fmt.Sprintf("%s (thread %d)", screen.Clean(t.Name), t.TID)
	}
	return []explain.Finding{{Parameter: "threads at work", Part: explain.DatabaseCPU, Number: t.Share, Unit: "of the time", N: int64(m.Threads), Plain: true,
		Text: fmt.Sprintf("of %s, %s alone computes all the time, which fills one CPU; the %s are %s busy", screen.Count(m.Threads, "thread"), who,
			screen.Count(m.Host.CPUs, "CPU"), result.Share(*m.Host.Busy)),
		Step: "let more threads or processes share its work, if it can"}}
}
