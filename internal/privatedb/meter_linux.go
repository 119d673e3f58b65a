package privatedb

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Meter reads what a server's processes have used so far: the one of that number and its
// children. It is safe for concurrent use.
//
// Those that live are read to the nanosecond, those that have ended count in units of
// 10 ms altogether. So a child's time would jump when it ends, also backwards; the meter
// remembers what each child had used, and counts those that have gone by that until the
// sum of Linux says more.
type Meter struct {
	Server int // process number

	mu    sync.Mutex
	live  map[child]time.Duration // at the last reading
	ended time.Duration           // no more than what all that have ended used, less than Coarse below it
}

// child tells a process from a later one of its number.
type child struct {
	pid     int
	started int64 // ticks after boot
}

// tries is how often a reading is begun again because a process ended meanwhile.
const tries = 100

func (m *Meter) Read() (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range tries {
		server, live, steady, err := family(m.Server)
		if err != nil {
			return Usage{}, err
		}
		if steady {
			return m.count(server, live), nil
		}
		time.Sleep(time.Millisecond)
	}
	return Usage{}, fmt.Errorf("processes of process %d end faster than they can be counted", m.Server)
}

// count takes a reading.
func (m *Meter) count(server proc.Stat, live map[child]time.Duration) Usage {
	for c, used := range m.live {
		if _, there := live[c]; !there {
			m.ended += used
		}
	}
	m.ended = max(m.ended, server.Reaped)
	m.live = live
	u := Usage{All: server.CPU + m.ended, Session: map[int]time.Duration{}, Ended: server.Faults}
	for c, used := range live {
		u.Session[c.pid] = used
		u.All += used
	}
	return u
}

// family is a server and its children at one moment. Where it is not steady one ended
// meanwhile, and may be among the ended, among the children, in both or in neither.
func family(pid int) (server proc.Stat, live map[child]time.Duration, steady bool, err error) {
	if server, err = readProcess(pid); err != nil {
		return server, nil, false, err
	}
	pids, err := proc.Numbers()
	if err != nil {
		return server, nil, false, err
	}
	live, steady = map[child]time.Duration{}, true
	for _, pid := range pids {
		p, err := readProcess(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return server, nil, false, err
		}
		if p.Parent == server.PID {
			live[child{p.PID, p.Started}] = p.CPU
			steady = steady && p.State != 'X'
		}
	}
	after, err := readProcess(pid)
	return server, live, steady && after.Faults == server.Faults, err
}

// readProcess reads one, with its CPU time as exact as can be.
func readProcess(pid int) (p proc.Stat, err error) {
	if p, err = proc.Read(pid); err != nil {
		return p, err
	}
	if exact, err := proc.CPUTime(pid); err == nil { // not in a sandbox, or when it has just ended
		p.CPU = exact
	}
	return p, nil
}
