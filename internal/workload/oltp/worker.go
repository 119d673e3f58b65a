package oltp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
)

const job = "oltp"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: func() worker.Func { return worker.Handle((&server{}).answer) }}}
}

// question asks for a database, and with a count for a run on a copy of it.
type question struct {
	Dir      string   // of the files
	Server   *cluster // PostgreSQL; nil: SQLite
	Rows     int64
	Count    int64
	Reads    float64
	Seed     uint64
	Workers  int
	Room     room
	Scan     int // bytes; 0: nothing scans
	Sync     string
	Rate     float64 // arrivals a second; 0: closed
	Even     bool
	MaxPages int           // of the database, a test's full disk
	Stall    time.Duration // of the transaction in the midst of a run, a test's
}

// answer is what a run gave, in seconds.
type answer struct {
	Reads  []float64 // times of transactions
	Writes []float64
	Wall   float64
	CPU    float64 // of all but the scanner
	HasCPU bool
	NoCPU  string // why not, where that is known
	Scan   scan
	Check  uint64 // sum of what the reads returned
}

// heap is how much of it may become garbage before it is collected. The collector is
// off in workers, and the driver leaves some 1 kB a transaction.
const heap = 1 << 30

// server is the state of a worker process.
type server struct {
	start  totals // of a new database
	rows   int64
	filled int    // PID of the PostgreSQL that has them
	synced string // what that is set to
}

func (s *server) answer(q question) (a answer, err error) {
	if q.Rows < 1 || q.Rows > maxRows || q.Count < 0 || q.Count > maxCount || q.Workers < 1 || q.Dir == "" {
		return a, fmt.Errorf("%d transactions of %d workers on %d rows in %q", q.Count, q.Workers, q.Rows, q.Dir)
	}
	debug.SetMemoryLimit(heap)
	a, err = s.run(context.Background(), q) // a run that is cancelled ends with this process
	if errors.Is(err, thread.ErrNoCPU) {
		return a, err
	}
	if q.Server != nil {
		if said := privatedb.PostgreSQL.Answer(err, q.Server.Dir); said != nil {
			err = said
		}
		return a, err
	}
	return a, database.ExplainFile(q.Dir, err)
}

// base makes the database that runs start from, unless it is there.
func (s *server) base(ctx context.Context, q question) (string, error) {
	file := filepath.Join(q.Dir, fmt.Sprintf("base-%d.db", q.Rows))
	if _, err := os.Stat(file); err == nil && s.rows == q.Rows {
		return file, nil
	}
	// One that a worker left which was ended in the midst of it is of no use.
	old, err := filepath.Glob(filepath.Join(q.Dir, "base-*.db"))
	if err != nil {
		return "", err
	}
	for _, name := range append(old, file) {
		if err := remove(name); err != nil {
			return "", err
		}
	}
	s.rows = 0
	db, err := open(file, "", q.MaxPages)
	if err == nil {
		err = errors.Join(database.Fill(ctx, db, schema, tables(q.Rows)...), db.Close())
	}
	if err != nil {
		return "", errors.Join(err, remove(file))
	}
	s.rows, s.start = q.Rows, startTotals(q.Rows)
	return file, nil
}

func (s *server) run(ctx context.Context, q question) (a answer, err error) {
	if q.Server != nil {
		return s.runServer(ctx, q)
	}
	from, err := s.base(ctx, q)
	if err != nil || q.Count == 0 {
		return a, err
	}
	file := filepath.Join(q.Dir, "run.db")
	if err := remove(file); err != nil { // of a worker that was ended
		return a, err
	}
	defer func() { err = errors.Join(err, remove(file)) }()
	if err := copyFile(from, file); err != nil {
		return a, err
	}
	db, err := open(file, q.Sync, q.MaxPages)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return s.judged(ctx, q, db)
}

// runServer is run on PostgreSQL, whose own copy of a database is what runs start from.
func (s *server) runServer(ctx context.Context, q question) (a answer, err error) {
	c := q.Server
	if s.filled != c.PID || s.rows != q.Rows {
		s.filled, s.rows, s.synced = 0, 0, ""
		if err := c.fill(ctx, q.Rows); err != nil {
			return a, err
		}
		s.filled, s.rows, s.start = c.PID, q.Rows, startTotals(q.Rows)
	}
	if q.Count == 0 {
		return a, nil
	}
	if s.synced != q.Sync {
		if err := c.sync(ctx, q.Sync); err != nil {
			return a, err
		}
		s.synced = q.Sync
	}
	if err := c.admin(ctx, append(end(copied), "CREATE DATABASE "+copied+" TEMPLATE "+base, "CHECKPOINT")...); err != nil {
		return a, err
	}
	db, err := c.open(copied, q.Sync == "full")
	if err != nil {
		return a, err
	}
	defer db.Close()
	if a, err = s.judged(ctx, q, db); err != nil {
		return a, err // the next run drops the copy
	}
	return a, c.admin(ctx, end(copied)...)
}

// judged makes a run, and compares what was read and what the database then has with what
// its transactions say.
func (s *server) judged(ctx context.Context, q question, db *sql.DB) (a answer, err error) {
	var writers *sync.Mutex
	if q.Server == nil {
		writers = &sync.Mutex{}
	}
	clients := make([]*client, q.Workers)
	for i := range clients {
		c, err := newClient(ctx, db, q.Rows, writers)
		if err != nil {
			return a, err
		}
		defer c.close() //nolint:errcheck // what it did was checked
		if q.Server != nil {
			if err := c.keep(ctx, q.Room.Workers); err != nil {
				return a, err
			}
		}
		clients[i] = c
	}
	r := &run{q: q, load: load{q.Rows, q.Reads, q.Seed}, clients: clients}
	if a, err = r.timed(ctx); err != nil {
		return a, err
	}
	want := s.start
	reads := uint64(0)
	for _, t := range r.all {
		want.add(t)
		reads += t.want(q.Rows)
	}
	if got := r.read.Load(); got != reads {
		return a, fmt.Errorf("the reads of a run returned other data than was written (checksum %x, expected %x): the database "+
			"is broken", got, reads)
	}
	a.Check = reads
	got, err := readTotals(ctx, db)
	if err == nil && got != want {
		err = fmt.Errorf("the database has %v, expected %v: transactions were lost, or made twice", got, want)
	}
	return a, err
}

// run is a run that is ready.
type run struct {
	q       question
	load    load
	clients []*client
	all     []transaction
	due     []time.Duration // of each, from the begin; nil: closed
	next    atomic.Int64
	failed  atomic.Bool
	read    atomic.Uint64 // sum of what was read
}

func (r *run) timed(ctx context.Context) (a answer, err error) {
	r.prepare()
	for _, c := range r.clients { // statements and the first pages are warm
		for n := range min(50, r.q.Rows) {
			if _, err := c.do(ctx, transaction{kind: pointRead, at: 1 + n*r.q.Rows/50%r.q.Rows}); err != nil {
				return a, err
			}
		}
	}
	var s *scanner
	if r.q.Scan > 0 {
		s = newScanner(r.q.Room.Scanner, r.q.Scan)
		if err := s.wait(); err != nil {
			return a, err
		}
	}
	runtime.GC() // the heap of the run before
	used := r.cpu()
	if s != nil {
		close(s.start)
	}
	times, err := r.work(ctx)
	if s != nil {
		did, serr := s.finish()
		a.Scan, err = did, errors.Join(err, serr)
	}
	a.CPU, a.HasCPU, a.NoCPU = used()
	if err != nil {
		return a, err
	}
	a.CPU -= a.Scan.CPU.Seconds()
	a.HasCPU = a.HasCPU && (s == nil || a.Scan.HasCPU)
	a.Wall = wall(times)
	for i, t := range r.all {
		if t.kind == newOrder {
			a.Writes = append(a.Writes, times[i].time.Seconds())
		} else {
			a.Reads = append(a.Reads, times[i].time.Seconds())
		}
	}
	return a, nil
}

// cpu begins to count the CPU time of this process, and of the server's. used is what
// they have used since, in seconds; why is why it is not ok, where that is known.
func (r *run) cpu() (used func() (cpu float64, ok bool, why string)) {
	server := func() (privatedb.Usage, error) { return privatedb.Usage{}, nil }
	if r.q.Server != nil {
		server = (&privatedb.Meter{Server: r.q.Server.PID}).Read
	}
	theirs, err := server()
	own, ok := thread.ProcessCPU()
	return func() (float64, bool, string) {
		after, _ := thread.ProcessCPU()
		u, uerr := server()
		if err := errors.Join(err, uerr); err != nil {
			return 0, false, err.Error()
		}
		more, doubt := u.Since(theirs)
		return (after - own + more).Seconds(), ok && doubt == "", doubt
	}
}

// prepare draws all transactions and arrivals, so that drawing them is not timed.
func (r *run) prepare() {
	r.all = make([]transaction, r.q.Count)
	for i := range r.all {
		r.all[i] = r.load.transaction(int64(i))
	}
	if r.q.Rate <= 0 {
		return
	}
	var zero time.Time
	arrivals := workload.Poisson(zero, r.q.Rate, r.q.Seed)
	if r.q.Even {
		arrivals = workload.Even(zero, r.q.Rate)
	}
	r.due = make([]time.Duration, r.q.Count)
	for i := range r.due {
		r.due[i] = arrivals.Next().Sub(zero)
	}
}

// took is when a transaction ended, from the begin, and its time from when it was due.
type took struct{ end, time time.Duration }

func wall(all []took) float64 {
	last := time.Nanosecond
	for _, t := range all {
		last = max(last, t.end)
	}
	return last.Seconds()
}

// work has the workers make all transactions, which begin when all threads are there.
func (r *run) work(ctx context.Context) ([]took, error) {
	times := make([]took, len(r.all))
	var here, gone sync.WaitGroup
	here.Add(len(r.clients))
	var begin time.Time
	start := make(chan struct{})
	errs := make([]error, len(r.clients))
	for i, c := range r.clients {
		arrived := sync.OnceFunc(here.Done)
		end := thread.Within(r.q.Room.Workers, func() error {
			arrived()
			<-start
			return r.loop(ctx, c, begin, times)
		})
		gone.Go(func() {
			if errs[i] = <-end; errs[i] != nil {
				r.failed.Store(true)
			}
			arrived() // one that did not get on its CPUs
		})
	}
	here.Wait()
	begin = time.Now()
	close(start)
	gone.Wait()
	return times, errors.Join(errs...)
}

func (r *run) loop(ctx context.Context, c *client, begin time.Time, times []took) error {
	sum := uint64(0)
	defer func() { r.read.Add(sum) }()
	for !r.failed.Load() {
		n := r.next.Add(1) - 1
		if n >= int64(len(r.all)) {
			return nil
		}
		from := time.Since(begin)
		if r.due != nil {
			if from = r.due[n]; time.Since(begin) < from {
				thread.Sleep(from - time.Since(begin))
			}
		}
		if r.q.Stall > 0 && n == int64(len(r.all))/2 {
			time.Sleep(r.q.Stall)
		}
		got, err := c.do(ctx, r.all[n])
		if err != nil {
			return err
		}
		sum += got
		end := time.Since(begin)
		times[n] = took{end, end - from}
	}
	return nil
}
