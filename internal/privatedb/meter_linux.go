package privatedb

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/prometheus/procfs"
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
	started uint64 // clock ticks after boot
}

// tries is how often a reading is begun again because a process ended meanwhile.
const tries = 100

// Read reads it.
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
func (m *Meter) count(server process, live map[child]time.Duration) Usage {
	for c, used := range m.live {
		if _, there := live[c]; !there {
			m.ended += used
		}
	}
	m.ended = max(m.ended, server.ended)
	m.live = live
	u := Usage{All: server.cpu + m.ended, Session: map[int]time.Duration{}, Ended: server.faults}
	for c, used := range live {
		u.Session[c.pid] = used
		u.All += used
	}
	return u
}

// family is a server and its children at one moment. Where it is not steady one ended
// meanwhile, and may be among the ended, among the children, in both or in neither.
func family(pid int) (server process, live map[child]time.Duration, steady bool, err error) {
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
		if p.parent == server.pid {
			live[child{p.pid, p.started}] = p.cpu
			steady = steady && !p.reaped
		}
	}
	after, err := readProcess(pid)
	return server, live, steady && after.faults == server.faults, err
}

// process is what proc_pid_stat(5) has of one, and its CPU time.
type process struct {
	pid, parent int
	started     uint64
	cpu         time.Duration
	ended       time.Duration // CPU time of its children that it has waited for, rounded down twice to units
	faults      int64         // of those: none ends without one, since it first writes to a page that it shares
	reaped      bool          // waited for, and there for a moment more
}

func readProcess(pid int) (p process, err error) {
	at, err := procfs.NewProc(pid)
	if err != nil {
		return p, err
	}
	s, err := at.Stat()
	if err != nil {
		return p, err
	}
	const tick = time.Second / userHz
	p = process{pid: pid, parent: s.PPID, started: s.Starttime, faults: int64(s.CMinFlt + s.CMajFlt), //nolint:gosec // a count since boot
		ended: time.Duration(s.CUTime+s.CSTime) * tick, reaped: s.State == "X"}
	if p.cpu, err = ProcessCPU(pid); err != nil { // a sandbox, or the process has just ended
		p.cpu = time.Duration(s.UTime+s.STime) * tick //nolint:gosec // times since boot
	}
	return p, nil
}

// waitGone waits for the end of a child of the server's that is about to end, but not
// for long: what it does until then is in nobody's measurement.
func waitGone(server, pid int) {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if p, err := readProcess(pid); err != nil || p.parent != server {
			return
		}
	}
}
