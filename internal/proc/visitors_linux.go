package proc

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Visitors looks at the connections of processes again and again.
type Visitors struct {
	seen         map[uint64]bool // of TCP, that were accepted, at the last look
	ours, others float64         // of those that came since the look before, and of those that have ended
	first, last  passed          // at the first look and at the last one
	came         float64         // over Unix sockets, between lists
	between      time.Duration   // those, in all
	pid          int             // one of the processes, whose network counts
}

// Look is what clients of the processes wait for, and the processes of servers, at this moment.
func (v *Visitors) Look(pids []int) (r Requests) {
	own := map[uint64]bool{}
	for _, pid := range pids {
		maps.Copy(own, sockets(pid))
	}
	if len(own) == 0 {
		return r
	}
	if Network(pids[0]) == Network(os.Getpid()) { // at once: connections may be short
		r.answers(own)
	}
	v.unix(&r, own)
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pids[0])))
	if err != nil {
		return r
	}
	all := overTCP(fs)
	servers := askedInet(all)
	for _, x := range all {
		switch {
		case !own[x.inode]:
		case x.state == listening:
			r.queue(int(x.unread)) //nolint:gosec // as many as listen(2) permits
		case x.state == established && servers[x.inode] == "": // it was accepted
			r.count(x.unread > 0)
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
	began := time.Now()
	eachUnix(func(x unixSocket) {
		before[x.inode] = true
		switch {
		case !own[x.inode]:
		case x.listens:
			names[x.name] = true
			r.queue(x.unread)
		case x.peer != 0 && x.name != "":
			r.count(x.unread > 0)
		}
	})
	if len(names) == 0 {
		return
	}
	last := began
	for range again {
		last = time.Now()
		eachUnix(func(x unixSocket) {
			if x.cameTo(names) && !before[x.inode] {
				before[x.inode] = true
				v.came++
			}
		})
	}
	v.between += last.Sub(began)
}

// cameTo reports a connection that a server has accepted which listens at one of some names.
func (x *unixSocket) cameTo(names map[string]bool) bool {
	return x.inode != 0 && x.peer != 0 && !x.listens && names[x.name]
}

// tcp counts the connections that came since the last look, and those that have ended in the last minute, by who
// accepted them: of the two ends of one, that remembers it which closed it first (TIME_WAIT).
func (v *Visitors) tcp(all []*inetSocket, own map[uint64]bool, servers map[uint64]string) {
	ports, there := map[uint64]bool{}, map[uint64]bool{} // by port: it is ours
	for _, x := range all {
		if x.serves() {
			ports[x.localPort] = ports[x.localPort] || own[x.inode]
		}
	}
	count := func(ours bool) {
		if ours {
			v.ours++
		} else {
			v.others++
		}
	}
	for _, x := range all {
		switch x.state {
		case ended:
			for _, port := range []uint64{x.localPort, x.remotePort} {
				if ours, listens := ports[port]; listens {
					count(ours)
					break
				}
			}
		case established:
			if server, connected := servers[x.inode]; connected && server == "" {
				if there[x.inode] = true; v.seen != nil && !v.seen[x.inode] {
					count(own[x.inode])
				}
			}
		}
	}
	v.seen = there
}

// passed are connections that a network has accepted over TCP, and those that it did not, as their queue was full.
type passed struct {
	taken, full float64
	at          time.Time
}

func (v *Visitors) passed() {
	p, err := procfs.NewProc(v.pid)
	if err != nil {
		return
	}
	s, err1 := p.Snmp()
	n, err2 := p.Netstat()
	if err1 != nil || err2 != nil || s.PassiveOpens == nil || n.ListenOverflows == nil {
		return
	}
	v.last = passed{*s.PassiveOpens, *n.ListenOverflows, time.Now()}
	if v.first.at.IsZero() {
		v.first = v.last
	}
}

// Opened is what clients have done until now, a second. Where many connections have ended, one look at all of them
// takes so long that there is no second one.
func (v *Visitors) Opened() (o Opened) {
	v.passed()
	if seconds := v.last.at.Sub(v.first.at).Seconds(); seconds > 0 && v.ours > 0 && v.last.taken >= v.first.taken {
		share := v.ours / (v.ours + v.others) / seconds
		o.OverTCP, o.Full = (v.last.taken-v.first.taken)*share, (v.last.full-v.first.full)*share
	}
	if v.between > 0 {
		o.OverUnix = v.came / v.between.Seconds()
	}
	return o
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

// answers counts the connections by which end has sent last (tcp_info; both times are in ms ago).
func (r *Requests) answers(own map[uint64]bool) {
	var all []*netlink.InetDiagTCPInfoResp
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		list, err := netlink.SocketDiagTCPInfo(family)
		if err != nil {
			return
		}
		all = append(all, list...)
	}
	listens := map[uint16]bool{}
	for _, s := range all {
		if s.InetDiagMsg != nil && s.InetDiagMsg.State == netlink.TCP_LISTEN {
			listens[s.InetDiagMsg.ID.SourcePort] = true
		}
	}
	r.Asked = map[string]Open{}
	for _, s := range all {
		if s.InetDiagMsg == nil || s.TCPInfo == nil || s.TCPInfo.State != netlink.TCP_ESTABLISHED ||
			!own[uint64(s.InetDiagMsg.INode)] {
			continue
		}
		i, id := s.TCPInfo, s.InetDiagMsg.ID
		if listens[id.SourcePort] {
			r.AtWork = r.AtWork.Add(open(i.Data_segs_in, i.Data_segs_out, i.Last_data_recv, i.Last_data_sent))
			continue
		}
		server := net.JoinHostPort(id.Destination.String(), strconv.Itoa(int(id.DestinationPort)))
		r.Asked[server] = r.Asked[server].Add(open(i.Data_segs_out, i.Data_segs_in, i.Last_data_sent, i.Last_data_recv))
	}
}

// open is a connection on which so many segments of data asked, and so many answered, the last so long ago.
func open(asked, answered, since, before uint32) (o Open) {
	switch {
	case asked == 0:
	case answered == 0 || since < before:
		o.Asked = 1
		if since >= tick {
			o.Long = 1
		}
	case since == before:
		o.Same = 1
	}
	return o
}
