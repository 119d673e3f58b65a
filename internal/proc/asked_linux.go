package proc

import (
	"encoding/binary"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Asked are the sockets by which a process asks servers, with their addresses, by inode: a host and port, or the path of a socket file.
// It opened them itself; those that a server accepts have the port or the path on which that listens.
func Asked(pid int) map[uint64]string {
	own := sockets(pid)
	out := map[uint64]string{}
	if len(own) == 0 {
		return out
	}
	if fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid))); err == nil {
		for inode, at := range askedTCP(fs) {
			if own[inode] {
				out[inode] = at
			}
		}
	}
	names, peers := map[uint64]string{}, map[uint64]uint64{}
	eachUnix(func(inode, peer uint64, name string) { names[inode], peers[inode] = name, peer })
	for inode := range own {
		if peer := peers[inode]; peer != 0 && names[inode] == "" && names[peer] != "" {
			out[inode] = names[peer]
		}
	}
	return out
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
			delete(out, inode)
		}
	}
	return out
}

// Listener is the process of this host that listens at an address as Asked has it; 0: none is seen, as of another host's.
func Listener(address string) int {
	inodes := map[uint64]bool{}
	if host, text, err := net.SplitHostPort(address); err == nil && !strings.HasPrefix(address, "/") {
		port, _ := strconv.ParseUint(text, 10, 16)
		fs, err := procfs.NewFS("/proc")
		if err != nil || !ownAddress(net.ParseIP(host)) {
			return 0
		}
		for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // as above
			lines, _ := list()
			for _, l := range lines {
				if l.St == listening && l.LocalPort == port {
					inodes[l.Inode] = true
				}
			}
		}
	} else {
		eachUnix(func(inode, peer uint64, name string) {
			if name == address && peer == 0 {
				inodes[inode] = true
			}
		})
	}
	all, _ := Numbers()
	for _, pid := range all { // the first, as children have it, too
		for inode := range sockets(pid) {
			if inodes[inode] {
				return pid
			}
		}
	}
	return 0
}

func ownAddress(ip net.IP) bool {
	if ip.IsLoopback() {
		return true
	}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// unixRequest asks for all Unix sockets with their names and peers (struct unix_diag_req in linux/unix_diag.h).
type unixRequest struct{}

func (unixRequest) Len() int { return 24 }

func (unixRequest) Serialize() []byte {
	b := make([]byte, 24)
	b[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(b[4:], 0xffffffff) // states
	binary.NativeEndian.PutUint32(b[12:], 1|4)       // UDIAG_SHOW_NAME, UDIAG_SHOW_PEER
	return b
}

// What an answer begins with (struct unix_diag_msg), and the attributes that have the name and the peer's inode.
const (
	unixHead = 16
	unixName = 0
	unixPeer = 2
)

// eachUnix goes through the Unix sockets of this network namespace. An abstract name begins with "@"; peer is 0 where there is none.
func eachUnix(f func(inode, peer uint64, name string)) {
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
		var peer uint64
		var name string
		for _, at := range attributes {
			switch {
			case at.Attr.Type == unixPeer && len(at.Value) >= 4:
				peer = uint64(binary.NativeEndian.Uint32(at.Value))
			case at.Attr.Type == unixName && len(at.Value) > 0:
				if name = strings.TrimRight(string(at.Value), "\x00"); name != "" && name[0] == 0 {
					name = "@" + name[1:]
				}
			}
		}
		f(uint64(binary.NativeEndian.Uint32(a[4:])), peer, name)
	}
}
