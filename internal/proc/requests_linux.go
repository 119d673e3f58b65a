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
	if Network(pids[0]) == Network(os.Getpid()) {
		r.answers(own, servers)
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

// answers counts the connections on which one end has sent last, and the other is to answer: the kernel keeps when each
// did (tcp_info, in ms). Of those that did within one of its ticks it does not tell.
func (r *Requests) answers(own map[uint64]bool, servers map[uint64]string) {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		all, err := netlink.SocketDiagTCPInfo(family)
		if err != nil {
			return
		}
		for _, s := range all {
			if s.InetDiagMsg == nil || s.TCPInfo == nil || s.TCPInfo.State != netlink.TCP_ESTABLISHED ||
				!own[uint64(s.InetDiagMsg.INode)] {
				continue
			}
			sent, came := s.TCPInfo.Last_data_sent, s.TCPInfo.Last_data_recv // ms ago
			switch server := servers[uint64(s.InetDiagMsg.INode)]; {
			case server == "" && came < sent:
				r.AtWork++
			case server != "" && sent < came && s.TCPInfo.Bytes_acked > 1: // the first is of SYN
				if r.Asked == nil {
					r.Asked = map[string]int{}
				}
				id := s.InetDiagMsg.ID
				r.Asked[net.JoinHostPort(id.Destination.String(), strconv.Itoa(int(id.DestinationPort)))]++
			}
		}
	}
}
