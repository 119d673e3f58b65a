package proc

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Servers are the connected sockets of a process's network, by inode: those by which servers are asked with the
// address of the server, a host and port or the path of a socket file, and "" of those that a server has accepted. The
// latter have the port or the path on which that listens. Of Unix sockets hostlab's own network tells alone.
func Servers(pid int) map[uint64]string {
	out := ServersOver(pid, UDP)
	for _, p := range []Protocol{TCP, Unix} {
		maps.Copy(out, ServersOver(pid, p))
	}
	return out
}

// Protocol is what a socket speaks: the kernel goes through one table for each.
type Protocol string

// The protocols, as the kernel begins their names.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	Unix Protocol = "UNIX"
)

// ProtocolOf is the protocol of a process's socket, by its descriptor; "": another protocol, or no socket.
func ProtocolOf(pid int, fd int64) Protocol {
	var b [32]byte
	n, err := unix.Getxattr(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), "system.sockprotoname", b[:]) // UDPv6, UNIX-STREAM
	if err != nil {
		return ""
	}
	for _, p := range []Protocol{TCP, UDP, Unix} {
		if strings.HasPrefix(string(b[:n]), string(p)) && !strings.HasPrefix(string(b[:n]), "UDPLITE") {
			return p
		}
	}
	return ""
}

// ServersOver are those of one protocol.
func ServersOver(pid int, p Protocol) map[uint64]string {
	if p == Unix {
		return askedUnix(unixSockets())
	}
	return askedInet(inets[p](pid))
}

func askedUnix(all []unixSocket) map[uint64]string {
	out, names, peers := map[uint64]string{}, map[uint64]string{}, map[uint64]uint64{}
	for _, x := range all {
		names[x.inode], peers[x.inode] = x.name, x.peer
		for _, client := range x.queued { // whose peer is no file of anybody's yet
			out[client] = x.name
		}
	}
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

// askedInet are the connected sockets of a network, as Servers has them. One of UDP that was not connected names
// nobody, whether it asks or serves.
func askedInet(all []*inetSocket) map[uint64]string {
	out, serves, from := map[uint64]string{}, map[uint64]bool{}, map[uint64]uint64{}
	for _, x := range all {
		switch {
		case x.serves():
			if serves[x.localPort] = true; x.udp {
				out[x.inode] = Unnamed
			}
		case x.state == established, x.state == connecting:
			out[x.inode], from[x.inode] = x.server(), x.localPort
		}
	}
	for inode, port := range from {
		if serves[port] {
			out[inode] = ""
		}
	}
	return out
}

// Listener is the process that listens at an address of the network of another, which asked it; 0: none is seen, as of
// another host's.
func Listener(asker int, address string) int {
	inodes, accepted := map[uint64]bool{}, map[uint64]bool{}
	plain, udp := strings.CutSuffix(address, OverUDP)
	if host, text, err := net.SplitHostPort(plain); err == nil && !strings.HasPrefix(address, "/") {
		port, _ := strconv.ParseUint(text, 10, 16)
		over := TCP
		if udp {
			over = UDP
		}
		inodes = listensAt(inets[over](asker), net.ParseIP(host), port)
	} else {
		own := socketsOf([]int{asker})
		for _, x := range unixSockets() {
			if x.name == address {
				inodes[x.inode], accepted[x.inode] = x.peer == 0, own[x.peer]
			}
		}
	}
	var listen, serve []int
	all, _ := Numbers()
	for _, pid := range all {
		for inode := range sockets(pid) {
			if inodes[inode] {
				listen = append(listen, pid)
			}
			if accepted[inode] {
				serve = append(serve, pid)
			}
		}
	}
	return listener(listen, serve, func(pid int) int { p, _ := Read(pid); return p.Parent })
}

// listener is one of those that listen at a name: servers of several containers may have the same one. It has accepted a
// connection itself, or has started who did; else it is the first, as children have its socket, too, and process 1 keeps
// sockets for those that it starts.
func listener(listen, serve []int, parent func(int) int) int {
	for _, pid := range serve {
		for _, at := range []int{parent(pid), pid} {
			if at > 1 && slices.Contains(listen, at) {
				return at
			}
		}
	}
	for i, pid := range listen {
		if pid != 1 || i == len(listen)-1 {
			return pid
		}
	}
	return 0
}

// listensAt are the sockets that listen at a port of an address, if the network has that: the server's end of a
// connection shows it.
func listensAt(all []*inetSocket, ip net.IP, port uint64) map[uint64]bool {
	found, here := map[uint64]bool{}, ip.IsLoopback()
	for _, x := range all {
		here = here || x.local.Equal(ip)
		if x.serves() && x.localPort == port && (x.local.Equal(ip) || x.local.IsUnspecified()) {
			found[x.inode] = true
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
	binary.NativeEndian.PutUint32(b[12:], 1|4|8|16)  // UDIAG_SHOW_NAME, UDIAG_SHOW_PEER, UDIAG_SHOW_ICONS, UDIAG_SHOW_RQLEN
	return b
}

// What an answer begins with (struct unix_diag_msg), and the attributes that have the name, the peer's inode, the
// inodes of clients that wait to be accepted, and how much is unread.
const (
	unixHead   = 16
	unixName   = 0
	unixPeer   = 2
	unixQueued = 3
	unixUnread = 4
)

// unixSocket is one of this network namespace. An abstract name begins with "@".
type unixSocket struct {
	inode, peer uint64 // peer is 0 where there is none
	name        string
	listens     bool
	datagrams   bool     // which nobody answers, as those of a log
	unread      int      // bytes; of one that listens, connections that nobody has taken yet
	queued      []uint64 // the clients' ends of those
}

// unixSockets lists them.
func unixSockets() (all []unixSocket) {
	request := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
	request.AddData(unixRequest{})
	answers, err := request.Execute(unix.NETLINK_INET_DIAG, 0)
	if err != nil {
		return nil
	}
	for _, a := range answers {
		if len(a) < unixHead {
			continue
		}
		attributes, err := nl.ParseRouteAttr(a[unixHead:])
		if err != nil {
			continue
		}
		x := unixSocket{inode: uint64(binary.NativeEndian.Uint32(a[4:])), listens: a[2] == listening,
			datagrams: a[1] == unix.SOCK_DGRAM}
		for _, at := range attributes {
			switch {
			case at.Attr.Type == unixPeer && len(at.Value) >= 4:
				x.peer = uint64(binary.NativeEndian.Uint32(at.Value))
			case at.Attr.Type == unixQueued:
				for i := 0; i+4 <= len(at.Value); i += 4 {
					x.queued = append(x.queued, uint64(binary.NativeEndian.Uint32(at.Value[i:])))
				}
			case at.Attr.Type == unixUnread && len(at.Value) >= 4:
				x.unread = int(binary.NativeEndian.Uint32(at.Value))
			case at.Attr.Type == unixName && len(at.Value) > 0:
				if x.name = strings.TrimRight(string(at.Value), "\x00"); x.name != "" && x.name[0] == 0 {
					x.name = "@" + x.name[1:]
				}
			}
		}
		all = append(all, x)
	}
	return all
}

// Listens are the addresses on which a process takes connections that this one can reach: socket files, and ports of
// this network, on this host.
func Listens(pid int) (addresses []string) {
	own := sockets(pid)
	for _, x := range unixSockets() {
		if own[x.inode] && x.listens && strings.HasPrefix(x.name, "/") {
			addresses = append(addresses, FileOf(pid, x.name))
		}
	}
	if Network(pid) != Network(os.Getpid()) {
		return addresses
	}
	for _, x := range overTCP(pid) {
		if !x.serves() || !own[x.inode] {
			continue
		}
		at := x.local
		if at.IsUnspecified() {
			at = net.IPv4(127, 0, 0, 1)
		}
		addresses = append(addresses, net.JoinHostPort(at.String(), strconv.FormatUint(x.localPort, 10)))
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
