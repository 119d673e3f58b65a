// Package demo is a service of hostlab's own, to be watched where no other is wanted: a shop
// whose clients think, read, and pay in small durable commits. Its load is a third of the CPUs.
// On SQLite it runs in a process of its own, so that what the kernel counts of it is its own,
// and tells an observer what its clients do as a database does. On PostgreSQL that process has
// the clients, and the service is a private server.
package demo

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
	"hostlab/internal/workload/database"
)

// Load is the share of the CPUs that the clients take together.
const Load = 1.0 / 3

// The sizes of the shop: it fits into memory, and a read is some tens of microseconds.
const (
	accounts = 20000
	reads    = 20                     // of a transaction
	writers  = 0.25                   // share of transactions that pay
	own      = 200 * time.Microsecond // that a client computes on its own side amid a transaction
)

// state is what a client does at a moment.
type state int32

const (
	idle state = iota
	running
	locked // waits for the one writer that SQLite allows
	commit
	between // in a transaction, at its own work
)

// counters grow over the life of the shop.
type counters struct {
	Transactions int64 `json:"transactions"`
	Commits      int64 `json:"commits"`
	CommitWait   int64 `json:"commit_wait"` // ns in COMMIT neither on a CPU nor waiting for one
	LockWait     int64 `json:"lock_wait"`   // ns
}

// look is what an observer sees.
type look struct {
	Server   int      `json:"server"` // process of its own database server; 0: none
	Socket   string   `json:"socket"` // directory of that one's socket
	Clients  []seen   `json:"clients"`
	Counters counters `json:"counters"`
}

type seen struct {
	Thread int64 `json:"thread"`
	State  state `json:"state"`
}

// request is one of the parent's.
type request struct {
	Dir    string `json:"dir"`    // opens the shop there, once; "" looks
	Engine string `json:"engine"` // one of engines
	Close  bool   `json:"close"`  // the shop, and its server
}

// Jobs is what the demo's process does. Without its parent it closes the shop.
func Jobs() []worker.Job {
	s := &shop{}
	return []worker.Job{{Name: "demo", End: s.close, New: func() worker.Func {
		return worker.Handle(func(r request) (look, error) {
			switch {
			case r.Close:
				s.close()
				return look{}, nil
			case r.Dir != "":
				if err := s.open(r.Dir, engines[r.Engine]); err != nil {
					return look{}, database.ExplainFile(r.Dir, err)
				}
			}
			return s.look()
		})
	}}}
}

type shop struct {
	engine
	dir     string
	db      *sql.DB
	server  *privatedb.Server // nil: none
	clients []*client
	writer  sync.Mutex
	think   atomic.Int64 // ns, mean

	transactions, commits, commitWait, lockWait atomic.Int64
	failed                                      atomic.Pointer[error]
}

type client struct {
	thread int64
	state  atomic.Int32
}

// open fills the shop and lets its clients in.
func (s *shop) open(dir string, e engine) (err error) {
	debug.SetGCPercent(100) // a worker has none, for hot loops; this one allocates for a minute
	s.dir, s.engine = dir, e
	if s.db, s.server, err = e.open(dir); err != nil {
		return err
	}
	n := min(max(4, 4*runtime.NumCPU()), 300)
	s.db.SetMaxIdleConns(n)
	ctx := context.Background()
	for _, statement := range e.filling() {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	s.think.Store(int64(20 * time.Millisecond))
	ready := make(chan error, n)
	for i := range n {
		c := &client{}
		s.clients = append(s.clients, c)
		go s.serve(ctx, c, uint64(i), ready)
	}
	for range n {
		if err := <-ready; err != nil {
			return err
		}
	}
	go s.pace()
	return nil
}

// close ends the server of the shop and removes its files.
func (s *shop) close() {
	if s.server != nil {
		_ = s.server.Close() // what it leaves goes with the directory
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// used is the CPU time of the clients and of their server, s.
func (s *shop) used() float64 {
	own := proc.Own()
	if s.server != nil {
		if u, err := s.server.CPU(); err == nil {
			own += u.All.Seconds()
		}
	}
	return own
}

// pace holds the load: clients think the longer the more CPU time they take together.
func (s *shop) pace() {
	const step = 200 * time.Millisecond
	want := Load * float64(runtime.NumCPU())
	before, at := s.used(), time.Now()
	for {
		time.Sleep(step)
		now, t := s.used(), time.Now()
		took := (now - before) / t.Sub(at).Seconds()
		before, at = now, t
		f := min(max(took/want, 0.7), 1.4)
		s.think.Store(min(max(int64(float64(s.think.Load())*f), int64(50*time.Microsecond)), int64(5*time.Second)))
	}
}

// serve is a client until the process ends.
func (s *shop) serve(ctx context.Context, c *client, seed uint64, ready chan<- error) {
	runtime.LockOSThread()
	c.thread = int64(thread.Self())
	conn, err := s.db.Conn(ctx)
	ready <- err
	if err != nil {
		return
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for {
		time.Sleep(time.Duration(r.ExpFloat64() * float64(s.think.Load())))
		if err := s.transaction(ctx, conn, c, r); err != nil {
			s.failed.CompareAndSwap(nil, &err)
			return
		}
		c.state.Store(int32(idle))
		s.transactions.Add(1)
	}
}

func (s *shop) transaction(ctx context.Context, conn *sql.Conn, c *client, r *rand.Rand) error {
	c.state.Store(int32(running))
	for i := range reads {
		if i == reads/2 {
			c.state.Store(int32(between))
			time.Sleep(own)
			c.state.Store(int32(running))
		}
		var name string
		if err := conn.QueryRowContext(ctx, s.text("SELECT name FROM account WHERE id = ?"),
			1+r.IntN(accounts)).Scan(&name); err != nil {
			return err
		}
	}
	if r.Float64() >= writers {
		return nil
	}
	if s.alone {
		c.state.Store(int32(locked))
		began := time.Now()
		s.writer.Lock()
		defer s.writer.Unlock()
		s.lockWait.Add(int64(time.Since(began)))
		c.state.Store(int32(running))
	}
	amount := r.IntN(10)
	for _, step := range []struct {
		text string
		args []any
	}{
		{s.begin, nil},
		{"UPDATE account SET balance = balance - ? WHERE id = ?", []any{amount, 1 + r.IntN(accounts)}},
		{"UPDATE account SET balance = balance + ? WHERE id = ?", []any{amount, 1 + r.IntN(accounts)}},
	} {
		if _, err := conn.ExecContext(ctx, s.text(step.text), step.args...); err != nil {
			return err
		}
	}
	c.state.Store(int32(commit))
	began := time.Now()
	ran, queued, _ := proc.Schedstat("thread-self")
	_, err := conn.ExecContext(ctx, "COMMIT")
	ran2, queued2, _ := proc.Schedstat("thread-self")
	s.commitWait.Add(max(0, int64(time.Since(began)-(ran2-ran)-(queued2-queued))))
	s.commits.Add(1)
	c.state.Store(int32(running))
	return err
}

func (s *shop) look() (look, error) {
	if err := s.failed.Load(); err != nil {
		return look{}, *err
	}
	if s.db == nil {
		return look{}, errors.New("the shop is not open")
	}
	l := look{Counters: counters{s.transactions.Load(), s.commits.Load(), s.commitWait.Load(), s.lockWait.Load()}}
	if s.server != nil {
		l.Server, l.Socket = s.server.PID(), s.server.SocketDir()
	}
	for _, c := range s.clients {
		l.Clients = append(l.Clients, seen{c.thread, state(c.state.Load())})
	}
	return l, nil
}
