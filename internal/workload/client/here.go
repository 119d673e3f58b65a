package client

import (
	"net"
	"strings"

	"hostlab/internal/explain"
)

// isHere reports whether a connection to that address stays on this host.
func isHere(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	switch {
	case !ok:
		return a != nil && strings.HasPrefix(a.Network(), "unix")
	case tcp.IP.IsLoopback():
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, o := range own {
		if n, ok := o.(*net.IPNet); ok && n.IP.Equal(tcp.IP) {
			return true
		}
	}
	return false
}

// account is the CPU time of a session of a server of the user's and its wait for a
// CPU, where the server says which process or thread serves it and that is one of this
// host, by its name: behind a forwarded port or in a container the number is another's.
func account(here bool, id int, names ...string) (session, queued counter) {
	away := counter{why: "the server's processes are not of this host, or hidden"}
	if !here || id <= 0 {
		return away, away
	}
	comm, known := explain.Comm(int64(id)), false
	for _, n := range names {
		known = known || strings.HasPrefix(comm, n)
	}
	if !known {
		return away, away
	}
	run, queue, err := explain.SchedStat(int64(id))
	if err != nil {
		silent := counter{why: "this kernel does not tell"}
		return silent, silent
	}
	return counter{value: run}, counter{value: queue}
}
