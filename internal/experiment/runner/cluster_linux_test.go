//go:build system

package runner

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/testkit"
)

// cluster is a PostgreSQL as others run one: it starts again when it is killed, and clients commit
// in it at a rate that changes.
type cluster struct {
	t    *testing.T
	dir  string
	stop context.CancelFunc
	ends sync.WaitGroup
	pid  atomic.Int64

	mu    sync.Mutex
	ended []done
}

// done is a transaction of a client.
type done struct {
	at   time.Time
	took time.Duration
}

// latency is the clients' mean of the transactions that ended in a time, in s.
func (c *cluster) latency(from, to time.Time) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, n := 0.0, 0.0
	for _, d := range c.ended {
		if d.at.After(from) && d.at.Before(to) {
			sum, n = sum+d.took.Seconds(), n+1
		}
	}
	return sum / n
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	testkit.Root(t)
	dir := testkit.Must(os.MkdirTemp("/var/tmp", "pg"))(t) // a path that a socket's name has room behind, and no memory
	owner := testkit.Must(user.Lookup("postgres"))(t)
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	testkit.OK(t, os.Chown(dir, uid, gid))
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(programs) == 0 {
		t.Fatal("no PostgreSQL is installed")
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &cluster{t: t, dir: dir, stop: stop}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs[len(programs)-1], name), args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return cmd
	}
	if out, err := run("initdb", "-D", dir+"/data", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conf := testkit.Must(os.OpenFile(dir+"/data/postgresql.conf", os.O_APPEND|os.O_WRONLY, 0))(t)
	fmt.Fprintf(conf, "listen_addresses=''\nunix_socket_directories='%s'\ncommit_siblings=0\nshared_buffers=16MB\n", dir)
	conf.Close()
	c.ends.Go(func() {
		for ctx.Err() == nil {
			cmd := run("postgres", "-D", dir+"/data")
			if cmd.Start() != nil {
				return
			}
			c.pid.Store(int64(cmd.Process.Pid))
			end := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
			_ = cmd.Wait() // whatever ended it, it begins anew
			end()
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		stop()
		c.ends.Wait()
		_ = os.RemoveAll(dir)
	})
	c.ask("create table work (id int primary key, n int); insert into work select generate_series(1, 100), 0")
	for n := range 3 {
		c.ends.Go(func() { c.work(ctx, n) })
	}
	return c
}

func (c *cluster) dsn() string { return "host=" + c.dir + " user=postgres dbname=postgres" }

// work commits at a rate that rises and falls.
func (c *cluster) work(ctx context.Context, n int) {
	var conn *pgx.Conn
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		var err error
		if conn == nil {
			if conn, err = pgx.Connect(ctx, c.dsn()); err != nil {
				time.Sleep(50 * time.Millisecond)
				conn = nil
				continue
			}
			began = time.Now()
		}
		if _, err = conn.Exec(ctx, "update work set n = n + 1 where id = $1", 1+n+3*(i%30)); err != nil {
			_ = conn.Close(context.Background())
			conn = nil
			continue
		}
		c.mu.Lock()
		c.ended = append(c.ended, done{time.Now(), time.Since(began)})
		c.mu.Unlock()
		time.Sleep(time.Duration((15 + 5*math.Sin(time.Since(time.Unix(0, 0)).Seconds()/7)) * float64(time.Millisecond)))
	}
	if conn != nil {
		_ = conn.Close(context.Background())
	}
}

// ask executes statements as soon as the server answers, and returns what the last one gave.
func (c *cluster) ask(text string) (value string) {
	c.t.Helper()
	var err error
	for end := testkit.End(c.t); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), c.dsn()); err != nil {
			continue
		}
		all := strings.Split(text, "; ")
		for i, one := range all {
			if i < len(all)-1 || !strings.HasPrefix(one, "select") && !strings.HasPrefix(one, "show") {
				_, err = conn.Exec(context.Background(), one)
			} else {
				err = conn.QueryRow(context.Background(), one).Scan(&value)
			}
			if err != nil {
				break
			}
		}
		_ = conn.Close(context.Background())
		if err == nil {
			return value
		}
	}
	c.t.Fatal(err)
	return ""
}

// original reports whether a parameter is as nobody has changed it, in force and on the disk.
func (c *cluster) original(name, want string) (bool, string) {
	c.t.Helper()
	auto := testkit.Must(os.ReadFile(c.dir + "/data/postgresql.auto.conf"))(c.t)
	now := c.ask("show " + name)
	return now == want && !strings.Contains(string(auto), name), fmt.Sprintf("%s is %s; on the disk: %q", name, now, auto)
}
