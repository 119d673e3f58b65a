package proc

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// RequestsOf are those of the clients of processes, and their own to servers, at this moment.
func RequestsOf(pids []int) (r Requests) {
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
	eachUnix(func(x unixSocket) {
		switch {
		case !own[x.inode]:
		case x.listens:
			r.queue(x.unread)
		case x.peer != 0 && x.name != "":
			r.count(x.unread > 0)
		}
	})
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pids[0])))
	if err != nil {
		return r
	}
	servers := askedTCP(fs)
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // as above
		lines, _ := list()
		for _, l := range lines {
			switch {
			case !own[l.Inode]:
			case l.St == listening:
				r.queue(int(l.RxQueue)) //nolint:gosec // as many as listen(2) permits
			case l.St == established && servers[l.Inode] == "": // it was accepted
				r.count(l.RxQueue > 0)
			}
		}
	}
	return r
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
