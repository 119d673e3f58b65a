package assess

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/thread"
)

// Requests are those of its clients, the means of all looks.
type Requests struct {
	Connections float64 `json:"connections"`    // with those that the service has not taken yet
	Unread      float64 `json:"unread"`         // of them, with something to read
	AtWork      float64 `json:"at_work"`        // of them, that wait for an answer, over TCP
	Held        float64 `json:"held,omitempty"` // of them, by Nagle's algorithm
	Lost        float64 `json:"lost,omitempty"` // of them, whose answer was lost on its way
	Looks       int     `json:"looks"`
	TLS         bool    `json:"tls,omitempty"` // it may speak that
	proc.Opened
}

// unread looks at connections now and then.
type unread struct {
	sum    Requests
	of     proc.Visitors
	atWork proc.Open
	asked  map[string]proc.Open // by server
	kept   map[string]int       // likewise
	next   time.Time
}

// A look at all connections comes once a second, and more seldom where it takes long: a 400th of one CPU.
const (
	unreadEach  = time.Second
	unreadPause = 400 // times as long as the look had a CPU
)

func (u *unread) look(members func() []int) {
	if time.Now().Before(u.next) {
		return
	}
	took := thread.Spent(func() { u.add(u.of.Look(members())) })
	u.next = time.Now().Add(max(unreadEach, unreadPause*took))
}

func (u *unread) add(r proc.Requests) {
	u.sum.Connections, u.sum.Unread = u.sum.Connections+float64(r.Connections), u.sum.Unread+float64(r.Unread)
	u.sum.Held, u.sum.Lost = u.sum.Held+float64(r.Held), u.sum.Lost+float64(r.Lost)
	u.atWork, u.sum.Looks = u.atWork.Add(r.AtWork), u.sum.Looks+1
	if u.asked == nil {
		u.asked, u.kept = map[string]proc.Open{}, map[string]int{}
	}
	for address, n := range r.Kept {
		u.kept[address] += n
	}
	for address, open := range r.Asked {
		u.asked[address] = u.asked[address].Add(open)
	}
}

// mean is what the looks showed; nil: no connection.
func (u *unread) mean() *Requests {
	n := float64(u.sum.Looks)
	opened := u.of.Opened()
	if u.sum.Connections == 0 && opened == (proc.Opened{}) {
		return nil
	}
	return &Requests{u.sum.Connections / n, u.sum.Unread / n, float64(u.atWork.Count()) / n, u.sum.Held / n, u.sum.Lost / n, u.sum.Looks, false, opened}
}

// crowded is the share of the CPUs' time in use from which the CPUs are why requests wait, and idles how many of the
// service's threads have work for each request that waits where CPUs cannot be why: its threads wait for nothing that
// the kernel has.
const (
	crowded = 0.9
	idles   = 0.25
)

// onlyOne is how near to one the number of threads with work is where that is one which always has some: requests wait
// until it comes to them, and its levers shorten that. A pool that seems to wait for locks is none such.
const onlyOne = 0.1

// untaken are requests that wait though CPUs are idle, or the service's threads are: too few threads take them, or
// something holds those.
func (m *Minute) untaken() []explain.Finding {
	r := m.Requests
	if r == nil || m.Connected || r.Unread < 1 || m.Host.Busy == nil || m.Throttled != nil && *m.Throttled > 0 ||
		len(m.Commands) > 0 { // Redis has one thread for them
		return nil
	}
	at := m.atWork()
	if (*m.Host.Busy >= crowded || m.Host.Bound()) && at >= idles*r.Unread ||
		math.Abs(at-1) < onlyOne && m.share(explain.Locks).Value < half {
		return nil
	}
	share := r.Unread / r.Connections
	return []explain.Finding{{Parameter: "threads that take requests", Part: explain.Application, Number: r.Unread,
		Unit: "connections", N: int64(r.Looks),
		Explains: &share, AtMost: result.Finite(1),
		Text: fmt.Sprintf("on %s of %s connections a request waits to be taken, while on average %s of its threads have work "+
			"and CPUs are %s busy", explain.Plain(r.Unread), explain.Plain(r.Connections), explain.Plain(at),
			result.Share(*m.Host.Busy)),
		Step: "raise the number of threads or workers of its pool, or find what holds them"}}
}

// What it takes a server to accept a connection and to close it, s of CPU time: of a Redis 9 us over Unix sockets and 17
// us over TCP, of an nginx 14 us (2 clients, 4 s each, on a 2-CPU guest). Threads and TLS take more.
const (
	opensUnix = 9e-6
	opensTCP  = 15e-6
)

// shakes is the CPU time of a connection, s, from which a handshake may be most of it: to sign with RSA of 2048 bits
// takes 0.5 ms.
const shakes = 3e-4

// encrypts reports that a process has loaded a library for TLS.
func encrypts(pid int) bool {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return bytes.Contains(maps, []byte("/libssl")) || bytes.Contains(maps, []byte("/libgnutls"))
}

// often is how many connections a second are many.
const often = 10

// anew are connections that clients open again and again, where one could carry many requests.
func (m *Minute) anew() []explain.Finding {
	r := m.Requests
	cpu, queue := m.share(explain.DatabaseCPU), m.share(explain.RunQueue)
	ran := m.Report.Part(explain.DatabaseCPU).Seconds
	if r == nil || m.Connected || ran <= 0 || r.OverTCP+r.OverUnix < often {
		return nil
	}
	of := lever.Unit((opensTCP*r.OverTCP + opensUnix*r.OverUnix) * m.Report.Wall / ran)
	share := lever.Unit(of * (cpu.Value + queue.Value)) // what computes waits for a CPU, too
	explains, each := &share, ran/max((r.OverTCP+r.OverUnix)*m.Report.Wall, 1)
	more := fmt.Sprintf("to accept and close those takes about %s of active time, estimated from %.0f us each over TCP "+
		"and %.0f us over Unix sockets", result.Share(share), 1e6*opensTCP, 1e6*opensUnix)
	secret := r.TLS && each >= shakes
	if secret {
		explains = nil
		more = fmt.Sprintf("each takes up to %s of CPU time with its requests, which a TLS handshake may be most of",
			result.Format(each, "s"))
	}
	kept := ""
	if r.Connections >= 1 {
		kept = fmt.Sprintf(", while %s are open on average", explain.Plain(r.Connections))
	}
	return []explain.Finding{{Parameter: "connections opened anew", Part: explain.DatabaseCPU, Number: r.OverTCP + r.OverUnix,
		Unit: "connections/s", N: int64(r.Looks), Explains: explains, AtMost: result.Finite(1), Plain: secret,
		Unseen: "it does not show what clients take to connect",
		Text:   fmt.Sprintf("clients open %s connections a second%s", explain.Plain(r.OverTCP+r.OverUnix), kept),
		More:   []string{more},
		Step:   "let clients keep their connections: a pool in each of them, and keep-alive in what stands between"}}
}

// refused are connections that find the queue of the service full: its clients come back after a second, then after two.
func (m *Minute) refused() []explain.Finding {
	r := m.Requests
	if r == nil || m.Connected || r.Full*m.Report.Wall < followed {
		return nil
	}
	return []explain.Finding{{Parameter: "queue of connections", Part: explain.Application, Number: r.Full,
		Unit: "connections/s", N: int64(r.Full * m.Report.Wall), Plain: true, AtMost: result.Finite(1),
		Unseen: "it does not show how long each client waits until it tries again",
		Text: fmt.Sprintf("%s times a second a client found the queue of connections full that nobody has taken yet, "+
			"and tries again after a second or more", explain.Plain(r.Full)),
		Step: "raise the backlog that it gives to listen(2) and net.core.somaxconn, or have it take connections sooner"}}
}

// confirmed are answers that their clients do not have, or in part: the kernel keeps the rest back until they confirm
// that, which they do late (Nagle's algorithm, and delayed acknowledgements; RFC 1122, 4.2.3), or it sends again what was
// lost, after 200 ms or more (RFC 6298).
func (m *Minute) confirmed() (list []explain.Finding) {
	r := m.Requests
	if r == nil || r.Connections <= 0 {
		return nil
	}
	add := func(name string, of float64, waits, step string) {
		if of*float64(r.Looks) < followed {
			return
		}
		share := lever.Unit(of / r.Connections)
		list = append(list, explain.Finding{Parameter: name, Part: explain.Application, Number: of, Unit: "connections",
			N: int64(r.Looks), Explains: &share, AtMost: result.Finite(1), Unseen: "it does not show what clients do meanwhile",
			Text: fmt.Sprintf("on %s of %s connections %s", explain.Plain(of), explain.Plain(r.Connections), waits), Step: step})
	}
	add("TCP_NODELAY", r.Held, "the end of an answer waits in the kernel until the client confirms its beginning, about 40 ms",
		"have it send each answer at once, or set TCP_NODELAY on its connections (Nagle's algorithm)")
	add("lost packets", r.Lost, "an answer was lost on its way, and waits to be sent again, 200 ms or more",
		"find where packets are lost: drops in 'ip -s link', 'nstat -az TcpRetransSegs', a firewall, and the network between")
	return list
}

// within are requests that are neither at a thread that has work nor at a server: a limit, a pool or a timer of the
// service's own holds them.
func (m *Minute) within() []explain.Finding {
	r := m.Requests
	if r == nil || m.Connected || r.AtWork < 1 || r.Looks < followed {
		return nil
	}
	at := m.atWork()
	held, kept, more := r.AtWork-r.Unread-at, Asked{}, []string(nil)
	for _, a := range m.Asked {
		if held -= max(a.Requests, a.Seconds/max(m.Report.Wall, 1e-9)); more == nil && a.Requests > 0 {
			more = []string{fmt.Sprintf("%s wait for %s", explain.Plain(a.Requests), screen.Clean(a.Address))}
		}
		if a.Kept > kept.Kept {
			kept = a
		}
	}
	if held < 1 || held < half*r.AtWork {
		return nil
	}
	share := held / r.AtWork
	f := explain.Finding{Parameter: "requests within", Part: explain.Application, Number: held, Unit: "requests",
		N: int64(r.Looks), Explains: &share, AtMost: result.Finite(1),
		Text: fmt.Sprintf("of %s requests at a time, %s wait within %s, where %s threads work on average",
			explain.Plain(r.AtWork), explain.Plain(held), m.name(), explain.Plain(at)),
		More: more,
		Step: "look for what holds them: a lock, a pool, a limit of its own on connections or rates, or a timer"}
	if kept.Kept >= half*held { // they may ask
		f.Text = fmt.Sprintf("of %s requests at a time, %s wait within %s or for %s, to which it keeps %s open",
			explain.Plain(r.AtWork), explain.Plain(held), m.name(), screen.Clean(kept.who()),
			screen.Plural(int(math.Round(kept.Kept)), "connection", "connections"))
		look := ""
		if kept.PID != 0 {
			look = ": " + toAssess(kept.PID)
		}
		f.Step = "see whether that answers late" + look + "; else " + f.Step
	}
	return []explain.Finding{f}
}
