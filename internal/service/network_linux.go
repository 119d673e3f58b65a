package service

import (
	"net/netip"
	"os"
	"time"

	"hostlab/internal/proc"

	"golang.org/x/sys/unix"
)

// Network adds up what clients' connections to a server on this host have waited for the
// network, as the kernel's sockets tell it: each request that came took one round trip.
type Network struct {
	port uint16
	last map[connection]looked
	sum  Trips
}

type looked struct {
	came  uint32 // requests, until then
	brief bool   // of another host, and not there at the look before
}

// Trips are the round trips of clients beyond loopback.
type Trips struct {
	Count int64 // at most: a long request comes in several segments
	// Least and Most are the time of them all, by each connection's shortest round trip and
	// by its smoothed one, which has the delay of acknowledgements in it where a client
	// thinks between requests (tcp(7): tcpi_min_rtt, tcpi_rtt).
	Least, Most time.Duration
	// Connections are those that were seen, and Local those of them over loopback, which pay
	// no network.
	Connections, Local int
	// Brief are those of other hosts that were there at one look alone: of what they asked before and after, nothing is
	// known.
	Brief int
	// Untold are those of other hosts of which this kernel tells bytes and no requests (before Linux 4.6).
	Untold int
}

type connection struct {
	peer string
	port uint64
}

// NoPort is why no port of a service is known.
func NoPort() string {
	needs := "root, in the service's network namespace"
	if os.Geteuid() == 0 && !proc.Capable(unix.CAP_SYS_PTRACE) {
		needs = "the capability SYS_PTRACE, which root does not have in this container"
	}
	return "its network port cannot be seen, so its clients' round trips are not counted; that takes " + needs
}

// NewNetwork begins to count for the server that listens on a port.
func NewNetwork(port uint16) (*Network, error) {
	n := &Network{port: port, last: map[connection]looked{}}
	if err := n.Look(); err != nil {
		return nil, err
	}
	n.sum = Trips{Connections: n.sum.Connections, Local: n.sum.Local, Untold: n.sum.Untold}
	return n, nil
}

// Look adds what came since the last look. What a connection did that began and ended between
// two looks is not seen.
func (n *Network) Look() error {
	all, err := proc.Established(n.port)
	if err != nil {
		return err
	}
	seen := map[connection]looked{}
	for _, c := range all {
		key := connection{c.Remote.String(), c.RemotePort}
		came := c.Info.Data_segs_in
		last, known := n.last[key]
		before := last.came
		if !known {
			n.sum.Connections++
		}
		local := c.Remote.IsLoopback() || c.Remote.Equal(c.Local) || c.Local.IsLoopback()
		seen[key] = looked{came, !local && !known}
		if local {
			if !known {
				n.sum.Local++
			}
			continue
		}
		if !known && came == 0 && c.Info.Bytes_received > 0 {
			n.sum.Untold++
		}
		if came < before { // another connection from the same port
			before = 0
		}
		trips := int64(came - before)
		n.sum.Count += trips
		n.sum.Least += time.Duration(trips) * time.Duration(c.Info.Min_rtt) * time.Microsecond
		n.sum.Most += time.Duration(trips) * time.Duration(max(c.Info.Rtt, c.Info.Min_rtt)) * time.Microsecond
	}
	for key, was := range n.last {
		if _, still := seen[key]; !still && was.brief {
			n.sum.Brief++
		}
	}
	n.last = seen
	return nil
}

// Trips is what was seen since the first look.
func (n *Network) Trips() Trips { return n.sum }

// Port is the one on which a process listens for other hosts, the lowest of them: 0 where there
// is none. known is not set where this user may not see it.
func Port(pid int) (port uint16, known bool) {
	its := proc.Network(pid)
	if its == "" || its != proc.Network(os.Getpid()) || proc.Hides(pid) {
		return 0, false
	}
	for _, address := range proc.Listens(pid) {
		at, err := netip.ParseAddrPort(address)
		if err == nil && (port == 0 || at.Port() < port) {
			port = at.Port()
		}
	}
	return port, true
}
