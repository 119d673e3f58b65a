package proc

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// States of a connection (include/net/tcp_states.h).
const (
	established = 1
	connecting  = 2 // nobody has answered yet
	ended       = 6 // it was closed at this end first (TIME_WAIT)
	listening   = 10
)

// unconnected is the state of a UDP socket that takes what anybody sends (TCP_CLOSE).
const unconnected = 7

// inetSocket is a socket of TCP or UDP.
type inetSocket struct {
	local, remote         net.IP
	localPort, remotePort uint64
	state, unread, inode  uint64
	udp                   bool
	info                  *unix.TCPInfo // nil: not known
}

// server is the address of the other end.
func (x *inetSocket) server() string {
	at := net.JoinHostPort(x.remote.String(), strconv.FormatUint(x.remotePort, 10))
	if x.udp {
		at += OverUDP
	}
	return at
}

// serves reports that it waits for anybody who asks.
func (x *inetSocket) serves() bool {
	return !x.udp && x.state == listening || x.udp && x.state == unconnected
}

// inets list the sockets of protocols with ports.
var inets = map[Protocol]func(pid int) []*inetSocket{TCP: overTCP, UDP: overUDP}

// Connection is one end of a TCP connection.
type Connection struct {
	Local, Remote net.IP
	RemotePort    uint64
	Info          *unix.TCPInfo
}

// Established are the connections at a port of our own network on which a process listens. Its error is of a kernel
// that tells no more of sockets than /proc does. Of connections that are half open or half closed it may tell no more,
// either (inet_req_diag_fill and inet_twsk_diag_fill in net/ipv4/inet_diag.c).
func Established(port uint16) (all []Connection, err error) {
	for _, x := range overTCP(os.Getpid()) {
		switch {
		case x.localPort != uint64(port) || x.state != established && x.state != listening:
		case x.info == nil:
			return nil, errors.New("the kernel does not tell round trips (sock_diag)")
		case x.state == established:
			all = append(all, Connection{x.local, x.remote, x.remotePort, x.info})
		}
	}
	return all, nil
}

// overTCP are the sockets of a process's network but those that have ended, of which there may be tens of thousands;
// endedTCP are these, and overUDP are those of UDP.
func overTCP(pid int) []*inetSocket {
	return tcpIn(pid, func(state uint64) bool { return state != ended })
}

func endedTCP(pid int) []*inetSocket {
	return tcpIn(pid, func(state uint64) bool { return state == ended })
}

// tcpIn are those in some states. By netlink the kernel tells of our own network alone, and not on every host.
func tcpIn(pid int, states func(uint64) bool) (all []*inetSocket) {
	if Network(pid) == Network(os.Getpid()) {
		if all, err := byNetlink(states); err == nil {
			return all
		}
	}
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return nil
	}
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // which knows no other
		lines, _ := list()
		for _, l := range lines {
			if states(l.St) {
				all = append(all, &inetSocket{l.LocalAddr, l.RemAddr, l.LocalPort, l.RemPort, l.St, l.RxQueue, l.Inode, false, nil})
			}
		}
	}
	return all
}

func overUDP(pid int) (all []*inetSocket) {
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return nil
	}
	for _, list := range []func() (procfs.NetUDP, error){fs.NetUDP, fs.NetUDP6} {
		lines, _ := list()
		for _, l := range lines {
			all = append(all, &inetSocket{l.LocalAddr, l.RemAddr, l.LocalPort, l.RemPort, l.St, l.RxQueue, l.Inode, true, nil})
		}
	}
	return all
}

// inetRequest asks for TCP sockets in some states (struct inet_diag_req in linux/inet_diag.h). In this old form the
// kernel goes through its table once for both families, and with many that have ended that is most of the work.
type inetRequest uint32

const inetOfTCP = 18 // TCPDIAG_GETSOCK

func (inetRequest) Len() int { return 60 }

func (states inetRequest) Serialize() []byte {
	b := make([]byte, states.Len())
	b[0], b[3] = unix.AF_UNSPEC, 1<<(inetInfo-1)
	binary.NativeEndian.PutUint32(b[52:], uint32(states))
	return b
}

// What an answer begins with (struct inet_diag_msg), and the attribute that has a struct tcp_info.
const (
	inetHead = 72
	inetInfo = 2
)

func byNetlink(states func(uint64) bool) (all []*inetSocket, err error) {
	mask := inetRequest(0)
	for state := established; state <= listening+1; state++ { // the last is TCP_CLOSING
		if states(uint64(state)) { //nolint:gosec // it is small
			mask |= 1 << state
		}
	}
	request := nl.NewNetlinkRequest(inetOfTCP, unix.NLM_F_DUMP)
	request.AddData(mask)
	answers, err := request.Execute(unix.NETLINK_INET_DIAG, 0)
	if err != nil && !errors.Is(err, nl.ErrDumpInterrupted) {
		return nil, err
	}
	for _, a := range answers {
		if len(a) < inetHead {
			continue
		}
		size := net.IPv4len
		if a[0] == unix.AF_INET6 {
			size = net.IPv6len
		}
		port := func(at int) uint64 { return uint64(binary.BigEndian.Uint16(a[at:])) }
		number := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(a[at:])) }
		all = append(all, &inetSocket{net.IP(a[8 : 8+size]), net.IP(a[24 : 24+size]), port(4), port(6),
			uint64(a[1]), number(56), number(68), false, infoOf(a[inetHead:])})
	}
	return all, nil
}

// infoOf is the tcp_info among attributes; nil: none. An older kernel's is shorter, and a newer one's longer.
func infoOf(attributes []byte) *unix.TCPInfo {
	list, _ := nl.ParseRouteAttr(attributes)
	for _, a := range list {
		if a.Attr.Type == inetInfo {
			var info unix.TCPInfo
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&info)), unsafe.Sizeof(info)), a.Value) //nolint:gosec // it has that size
			return &info
		}
	}
	return nil
}
