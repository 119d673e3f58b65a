package proc

import (
	"encoding/binary"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Servers are the connected sockets of a process's network, by inode: those by which servers are asked with the
// address of the server, a host and port or the path of a socket file, and "" of those that a server has accepted. The
// latter have the port or the path on which that listens. Of Unix sockets hostlab's own network tells alone.
func Servers(pid int) map[uint64]string {
	out := map[uint64]string{}
	if fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid))); err == nil {
		out = askedTCP(fs)
	}
	names, peers := map[uint64]string{}, map[uint64]uint64{}
	eachUnix(func(x unixSocket) { names[x.inode], peers[x.inode] = x.name, x.peer })
	for inode, peer := range peers {
		if peer != 0 {
			out[inode] = ""
			if names[inode] == "" {
				out[inode] = names[peer]
			}
		}
	}
	return out
}

// Network is the network namespace of a process; "": it does not show.
func Network(pid int) string { return namespace(pid, "net") }

func namespace(pid int, kind string) string {
	name, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", kind))
	return name
}

// States of a connection (include/net/tcp_states.h).
const (
	established = 1
	listening   = 10
)

func askedTCP(fs procfs.FS) map[uint64]string {
	out, listens, from := map[uint64]string{}, map[uint64]bool{}, map[uint64]uint64{}
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // netlink knows but our own network
		lines, _ := list()
		for _, l := range lines {
			switch l.St {
			case listening:
				listens[l.LocalPort] = true
			case established:
				out[l.Inode] = net.JoinHostPort(l.RemAddr.String(), strconv.FormatUint(l.RemPort, 10))
				from[l.Inode] = l.LocalPort
			}
		}
	}
	for inode, port := range from {
		if listens[port] {
			out[inode] = ""
		}
	}
	return out
}

// Listener is the process that listens at an address of the network of another, which asked it; 0: none is seen, as of
// another host's.
func Listener(asker int, address string) int {
	inodes := map[uint64]bool{}
	if host, text, err := net.SplitHostPort(address); err == nil && !strings.HasPrefix(address, "/") {
		port, _ := strconv.ParseUint(text, 10, 16)
		fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(asker)))
		if err != nil {
			return 0
		}
		inodes = listensAt(fs, net.ParseIP(host), port)
	} else {
		eachUnix(func(x unixSocket) {
			if x.name == address && x.peer == 0 {
				inodes[x.inode] = true
			}
		})
	}
	first := 0
	all, _ := Numbers()
	for _, pid := range all { // the first, as children have it, too; process 1 keeps sockets for those that it starts
		for inode := range sockets(pid) {
			if inodes[inode] && (first == 0 || first == 1) {
				first = pid
			}
		}
	}
	return first
}

// listensAt are the sockets that listen at a port of an address, if the network has that: the server's end of a
// connection shows it.
func listensAt(fs procfs.FS, ip net.IP, port uint64) map[uint64]bool {
	found, here := map[uint64]bool{}, ip.IsLoopback()
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // as above
		lines, _ := list()
		for _, l := range lines {
			here = here || l.LocalAddr.Equal(ip)
			if l.St == listening && l.LocalPort == port && (l.LocalAddr.Equal(ip) || l.LocalAddr.IsUnspecified()) {
				found[l.Inode] = true
			}
		}
	}
	if !here {
		return nil
	}
	return found
}

// unixRequest asks for all Unix sockets with their names and peers (struct unix_diag_req in linux/unix_diag.h).
type unixRequest struct{}

func (unixRequest) Len() int { return 24 }

func (unixRequest) Serialize() []byte {
	b := make([]byte, 24)
	b[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(b[4:], 0xffffffff) // states
	binary.NativeEndian.PutUint32(b[12:], 1|4|16)    // UDIAG_SHOW_NAME, UDIAG_SHOW_PEER, UDIAG_SHOW_RQLEN
	return b
}

// What an answer begins with (struct unix_diag_msg), and the attributes that have the name, the peer's inode, and how
// much is unread.
const (
	unixHead   = 16
	unixName   = 0
	unixPeer   = 2
	unixUnread = 4
)

// unixSocket is one of this network namespace. An abstract name begins with "@".
type unixSocket struct {
	inode, peer uint64 // peer is 0 where there is none
	name        string
	listens     bool
	unread      int // bytes; of one that listens, connections that nobody has taken yet
}

// eachUnix goes through them.
func eachUnix(f func(unixSocket)) {
	request := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
	request.AddData(unixRequest{})
	answers, err := request.Execute(unix.NETLINK_INET_DIAG, 0)
	if err != nil {
		return
	}
	for _, a := range answers {
		if len(a) < unixHead {
			continue
		}
		attributes, err := nl.ParseRouteAttr(a[unixHead:])
		if err != nil {
			continue
		}
		x := unixSocket{inode: uint64(binary.NativeEndian.Uint32(a[4:])), listens: a[2] == listening}
		for _, at := range attributes {
			switch {
			case at.Attr.Type == unixPeer && len(at.Value) >= 4:
				x.peer = uint64(binary.NativeEndian.Uint32(at.Value))
			case at.Attr.Type == unixUnread && len(at.Value) >= 4:
				x.unread = int(binary.NativeEndian.Uint32(at.Value))
			case at.Attr.Type == unixName && len(at.Value) > 0:
				if x.name = strings.TrimRight(string(at.Value), "\x00"); x.name != "" && x.name[0] == 0 {
					x.name = "@" + x.name[1:]
				}
			}
		}
		f(x)
	}
}

// Listens are the addresses on which a process takes connections that this one can reach: socket files, and ports of
// this network, on this host.
func Listens(pid int) (addresses []string) {
	own := sockets(pid)
	eachUnix(func(x unixSocket) {
		if own[x.inode] && x.listens && strings.HasPrefix(x.name, "/") {
			addresses = append(addresses, FileOf(pid, x.name))
		}
	})
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil || Network(pid) != Network(os.Getpid()) {
		return addresses
	}
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // as above
		lines, _ := list()
		for _, l := range lines {
			if l.St != listening || !own[l.Inode] {
				continue
			}
			at := l.LocalAddr
			if at.IsUnspecified() {
				at = net.IPv4(127, 0, 0, 1)
			}
			addresses = append(addresses, net.JoinHostPort(at.String(), strconv.FormatUint(l.LocalPort, 10)))
		}
	}
	return addresses
}

// FileOf is a file as a process names it, for us: that of a container lies below its root.
func FileOf(pid int, file string) string {
	own, its := namespace(os.Getpid(), "mnt"), namespace(pid, "mnt")
	if own != "" && its != "" && own != its {
		return filepath.Join("/proc", strconv.Itoa(pid), "root") + file
	}
	return file
}

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
