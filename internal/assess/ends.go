package assess

import (
	"cmp"
	"slices"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// Ended is what a share of a part ended with: what a thread of the service, of its clients or of another program did.
type Ended struct {
	With  chain.Kind      `json:"with"`
	Of    Owner           `json:"of"`
	Share result.Estimate `json:"share"` // of the part
}

// Owner is whose thread it was, or whose had the CPU.
type Owner string

// The owners.
const (
	OfService Owner = "service"
	OfClients Owner = "clients" // of this host
	OfOthers  Owner = "others"
	OfNobody  Owner = "nobody" // an idle CPU: its turn was about to come
)

// followed is how many windows have to show a part before its ends are known.
const followed = 3

// owner is whose a process is.
func (m *Minute) owner(pid int) Owner {
	switch {
	case pid == 0:
		return OfNobody
	case m.Ends.Own[pid]:
		return OfService
	case m.Ends.Clients[pid]:
		return OfClients
	}
	return OfOthers
}

// ends are what a part ended with, the largest share first; nil: too little was seen of it.
func (m *Minute) ends(part explain.PartName) (list []Ended) {
	if m.Ends == nil {
		return nil
	}
	seen := map[Ended]bool{}
	for _, e := range m.Ends.Ends(part) {
		of := Ended{With: e.Kind, Of: m.owner(e.PID)}
		if e.Kind == chain.Unseen || seen[of] {
			continue
		}
		seen[of] = true
		of.Share = m.Ends.Share(part, func(x chain.End) bool { return x.Kind == of.With && m.owner(x.PID) == of.Of })
		if of.Share.N < followed {
			return nil
		}
		list = append(list, of)
	}
	slices.SortStableFunc(list, func(a, b Ended) int { return cmp.Compare(b.Share.Value, a.Share.Value) })
	return list
}

// saving is what could be saved if no wait ended with a kind of end: those of a part do, and others behind it. Behind says more than
// the kind where a wait may go away though it ended otherwise, as a CPU's behind the log's.
func (m *Minute) saving(part explain.PartName, kind chain.Kind, behind func(chain.End) bool) explain.Saving {
	return m.Report.Saving(part, func(of explain.PartName) (likely, most result.Estimate, known bool) {
		if m.Ends != nil {
			likely = m.Ends.Share(of, func(e chain.End) bool { return e.Kind == kind })
			if likely.N >= followed {
				return likely, m.Ends.Share(of, func(e chain.End) bool { return e.Kind == kind || behind(e) }), true
			}
		}
		switch { // nobody followed it
		case of == part || of == explain.Locks:
			return likely, most, false
		case of == explain.OtherWaits, of == explain.Application && kind == chain.Ready && m.clientsHere():
			return result.Estimate{}, result.Estimate{High: 1}, true
		}
		return result.Estimate{}, result.Estimate{}, true
	})
}

// clientsHere reports that clients may be on this host, where they take CPUs and wait for one.
func (m *Minute) clientsHere() bool {
	t := m.Trips
	return m.Local || t == nil || t.Connections == 0 || t.Local > 0
}
