// Package demo is a service of hostlab's own, to be watched where no other is wanted: a shop
// whose clients think, look at things, and pay in small durable commits. It runs in a process of its own, so that what
// the kernel counts of it is its own, and tells an observer what its clients do as a database does. Each client is a
// thread that waits in the kernel and nowhere else: what Go's scheduler and collector do meanwhile would be waits that
// nobody counts.
package demo

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

// The load of the shop.
const (
	reads  = 30                     // of a transaction
	payers = 0.5                    // share of transactions that pay
	own    = 200 * time.Microsecond // that a client computes on its own side amid a transaction
	most   = 16                     // clients
)

func clients() int { return min(4*runtime.NumCPU(), most) }

// load is how many CPUs the clients take together: an eighth of the host's, and one at most.
func load() float64 { return min(float64(runtime.NumCPU())/8, 1) }

// state is what a client does at a moment.
type state int32

const (
	idle state = iota
	running
	commit
	between // in a transaction, at its own work
	states
)

// counters grow over the life of the shop.
type counters struct {
	Transactions int64         `json:"transactions"`
	Commits      int64         `json:"commits"`
	CPU          int64         `json:"cpu"`    // ns, of the clients' threads
	Queue        int64         `json:"queue"`  // ns in which those were ready for a CPU
	Known        bool          `json:"known"`  // this system tells both
	Waited       [states]int64 `json:"waited"` // ns neither on a CPU nor ready for one
}

// look is what an observer sees.
type look struct {
	Clients  []seen   `json:"clients"`
	Counters counters `json:"counters"`
}

type seen struct {
	Thread int64 `json:"thread"`
	State  state `json:"state"`
}

// request is one of the parent's.
type request struct {
	Dir string `json:"dir"` // opens the shop there, once; "" looks
}

// Jobs is what the demo's process does. Without its parent it removes the shop's files.
func Jobs() []worker.Job {
	s := &shop{}
	return []worker.Job{{Name: "demo", End: s.close, New: func() worker.Func {
		return worker.Handle(func(r request) (look, error) {
			if r.Dir != "" {
				if err := s.open(r.Dir); err != nil {
					return look{}, err
				}
			}
			return s.look()
		})
	}}}
}

type shop struct {
	store   *ledger // nil: it is not open
	dir     string
	clients []*client
	think   atomic.Int64 // ns, mean

	transactions, commits, cpu, queue atomic.Int64
	unknown                           atomic.Bool // cpu and queue are
	waited                            [states]atomic.Int64
	failed                            atomic.Pointer[error]
}

// open fills the shop and lets its clients in.
func (s *shop) open(dir string) (err error) {
	debug.SetGCPercent(100) // a worker has no collector, for hot loops; looks at this one leave garbage
	s.dir = dir
	if s.store, err = openLedger(dir); err != nil {
		return err
	}
	s.think.Store(int64(20 * time.Millisecond))
	ready := make(chan struct{})
	for i := range clients() {
		c := &client{shop: s}
		s.clients = append(s.clients, c)
		go c.serve(uint64(i), ready)
	}
	for range s.clients {
		<-ready
	}
	go s.pace()
	return nil
}

func (s *shop) close() {
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// pace holds the load: clients think the longer the more CPU time they take together.
func (s *shop) pace() {
	const step = 200 * time.Millisecond
	before, _ := thread.ProcessCPU()
	for at := time.Now(); ; {
		time.Sleep(step)
		now, _ := thread.ProcessCPU()
		t := time.Now()
		took := (now - before).Seconds() / t.Sub(at).Seconds()
		before, at = now, t
		f := min(max(took/load(), 0.7), 1.4)
		s.think.Store(min(max(int64(float64(s.think.Load())*f), int64(50*time.Microsecond)), int64(time.Second)))
	}
}

func (s *shop) look() (look, error) {
	if err := s.failed.Load(); err != nil {
		return look{}, *err
	}
	if s.store == nil {
		return look{}, errors.New("the shop is not open")
	}
	l := look{Counters: counters{Transactions: s.transactions.Load(), Commits: s.commits.Load(), CPU: s.cpu.Load(),
		Queue: s.queue.Load(), Known: !s.unknown.Load()}}
	for i := range s.waited {
		l.Counters.Waited[i] = s.waited[i].Load()
	}
	for _, c := range s.clients {
		l.Clients = append(l.Clients, seen{c.thread, state(c.state.Load())})
	}
	return l, nil
}
