//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// class is what a client waits for in a step, as far as the load is made so.
type class int

const (
	computes class = iota // the server computes
	commits               // the log
	locked                // a row that another client has changed
	reads                 // pages that are in no cache
	pauses                // the client's own
	classes
)

// step is a statement, or a pause of the client. In its text :own is the client's own row, and
// :any a row at random.
type step struct {
	Class class
	SQL   string
	Pause time.Duration
}

// clients are sessions that repeat a transaction. They run in a process of their own, at a
// priority above all others, so that they hardly wait for CPUs themselves.
type clients struct {
	Vendor, Socket string
	N, Rows        int
	Steps          []step
	Together       bool          // all statements in one request
	Think          time.Duration // between transactions, mean
	Trip           time.Duration // of a round trip to the server
}

// totals are what clients have done, in seconds of all together.
type totals struct {
	At           float64 // s since they began
	Transactions int64
	Inside       float64 // from the first statement to the end of the last
	By           [classes]float64
}

// seen are totals now and at moments before.
type seen struct {
	totals
	Marks []totals
	Port  uint16 // of the relay behind the network; 0: none
}

// marking is the time between two marks.
const marking = 250 * time.Millisecond

type crowd struct {
	began time.Time
	n     atomic.Int64
	spent [classes]atomic.Int64 // ns
	in    atomic.Int64
	mu    sync.Mutex
	marks []totals
	port  uint16
	fails atomic.Pointer[error]
}

func (c *crowd) now() (t totals) {
	t.At, t.Transactions, t.Inside = time.Since(c.began).Seconds(), c.n.Load(), float64(c.in.Load())*1e-9
	for i := range t.By {
		t.By[i] = float64(c.spent[i].Load()) * 1e-9
	}
	return t
}

// ask starts clients where a request has some, and says what they have done.
func (c *crowd) ask(r clients) (seen, error) {
	if r.N > 0 {
		if err := c.start(r); err != nil {
			return seen{}, err
		}
	}
	if err := c.fails.Load(); err != nil {
		return seen{}, *err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return seen{c.now(), c.marks, c.port}, nil
}

func (c *crowd) start(r clients) error {
	prefer(os.Getpid(), 2)
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.Socket)
	}
	if r.Trip > 0 {
		var err error
		if dial, err = c.far(r); err != nil {
			return err
		}
	}
	db, err := open(r.Vendor, dial)
	if err != nil {
		return err
	}
	db.SetMaxIdleConns(r.N)
	c.began = time.Now()
	for i := range r.N {
		conn, err := db.Conn(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := c.serve(conn, r, i); err != nil {
				c.fails.Store(&err)
			}
		}()
	}
	go func() {
		for range time.Tick(marking) {
			now := c.now()
			c.mu.Lock()
			c.marks = append(c.marks, now)
			c.mu.Unlock()
		}
	}()
	return nil
}

// prefer puts all threads of a process before what else runs on this host, as if that did not
// run: at a priority of real time (sched(7)), which what they start inherits.
func prefer(pid, priority int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			rank(id, priority)
		}
	}
}

// rank gives a thread a priority of real time; 0: the usual way to share CPUs.
func rank(id, priority int) {
	a := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if priority > 0 {
		a.Policy, a.Priority = unix.SCHED_RR, uint32(priority) //nolint:gosec // 1 or 2
	}
	_ = unix.SchedSetAttr(id, a, 0) // it may have ended
}

// here stands for a test where there is none: what fails ends the process, and the parent has
// its last words.
type here struct{ testing.TB }

func (here) Helper()        {}
func (here) Cleanup(func()) {}
func (here) Fatal(args ...any) {
	panic(fmt.Sprint(args...))
}
func (here) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// far lets clients come through a network, to a relay beside the server.
func (c *crowd) far(r clients) (func(context.Context) (net.Conn, error), error) {
	leave() // what a killed process has left
	f := testkit.NewFar(here{}, namespace, r.Trip)
	l, err := net.Listen("tcp4", f.Near+":0")
	if err != nil {
		return nil, err
	}
	c.port = uint16(l.Addr().(*net.TCPAddr).Port) //nolint:errcheck,forcetypeassert,gosec // it is one
	go relay(l, r.Socket)
	return func(context.Context) (conn net.Conn, err error) {
		err = f.Do(func() error { conn, err = net.Dial("tcp4", l.Addr().String()); return err })
		return conn, err
	}, nil
}

const namespace = "hostlab-live"

// leave removes the network that clients came through.
func leave() { _ = exec.Command("ip", "netns", "del", namespace).Run() }

func relay(l net.Listener, socket string) {
	carry := func(to, from net.Conn) {
		b := make([]byte, 65536)
		for {
			n, err := from.Read(b)
			if err == nil {
				_, err = to.Write(b[:n])
			}
			if err != nil {
				to.Close()
				return
			}
		}
	}
	for {
		out, err := l.Accept()
		if err != nil {
			return
		}
		in, err := net.Dial("unix", socket)
		if err != nil {
			out.Close()
			continue
		}
		go carry(in, out)
		go carry(out, in)
	}
}

// mark is how our sessions call themselves.
const mark = "live"

func open(vendor string, dial func(context.Context) (net.Conn, error)) (*sql.DB, error) {
	if vendor == privatedb.PostgreSQL.Name {
		c, err := pgx.ParseConfig("host=/ user=" + privatedb.Role + " dbname=postgres sslmode=disable application_name=" + mark)
		if err != nil {
			return nil, err
		}
		c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
		c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		return sql.OpenDB(stdlib.GetConnector(*c)), nil
	}
	c := mysql.NewConfig()
	c.User, c.DBName, c.Net, c.Addr, c.MultiStatements = "hostlab", "hostlab", "unix", "/", true
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(conn), nil
}

// serve is one client until the process ends.
func (c *crowd) serve(conn *sql.Conn, r clients, number int) error {
	ctx, random := context.Background(), rand.New(rand.NewPCG(rand.Uint64(), 0))
	steps := r.Steps
	if r.Together {
		steps = []step{{Class: computes}}
		for _, s := range r.Steps {
			steps[0].SQL += s.SQL + "; "
		}
	}
	for {
		if r.Think > 0 {
			time.Sleep(time.Duration(random.ExpFloat64() * float64(r.Think)))
		}
		began := time.Now()
		for _, s := range steps {
			at := time.Now()
			if s.Pause > 0 {
				time.Sleep(s.Pause)
			}
			if s.SQL != "" {
				page := strconv.Itoa(1 + random.IntN(max(r.Rows, 1)))
				text := strings.NewReplacer(":own", strconv.Itoa(number+1), ":any", page).Replace(s.SQL)
				if _, err := conn.ExecContext(ctx, text); err != nil {
					return fmt.Errorf("%s: %w", text, err)
				}
			}
			c.spent[s.Class].Add(int64(time.Since(at)))
		}
		c.in.Add(int64(time.Since(began)))
		c.n.Add(1)
	}
}
