package proc

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// otherEnd is a process at the other end of some sockets of a process.
func otherEnd(pid int, own map[uint64]bool) int {
	if len(own) == 0 {
		return 0
	}
	peers := unixPeers(own)
	maps.Copy(peers, loopback(pid, own))
	if len(peers) == 0 {
		return 0
	}
	all, _ := Numbers()
	for _, other := range all {
		if other == pid {
			continue
		}
		for inode := range sockets(other) {
			if peers[inode] {
				return other
			}
		}
	}
	return 0
}

// ClientsAmong are those of some processes that have a connection which others of this host serve: each has the other
// end. The kernel walks its whole table of connections for a list of a network's, which takes milliseconds where it is
// large, so that each network is asked once for all servers in it.
func ClientsAmong(some, servers []int) map[int]bool {
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
	ask(askedUnix())
	peers := map[uint64]bool{}
	for _, pid := range networks {
		tcp := overTCP(pid)
		ask(askedInet(tcp))
		ask(ServersOver(pid, UDP))
		maps.Copy(peers, inodes(opposite(tcp, own)))
	}
	maps.Copy(peers, unixPeers(own))
	found := map[int]bool{}
	for _, pid := range some {
		for inode := range sockets(pid) {
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
		dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			name, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err == nil && !yield(e.Name(), name) {
				return
			}
		}
	}
}

// unixPeers are the other ends of Unix sockets.
func unixPeers(own map[uint64]bool) map[uint64]bool {
	peers := map[uint64]bool{}
	eachUnix(func(x unixSocket) {
		if own[x.inode] && x.peer != 0 {
			peers[x.peer] = true
		}
	})
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
