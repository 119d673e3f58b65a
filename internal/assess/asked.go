package assess

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/waits"
)

// Asked is a server for whose answers threads of the service waited.
type Asked struct {
	Address string  `json:"address"` // a host and port, as 10.0.0.2:53/udp where it is asked over UDP, or a socket file
	PID     int     `json:"pid"`     // of the process of this host that listens there; 0: none is seen
	Name    string  `json:"name"`    // of its program
	Seconds float64 `json:"seconds"`
	// Requests are how many have no answer yet, in the mean: of an event loop no thread waits for one alone.
	Requests float64 `json:"requests"`
	Opened   float64 `json:"opened,omitempty"` // connections that the service opens to it, a second
	// Kept are connections over a Unix socket, in the mean, of which it does not show whether one asks.
	Kept float64 `json:"kept,omitempty"`
	// Connections are those that sessions of a database have open to it.
	Connections int  `json:"connections,omitempty"`
	Own         bool `json:"own,omitempty"` // it is a process of the service itself
	// Container is the one that it is in; nil: it is in none, or on another host.
	Container *pods.Container `json:"container,omitempty"`
	// Line is that of the asking process's resolvConf which names it; 0: none does.
	Line int `json:"line,omitempty"`
}

// resolvConf names the servers of names that a process asks (resolv.conf(5)).
const resolvConf = "/etc/resolv.conf"

// nameServer is its line that names a server; 0: none does. The process may be in a container.
func nameServer(asker int, server string) int {
	text, _ := host.Tree{}.Read(fmt.Sprintf("/proc/%d/root%s", asker, resolvConf))
	at, line := net.ParseIP(server), 0
	for text := range strings.Lines(string(text)) {
		line++
		if words := strings.Fields(text); len(words) > 1 && words[0] == "nameserver" && at.Equal(net.ParseIP(words[1])) {
			return line
		}
	}
	return 0
}

// services are servers of others whose ports everybody knows (IANA's registry of service names; StatsD's own).
var services = map[string]string{"53": "DNS", "88": "Kerberos", "123": "NTP", "389": "LDAP", "514": "syslog", "636": "LDAP",
	"1812": "RADIUS", "8125": "StatsD"}

// at is where it is, for a sentence.
func (a *Asked) at() string {
	if a.Address == proc.Unnamed {
		return "a server over UDP, whose address does not show as the sockets are not connected"
	}
	plain, udp := strings.CutSuffix(a.Address, proc.OverUDP)
	where := plain
	if udp {
		where += " over UDP"
	}
	if _, port, err := net.SplitHostPort(plain); err == nil && services[port] != "" {
		where += fmt.Sprintf(" (port %s: %s)", port, services[port])
	}
	return where
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

// asker is a process that asked a server: one with a thread that waited for it, or where an event loop did, any of the
// service's.
func (b *blocked) asker(address string) (pid int) {
	for id, looks := range b.tally.Looks {
		if pid = id.PID; looks[waits.Wait{Kind: waits.Server, On: address}] > 0 {
			return id.PID
		}
	}
	return pid
}

// asked are the servers that took most.
func (b *blocked) asked(members []int) (list []Asked) {
	if b.tally == nil {
		return nil
	}
	all := map[string]*Asked{}
	of := func(address string) *Asked {
		if all[address] == nil {
			all[address] = &Asked{Address: address}
		}
		return all[address]
	}
	for address, s := range b.servers() {
		of(address).Seconds = s
	}
	for address, open := range b.unread.asked {
		if n := open.Count(); n > 0 {
			of(address).Requests = float64(n) / float64(b.unread.sum.Looks)
		}
	}
	for address, n := range b.unread.kept {
		of(address).Kept = float64(n) / float64(b.unread.sum.Looks)
	}
	opened := b.unread.of.OpenedTo()
	for _, a := range all {
		a.Opened = opened[a.Address]
		list = append(list, *a)
	}
	slices.SortFunc(list, func(x, y Asked) int {
		most := func(a Asked) float64 { return max(a.Seconds, a.Requests*b.tally.Wall.Seconds()) }
		return cmp.Or(cmp.Compare(most(y), most(x)), cmp.Compare(y.Kept, x.Kept), cmp.Compare(x.Address, y.Address))
	})
	list = list[:min(mostAsked, len(list))]
	for i := range list {
		asker := b.asker(list[i].Address)
		if server, port, err := net.SplitHostPort(strings.TrimSuffix(list[i].Address, proc.OverUDP)); err == nil && port == "53" {
			list[i].Line = nameServer(asker, server)
		}
		if list[i].Address != proc.Unnamed {
			list[i].is(proc.Listener(asker, list[i].Address), members)
		}
	}
	return list
}

// extended is the class of waits of extensions, as postgres_fdw and dblink have them for another server.
const extended = "Extension:"

// inExtensions is for how long sessions of a PostgreSQL waited so, s.
func (m *Minute) inExtensions() (seconds float64) {
	for _, e := range m.Report.Events {
		if strings.HasPrefix(e.Name, extended) && e.Part == explain.OtherWaits {
			seconds += e.Seconds
		}
	}
	return seconds
}

// serversOf are the servers to which its sessions have connections, where they wait in extensions.
func (m *Minute) serversOf(members []int) (list []Asked) {
	if !m.Connected || m.inExtensions() < lever.Margin*m.Report.Busy || len(members) == 0 {
		return nil
	}
	for address, n := range proc.Connected(members) {
		a := Asked{Address: address, Connections: n}
		a.is(proc.Listener(members[0], address), members)
		list = append(list, a)
	}
	slices.SortFunc(list, func(x, y Asked) int {
		return cmp.Or(cmp.Compare(y.Connections, x.Connections), cmp.Compare(x.Address, y.Address))
	})
	return list[:min(mostAsked, len(list))]
}

// extensions says so.
func (m *Minute) extensions() []explain.Finding {
	seconds := m.inExtensions()
	if !m.Connected || m.Report.Busy <= 0 || seconds <= 0 {
		return nil
	}
	share := lever.Unit(seconds / m.Report.Busy)
	f := explain.Finding{Parameter: "extensions", Part: explain.OtherWaits, Number: seconds, Unit: "s", N: -1,
		Explains: &share, AtMost: result.Finite(lever.Unit(m.share(explain.OtherWaits).High + m.share(explain.RunQueue).High)),
		Whole: true, Text: fmt.Sprintf("sessions wait %s of active time in extensions, such as postgres_fdw",
			result.Share(share)),
		Step: "see which extension their statements use, and what that asks (hostlab assess --texts --all)"}
	if len(m.Asked) > 0 {
		a := m.Asked[0]
		f.Parameter, f.Step = a.Address, "run hostlab assess on its host"
		if a.PID != 0 {
			f.Step = toAssess(a.PID)
		}
		f.Text += ", connected to " + screen.Clean(a.who())
	}
	return []explain.Finding{f}
}

// who is its process, and where it is.
func (a *Asked) who() string {
	if a.PID == 0 {
		return a.at()
	}
	return a.process() + " at " + a.at()
}

func (a *Asked) process() string {
	return called(Taker{Taker: proc.Taker{Name: a.Name, PID: a.PID, Processes: 1}, Container: a.Container})
}

// toAssess is what to do to see what a process does.
func toAssess(pid int) string { return fmt.Sprintf("run 'hostlab assess --service pid:%d'", pid) }

// is names the process that answers; 0: none is seen.
func (a *Asked) is(pid int, members []int) {
	if s, err := proc.Read(pid); pid > 0 && err == nil {
		a.PID, a.Name, a.Container, a.Own = pid, s.Name, pods.Around(pid), slices.Contains(members, pid)
	}
}

// whoAnswers names who ended most waits for others, where the address does not show who was asked.
func (m *Minute) whoAnswers(s *service.Service) {
	i := slices.IndexFunc(m.Asked, func(a Asked) bool { return a.Address == proc.Unnamed })
	if i < 0 || !m.follows(explain.Application) {
		return
	}
	for _, e := range m.Ends.Ends(explain.Application) { // the longest first
		if m.owner(e.PID) == OfOthers || m.owner(e.PID) == OfClients {
			if m.Ends.Share(explain.Application, func(x chain.End) bool { return x.PID == e.PID }).Low >= half {
				m.Asked[i].is(e.PID, s.Members())
			}
			return
		}
	}
}

// Confide takes out what a file for others must not hold: texts of statements, and addresses of other hosts.
func (m *Minute) Confide() {
	m.Report.Confide()
	if g := m.Greedy; g != nil { // PostgreSQL's titles say where the client is, as 192.0.2.7(51234)
		client := func(word string) bool { return strings.Contains(word, "(") && strings.HasSuffix(word, ")") }
		g.Title = strings.Join(slices.DeleteFunc(strings.Fields(g.Title), client), " ")
	}
	if m.Reader != nil && m.Reader.Address != "" {
		m.Reader.Address = "another host"
	}
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

// asks reports that a program is a server that the service asks, which answers no sooner with fewer CPUs.
func (m *Minute) asks(t Taker) bool {
	return slices.ContainsFunc(m.Asked, func(a Asked) bool {
		return a.PID != 0 && a.Name == t.Name && (slices.Contains(t.PIDs(), a.PID) || t.Processes > len(t.PIDs()))
	})
}

// asking are the servers whose answers take time, as findings: their own hostlab tells why.
func (m *Minute) asking() (list []explain.Finding) {
	sent := 1.0 // of the time of requests; before, clients of a pool wait for a slot
	for _, f := range m.pooled() {
		sent = min(sent, 1-*f.AtMost)
	}
	for _, a := range m.Asked {
		who, name, next := a.at(), a.Address, "run hostlab assess on that host"
		if a.Address == proc.Unnamed {
			name, next = "a server over UDP", "see in its configuration which server that is, such as one of "+resolvConf
		}
		if a.Line > 0 {
			next = fmt.Sprintf("see whether that server answers, or name another: line %d of %s names it", a.Line, resolvConf)
		}
		if a.PID != 0 {
			if who = a.who(); a.Address == proc.Unnamed {
				who = a.process() + ", which ended most such waits, over UDP"
			}
			next = toAssess(a.PID)
		}
		if a.Own {
			next = "look for what keeps it from answering there: it is a process of the service itself"
		}
		anew := ""
		if a.Opened >= often {
			anew = fmt.Sprintf(", to which it opens about %s connections a second", explain.Plain(a.Opened))
			next = "keep connections to it open (keep-alive, a pool) for many requests each, then " + next
		}
		f := m.answers(a, screen.Clean(who))
		if requests := m.requests(a, screen.Clean(who)); explains(requests) > explains(f) {
			f = requests
		}
		f.Parameter, f.Part, f.Text, f.Step = name, explain.Peers, f.Text+anew, next
		if f.Explains != nil {
			f.Explains = result.Finite(*f.Explains * sent)
		}
		list = append(list, f)
	}
	return list
}

// answers are the waits of threads for a server's.
func (m *Minute) answers(a Asked, who string) explain.Finding {
	part := m.Report.Part(explain.Peers)
	if m.Report.Busy <= 0 || part.Seconds <= 0 {
		return explain.Finding{}
	}
	f := explain.Finding{Number: a.Seconds, Unit: "s", N: -1, Whole: true, Explains: result.Finite(min(1, a.Seconds/m.Report.Busy)),
		// each wait's end may wait for a CPU
		AtMost: result.Finite(min(1, part.Share.High*m.Report.Elapsed/m.Report.Busy+m.share(explain.RunQueue).High))}
	f.Text = fmt.Sprintf("%s waits %s of its active time for answers from %s", m.subject(), result.Share(*f.Explains), who)
	return f
}

// requests are those without an answer yet, of all that the service is at: of its clients, or of its own, which wait or
// compute.
func (m *Minute) requests(a Asked, who string) explain.Finding {
	all, looks := a.Requests+m.atWork(), 1.0
	if r := m.Requests; r != nil {
		all, looks = max(all, r.AtWork), float64(max(1, r.Looks))
	}
	if a.Requests <= 0 {
		return explain.Finding{}
	}
	share := lever.Unit(a.Requests / all)
	return explain.Finding{Number: a.Requests, Unit: "requests", N: int64(looks), Explains: &share,
		AtMost: result.Finite(min(1, share+2*math.Sqrt(share*(1-share)/looks)+1/looks)), // binomial
		Unseen: fmt.Sprintf("the share rests on %s", screen.Count(int(looks), "look")),
		Text: fmt.Sprintf("of the requests in %s, %s at a time, %s wait for an answer from %s", m.name(),
			explain.Plain(all), result.Share(share), who)}
}
