package proc

import (
	"maps"
	"time"

	"github.com/prometheus/procfs"
)

// Visitors looks at the connections of processes again and again.
type Visitors struct {
	seen         map[uint64]bool    // of TCP, at the last look; nil: there was none
	kept         map[uint64]bool    // of Unix sockets to servers, likewise
	ours, others float64            // of those that came between looks
	ports        map[uint64]bool    // on which anybody listens: it is ours
	to           map[string]float64 // of those that were opened between looks, by server; "": by others
	first, last  passed             // at the first look and at the last one
	came         float64            // over Unix sockets, between lists
	between      time.Duration      // those, in all
	pid          int                // one of the processes, whose network counts
}

// Connected are the servers to which processes have connections open, with how many each.
func Connected(pids []int) map[string]int {
	out, own := map[string]int{}, socketsOf(pids)
	if len(own) == 0 {
		return nil
	}
	for inode, server := range Servers(pids[0]) {
		if own[inode] && server != "" && server != Unnamed {
			out[server]++
		}
	}
	return out
}

// Look is what clients of the processes wait for, and the processes of servers, at this moment.
func (v *Visitors) Look(pids []int) (r Requests) {
	own := socketsOf(pids)
	if len(own) == 0 {
		return r
	}
	all := overTCP(pids[0])
	maps.Copy(own, socketsOf(pids)) // once more: connections may be short
	v.unix(&r, own)
	servers, queued := askedInet(all), map[uint64]int{} // by port
	for _, x := range opposite(all, own) {
		if x.inode == 0 && x.state == established { // to itself, where nobody has taken it yet
			queued[x.localPort]++
		}
	}
	for _, x := range all {
		server, connected := servers[x.inode]
		switch {
		case !own[x.inode]:
		case x.state == listening:
			r.queue(max(0, int(x.unread)-queued[x.localPort])) //nolint:gosec // as many as listen(2) permits
		case connected:
			r.connection(x, server)
		}
	}
	v.tcp(all, own, servers)
	v.pid = pids[0]
	v.passed()
	return r
}

// again is how often Unix sockets are listed at one look: most of those that clients open anew live for a moment.
const again = 8

// unix lists connections over Unix sockets, and again at once, so that those show which came in between.
func (v *Visitors) unix(r *Requests, own map[uint64]bool) {
	names, before := map[string]bool{}, map[uint64]bool{}
	began, all := time.Now(), unixSockets()
	v.asks(r, all, own)
	for _, x := range all {
		before[x.inode] = true
		switch {
		case !own[x.inode]:
		case x.listens:
			names[x.name] = true
			r.queue(x.unread)
		case x.peer != 0 && x.name != "":
			r.count(x.unread > 0)
		}
	}
	if len(names) == 0 {
		return
	}
	last := began
	for range again {
		last = time.Now()
		for _, x := range unixSockets() {
			if x.cameTo(names) && !before[x.inode] {
				before[x.inode] = true
				v.came++
			}
		}
	}
	v.between += last.Sub(began)
}

// asks counts connections to servers over Unix sockets. A server that has not taken one, or has not read it, is asked;
// so it is by one that came since the last look: who keeps none open has opened it for a request.
func (v *Visitors) asks(r *Requests, all []unixSocket, own map[uint64]bool) {
	before, servers, unread := v.kept, askedUnix(all), map[uint64]int{}
	v.kept = map[uint64]bool{}
	for _, x := range all {
		unread[x.inode] = x.unread
	}
	for _, x := range all {
		server := servers[x.inode]
		if server == "" || !own[x.inode] || x.datagrams || x.unread > 0 { // its answer is there
			continue
		}
		v.kept[x.inode] = true
		if x.peer != 0 && unread[x.peer] == 0 && (before == nil || before[x.inode]) {
			if r.Kept == nil {
				r.Kept = map[string]int{}
			}
			r.Kept[server]++
			continue
		}
		r.ask(server, Open{Asked: 1})
	}
}

// cameTo reports a connection that a server has accepted which listens at one of some names.
func (x *unixSocket) cameTo(names map[string]bool) bool {
	return x.inode != 0 && x.peer != 0 && !x.listens && names[x.name]
}

// tcp counts the connections that came since the last look, by who accepted them, and those that were opened, by whom.
func (v *Visitors) tcp(all []*inetSocket, own map[uint64]bool, servers map[uint64]string) {
	before := v.seen
	v.seen, v.ports = map[uint64]bool{}, map[uint64]bool{}
	if v.to == nil {
		v.to = map[string]float64{}
	}
	for _, x := range all {
		if x.serves() {
			v.ports[x.localPort] = v.ports[x.localPort] || own[x.inode]
		}
		server, connected := servers[x.inode]
		if !connected {
			continue
		}
		if v.seen[x.inode] = true; before == nil || before[x.inode] {
			continue
		}
		switch ours := own[x.inode]; {
		case server == "" && ours:
			v.ours++
		case server == "":
			v.others++
		case ours:
			v.to[server]++
		default:
			v.to[""]++
		}
	}
}

// gone are the connections that have ended in the last minute, by who accepted them: of the two ends of one, that
// remembers it which closed it first (TIME_WAIT).
func (v *Visitors) gone() (ours, others float64) {
	for _, x := range endedTCP(v.pid) {
		for _, port := range []uint64{x.localPort, x.remotePort} {
			if own, listens := v.ports[port]; listens {
				if own {
					ours++
				} else {
					others++
				}
				break
			}
		}
	}
	return ours, others
}

// passed are connections that a network has accepted over TCP, those that it did not, as their queue was full, and
// those that it has opened.
type passed struct {
	taken, full, opened float64
	at                  time.Time
}

func (v *Visitors) passed() {
	p, err := procfs.NewProc(v.pid)
	if err != nil {
		return
	}
	s, err1 := p.Snmp()
	n, err2 := p.Netstat()
	if err1 != nil || err2 != nil || s.PassiveOpens == nil || s.ActiveOpens == nil || n.ListenOverflows == nil {
		return
	}
	v.last = passed{*s.PassiveOpens, *n.ListenOverflows, *s.ActiveOpens, time.Now()}
	if v.first.at.IsZero() {
		v.first = v.last
	}
}

// Opened is what clients have done until now, a second. Where many connections have ended, one look at all of them
// takes so long that there is no second one.
func (v *Visitors) Opened() (o Opened) {
	v.passed()
	ours, others := v.gone()
	ours, others = ours+v.ours, others+v.others
	if seconds := v.last.at.Sub(v.first.at).Seconds(); seconds > 0 && ours > 0 && v.last.taken >= v.first.taken {
		share := ours / (ours + others) / seconds
		o.OverTCP, o.Full = (v.last.taken-v.first.taken)*share, (v.last.full-v.first.full)*share
	}
	if v.between > 0 {
		o.OverUnix = v.came / v.between.Seconds()
	}
	return o
}

// least is how many new connections to a server tell how often it is connected to.
const least = 5

// OpenedTo is how often the processes open a connection to each server, a second, as far as looks show it.
func (v *Visitors) OpenedTo() map[string]float64 {
	all, out := 0.0, map[string]float64{}
	for _, n := range v.to {
		all += n
	}
	seconds := v.last.at.Sub(v.first.at).Seconds()
	for server, n := range v.to {
		if server != "" && n >= least && seconds > 0 && v.last.opened >= v.first.opened {
			out[server] = (v.last.opened - v.first.opened) / seconds * n / all
		}
	}
	return out
}

func (r *Requests) count(waits bool) {
	if r.Connections++; waits {
		r.Unread++
	}
}

// queue counts connections that nobody has taken yet.
func (r *Requests) queue(n int) { r.Connections, r.Unread = r.Connections+n, r.Unread+n }

// tick is the kernel's longest (CONFIG_HZ=100), ms.
const tick = 10

// confirms is the time that an end may take to confirm what it has got (TCP_DELACK_MAX, which is 40 ms, and a tick), ms.
const confirms = 50

// connection counts one of TCP that was accepted, or opened to a server, and by which end has sent last whose request
// has no answer (tcp_info; both times are in ms ago).
func (r *Requests) connection(x *inetSocket, server string) {
	if server == "" {
		r.count(x.unread > 0)
	}
	switch i := x.info; {
	case i == nil || x.state != established:
	case server == "":
		if i.Notsent_bytes > 0 && i.Notsent_bytes < i.Snd_mss && i.Unacked > 0 && i.Unacked < i.Snd_cwnd { // tcp_nagle_check
			r.Held++
		}
		if i.Unacked > 0 && i.Total_retrans > 0 && i.Last_data_sent >= confirms {
			r.Lost++
		}
		r.AtWork = r.AtWork.Add(open(i.Data_segs_in, i.Data_segs_out, i.Last_data_recv, i.Last_data_sent))
	default:
		r.ask(server, open(i.Data_segs_out, i.Data_segs_in, i.Last_data_sent, i.Last_data_recv))
	}
}

func (r *Requests) ask(server string, o Open) {
	if r.Asked == nil {
		r.Asked = map[string]Open{}
	}
	r.Asked[server] = r.Asked[server].Add(o)
}

// counted is from how many requests on their segments tell which end is next, where every one is one segment and every
// answer as many as the others: that it looks so by chance is as seldom as one in so many.
const counted = 30

// open is a connection on which so many segments of data asked, and so many answered, the last so long ago.
func open(asked, answered, since, before uint32) (o Open) {
	switch {
	case asked == 0:
	case answered == 0 || since < before:
		o.Asked = 1
		if since >= tick {
			o.Long = 1
		}
	case since > before:
	case asked >= counted && answered%(asked-1) == 0: // all but the last one have their answer
		o.Asked = 1
		if since >= tick {
			o.Long = 1
		}
	case asked < counted || answered%asked != 0:
		o.Same = 1
	}
	return o
}
