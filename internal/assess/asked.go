package assess

import (
	"cmp"
	"fmt"
	"net"
	"slices"

	"hostlab/internal/explain"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/waits"
)

// Asked is a server for whose answers threads of the service waited.
type Asked struct {
	Address string  `json:"address"` // a host and port, or a socket file
	PID     int     `json:"pid"`     // of the process of this host that listens there; 0: none is seen
	Name    string  `json:"name"`    // of its program
	Seconds float64 `json:"seconds"`
	// Container is the one that it is in; nil: it is in none, or on another host.
	Container *pods.Container `json:"container,omitempty"`
}

// awake is the share of its time for which a thread is on a CPU that works on the answers it waits for. One that gets a
// message now and then, as from a broker, is idle meanwhile.
const awake = 0.001

// servers are for how long threads waited for each server's answer, s.
func (b *blocked) servers() map[string]float64 {
	out := map[string]float64{}
	for id, looks := range b.tally.Looks {
		if ran, watched := b.tally.Of(id); ran < awake*watched {
			continue
		}
		for w, s := range looks {
			if w.Kind == waits.Server {
				out[w.On] += s
			}
		}
	}
	return out
}

// mostAsked is how many servers a minute keeps.
const mostAsked = 3

// asker is a process that asked a server.
func (b *blocked) asker(address string) int {
	for id, looks := range b.tally.Looks {
		if looks[waits.Wait{Kind: waits.Server, On: address}] > 0 {
			return id.PID
		}
	}
	return 0
}

// asked are the servers that took most.
func (b *blocked) asked() (list []Asked) {
	if b.tally == nil {
		return nil
	}
	for address, s := range b.servers() {
		list = append(list, Asked{Address: address, Seconds: s})
	}
	slices.SortFunc(list, func(x, y Asked) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.Address, y.Address))
	})
	list = list[:min(mostAsked, len(list))]
	for i := range list {
		if pid := proc.Listener(b.asker(list[i].Address), list[i].Address); pid != 0 {
			if s, err := proc.Read(pid); err == nil {
				list[i].PID, list[i].Name, list[i].Container = pid, s.Name, pods.Around(pid)
			}
		}
	}
	return list
}

// Confide takes out what a file for others must not hold: texts of statements, and addresses of other hosts.
func (m *Minute) Confide() {
	m.Report.Confide()
	for i := range m.Asked {
		if host, port, err := net.SplitHostPort(m.Asked[i].Address); err == nil && !net.ParseIP(host).IsLoopback() {
			m.Asked[i].Address = "port " + port + " of another host"
			if m.Asked[i].PID != 0 {
				m.Asked[i].Address = "port " + port + " of this host"
			}
		}
	}
}

// asksHere reports that a server that it asks may be on this host, where it takes CPUs and waits for devices.
func (m *Minute) asksHere() bool {
	return slices.ContainsFunc(m.Asked, func(a Asked) bool { return a.PID != 0 })
}

// asking are the servers whose answers take time, as findings: their own hostlab tells why.
func (m *Minute) asking() (list []explain.Finding) {
	part := m.Report.Part(explain.Peers)
	if m.Report.Busy <= 0 || part.Seconds <= 0 {
		return nil
	}
	for _, a := range m.Asked {
		f := explain.Finding{Parameter: a.Address, Part: explain.Peers, Number: a.Seconds, Unit: "s", N: -1,
			Explains: result.Finite(min(1, a.Seconds/m.Report.Busy)),
			AtMost:   result.Finite(min(1, part.Share.High*m.Report.Elapsed/m.Report.Busy))}
		who, next := a.Address, "run hostlab assess on that host"
		if a.PID != 0 {
			who = fmt.Sprintf("%s at %s", called(Taker{Taker: proc.Taker{Name: a.Name, PID: a.PID, Processes: 1},
				Container: a.Container}), a.Address)
			next = fmt.Sprintf("run 'hostlab assess --service pid:%d'", a.PID)
		}
		f.Text = fmt.Sprintf("%s waits %s of its active time for answers from %s", m.subject(), result.Share(*f.Explains),
			screen.Clean(who))
		f.Step = next
		list = append(list, f)
	}
	return list
}
