package waits

import (
	"strings"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

// asked are the connected sockets of a network, by inode, with the server that is asked by one; "": it serves others.
type asked struct {
	next    time.Time // that they may be listed anew
	servers map[uint64]string
	// since is when those of UDP that are not connected came, as of the last list; zero: before the first one, which is
	// all that is known. Who serves keeps one, and who asks may open one for each request, as musl's resolver does
	// (res_msend.c).
	since map[uint64]time.Time
}

// Nobody lists sockets again for so many times as long as that had a CPU, at least for listEach.
const (
	listPause = 400
	listEach  = time.Second / 10
	// A resolver gives a request up within this time: two tries of 5 s each (resolv.conf(5)). Who keeps a socket for
	// longer serves.
	givesUp = 15 * time.Second
)

// unlisted begins the name of sockets of a protocol that came after those were listed. A client that connects anew for
// each request has many.
const unlisted = "new socket over "

// begun are such sockets of a process.
type begun struct {
	pid  int
	name string
}

// sockets say which servers threads ask by theirs.
type sockets struct {
	network map[int]string                      // of processes
	asked   map[string]map[proc.Protocol]*asked // by network
	fresh   map[begun]map[string]float64        // lists that were made for new sockets, by the server that those showed
}

// server is the address of the server that a process asks by a socket, as its descriptor names it; "": it asks none. It
// may begin with unlisted.
func (w *sockets) server(pid int, fd int64, socket string) string {
	inode, err := proc.InodeOf(socket)
	if err != nil {
		return ""
	}
	if w.network == nil {
		w.network, w.asked, w.fresh = map[int]string{}, map[string]map[proc.Protocol]*asked{}, map[begun]map[string]float64{}
	}
	network, known := w.network[pid]
	if !known {
		network = proc.Network(pid)
		w.network[pid] = network
	}
	for _, of := range w.asked[network] {
		if address, known := of.servers[inode]; known {
			return address
		}
	}
	protocol := proc.ProtocolOf(pid, fd)
	of := w.asked[network][protocol]
	if of == nil {
		of = &asked{}
		if w.asked[network] == nil {
			w.asked[network] = map[proc.Protocol]*asked{}
		}
		w.asked[network][protocol] = of
	}
	if protocol == "" {
		return ""
	} else if time.Now().Before(of.next) {
		return unlisted + string(protocol)
	}
	began, _ := thread.CPUTime() // of that on which Look runs
	before := of.since
	of.servers, of.since = proc.ServersOver(pid, protocol), map[uint64]time.Time{}
	for inode, address := range of.servers {
		if address != proc.Unnamed {
			continue
		}
		came, known := before[inode]
		if !known && before != nil {
			came = time.Now()
		}
		if of.since[inode] = came; time.Since(came) > givesUp {
			of.servers[inode] = ""
		}
	}
	now, _ := thread.CPUTime()
	of.next = time.Now().Add(max(listEach, listPause*(now-began)))
	address := of.servers[inode]
	of.servers[inode] = address // closed meanwhile, or not connected
	if _, bare := of.since[inode]; bare && before == nil {
		return "" // it may ask or serve
	}
	kind := begun{pid, unlisted + string(protocol)}
	if w.fresh[kind] == nil {
		w.fresh[kind] = map[string]float64{}
	}
	w.fresh[kind][address]++
	return address
}

// share divides the waits on sockets that came after they were listed, as those ended for which a list was made.
func (w *sockets) share(tally map[Thread]map[Wait]float64) {
	for id, looks := range tally {
		for wait, s := range looks {
			if !strings.HasPrefix(wait.On, unlisted) {
				continue
			}
			delete(looks, wait)
			servers, all := w.fresh[begun{id.PID, wait.On}], 0.0
			for _, n := range servers {
				all += n
			}
			if wait.On = ""; wait.Kind == Peer {
				wait.On = "socket"
			}
			for server, n := range servers {
				to := wait
				if server != "" {
					to.Kind, to.On = Server, server
				}
				looks[to] += s * n / all
			}
			if all == 0 {
				looks[wait] += s
			}
		}
	}
}
