package assess

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/waits"
)

// Child is a program that threads of the service have started and wait for.
type Child struct {
	Name    string     `json:"name"`
	Does    waits.Kind `json:"does"`    // meanwhile, mostly
	Seconds float64    `json:"seconds"` // that they waited, for all that they have started
}

// its are what such a program may do, in a sentence. What it does on a CPU or for a device is the service's time by
// itself.
var its = map[waits.Kind]string{waits.Sleep: "sleeps", waits.Lock: "waits for a lock", waits.Stopped: "is stopped",
	waits.Peer: "waits for another program", waits.Poll: "waits for another program",
	waits.Push: "waits for another program", waits.Child: "waits for programs of its own"}

// children are for how long threads that work now and then waited for processes that they had started, s.
func (b *blocked) children() map[waits.Wait]float64 {
	out := map[waits.Wait]float64{}
	for id, looks := range b.tally.Looks {
		if ran, watched := b.tally.Of(id); ran < awake*watched {
			continue
		}
		for w, s := range looks {
			if w.Kind == waits.Child && its[w.Does] != "" {
				out[w] += s
			}
		}
	}
	return out
}

// child is the one that they waited for longest; nil: they did not.
func (b *blocked) child() *Child {
	if b.tally == nil {
		return nil
	}
	var longest waits.Wait
	var seconds []float64
	all := b.children()
	for w, s := range all {
		if seconds = append(seconds, s); s > all[longest] {
			longest = w
		}
	}
	if len(seconds) == 0 {
		return nil
	}
	return &Child{longest.On, longest.Does, floats.Sum(seconds)}
}

// childOf is that of several stretches: the one for which they waited longest, with the waits for all.
func childOf(list []*Minute) *Child {
	most := mostOf(list, func(m *Minute) *Child { return m.Child })
	if most == nil {
		return nil
	}
	most.Seconds = 0
	for _, m := range list {
		if m.Child != nil {
			most.Seconds += m.Child.Seconds
		}
	}
	return most
}

// parents says that it waits for what it has started.
func (m *Minute) parents() []explain.Finding {
	c := m.Child
	if c == nil || m.Report.Busy <= 0 {
		return nil
	}
	share, step := lever.Unit(c.Seconds/m.Report.Busy), "look for what that waits for"
	if c.Does == waits.Sleep {
		step = "look for why that sleeps: no platform shortens it"
	}
	most := lever.Unit(m.share(explain.OtherWaits).High + m.share(explain.RunQueue).High)
	return []explain.Finding{{Parameter: "programs that it starts", Part: explain.OtherWaits, Number: c.Seconds, Unit: "s",
		N: -1, Explains: &share, AtMost: result.Finite(most),
		Text: fmt.Sprintf("%s waits %s of its active time for programs that it starts, most of all for %s, which %s",
			m.subject(), result.Share(share), screen.Clean(c.Name), its[c.Does]),
		Whole: true, Step: step}}
}
