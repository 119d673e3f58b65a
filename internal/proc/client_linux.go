package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ClientOf is the process of this host at the other end of a connection that a process serves: on a Unix socket, or
// over loopback. 0: none is seen, as of another host's, or of another user's without root.
func ClientOf(pid int) int {
	return otherEnd(pid, sockets(pid))
}

// Peer is the process of this host at the other end of a socket of a process, as a link of its descriptor names that, or
// the address of another host's; 0 and "": neither is seen.
func Peer(pid int, socket string) (other int, address string) {
	inode, err := InodeOf(socket)
	if err != nil {
		return 0, ""
	}
	if other = otherEnd(pid, map[uint64]bool{inode: true}); other != 0 {
		return other, ""
	}
	for _, x := range overTCP(pid) {
		if x.inode == inode {
			address = x.server()
		}
	}
	return 0, address
}

// InodeOf is the number of a socket, as a link of a descriptor names it.
func InodeOf(socket string) (uint64, error) {
	return strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(socket, "socket:["), "]"), 10, 64)
}

// otherEnd is a process at the other end of some sockets of a process: of Unix ones first, as the kernel's table of the
// others is large.
func otherEnd(pid int, own map[uint64]bool) int {
	if len(own) == 0 {
		return 0
	}
	if other := holder(pid, peersAmong(unixSockets(), own)); other != 0 {
		return other
	}
	return holder(pid, loopback(pid, own))
}

// lately is the holder that was found last. A history asks for the same one every few seconds, and to look at what all
// processes have open takes long.
var lately atomic.Int64

// holder is a process but one that has one of some sockets.
func holder(but int, of map[uint64]bool) int {
	if len(of) == 0 {
		return 0
	}
	last := int(lately.Load())
	all, _ := Numbers()
	for _, pid := range slices.Insert(all, 0, last) {
		if pid == but || pid == 0 {
			continue
		}
		for inode := range sockets(pid) {
			if of[inode] {
				lately.Store(int64(pid))
				return pid
			}
		}
	}
	return 0
}

// ClientsAmong are those of some processes that have a connection which others of this host serve: each has the other
// end. The kernel walks its whole table of connections for a list of a network's, which takes milliseconds where it is
// large, so that each network is asked once for all servers in it, and none where nobody has such a socket.
func ClientsAmong(some, servers []int) map[int]bool {
	found, theirs := map[int]bool{}, map[int]map[uint64]bool{}
	for _, pid := range some {
		if has := sockets(pid); len(has) > 0 {
			theirs[pid] = has
		}
	}
	if len(theirs) == 0 {
		return found
	}
	own, networks := map[uint64]bool{}, map[string]int{} // by a process of each
	for _, pid := range servers {
		if has := sockets(pid); len(has) > 0 {
			maps.Copy(own, has)
			if network := Network(pid); networks[network] == 0 {
				networks[network] = pid
			}
		}
	}
	ask := func(servers map[uint64]string) {
		for inode, server := range servers {
			if server != "" { // which they ask themselves
				delete(own, inode)
			}
		}
	}
	over := unixSockets()
	local := map[uint64]bool{}
	for _, x := range over {
		local[x.inode] = true
	}
	elsewise := false
	for _, has := range theirs {
		for inode := range has {
			elsewise = elsewise || !local[inode]
		}
	}
	ask(askedUnix(over))
	peers := peersAmong(over, own)
	for _, pid := range networks {
		if elsewise {
			tcp := overTCP(pid)
			ask(askedInet(tcp))
			ask(ServersOver(pid, UDP))
			maps.Copy(peers, inodes(opposite(tcp, own)))
		}
	}
	for pid, has := range theirs {
		for inode := range has {
			if peers[inode] {
				found[pid] = true
			}
		}
	}
	return found
}

// Hides reports that this user may not see the connections of a process.
func Hides(pid int) bool {
	dir, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err == nil {
		_ = dir.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// sockets are those of a process, by inode.
func sockets(pid int) map[uint64]bool {
	found := map[uint64]bool{}
	for _, name := range descriptors(pid) {
		if inode, err := InodeOf(name); err == nil {
			found[inode] = true
		}
	}
	return found
}

// socketsOf are those of several.
func socketsOf(pids []int) map[uint64]bool {
	found := map[uint64]bool{}
	for _, pid := range pids {
		maps.Copy(found, sockets(pid))
	}
	return found
}

// descriptors are what those of a process lead to, by their numbers: none of a process that has ended, or of another
// user's.
func descriptors(pid int) iter.Seq2[string, string] {
	return func(yield func(fd, name string) bool) {
		dir, err := unix.Open(fmt.Sprintf("/proc/%d/fd", pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(dir)
		var name [unix.PathMax]byte
		for _, fd := range names(dir) {
			n, err := unix.Readlinkat(dir, fd, name[:])
			if err == nil && !yield(fd, string(name[:n])) {
				return
			}
		}
	}
}

// peersAmong are the other ends of Unix sockets.
func peersAmong(all []unixSocket, own map[uint64]bool) map[uint64]bool {
	peers := map[uint64]bool{}
	for _, x := range all {
		if own[x.inode] && x.peer != 0 {
			peers[x.peer] = true
		}
	}
	return peers
}

// loopback are the other ends of TCP connections of a process that stay on this host.
func loopback(pid int, own map[uint64]bool) map[uint64]bool {
	return inodes(opposite(overTCP(pid), own))
}

// inodes are those of sockets that a process has accepted.
func inodes(all []*inetSocket) map[uint64]bool {
	found := map[uint64]bool{}
	for _, x := range all {
		if x.inode != 0 {
			found[x.inode] = true
		}
	}
	return found
}

// opposite are the other ends of some TCP sockets of a network. One that nobody has accepted yet has no inode.
func opposite(all []*inetSocket, own map[uint64]bool) (found []*inetSocket) {
	type end struct {
		ip   string
		port uint64
	}
	at := func(ip net.IP, port uint64) end { return end{ip.String(), port} } // one text for an address of either family
	mine := map[[2]end]bool{}
	for _, x := range all {
		if own[x.inode] {
			mine[[2]end{at(x.local, x.localPort), at(x.remote, x.remotePort)}] = true
		}
	}
	for _, x := range all {
		if mine[[2]end{at(x.remote, x.remotePort), at(x.local, x.localPort)}] {
			found = append(found, x)
		}
	}
	return found
}
