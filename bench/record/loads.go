//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/privatedb"
	"hostlab/internal/trace"
)

// pgbench runs its built-in script of a select on a server of its own, all of the time.
type pgbench struct {
	s     *privatedb.Server
	cmd   *exec.Cmd
	rates chan float64 // of each second
	logs  string       // prefix of files with a line for each of some transactions
}

// logged is the share of transactions that pgbench writes down.
const logged = 0.25

func startPgbench(ctx context.Context, clients int) (load, error) {
	s, err := privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: os.TempDir()})
	if err != nil {
		return nil, err
	}
	p := &pgbench{s: s, rates: make(chan float64), logs: filepath.Join(s.SocketDir(), "transactions")}
	args := func(more ...string) []string {
		return append(append([]string{"-h", s.SocketDir(), "-U", privatedb.Role}, more...), privatedb.Postgres)
	}
	if out, err := exec.CommandContext(ctx, "pgbench", args("-i", "-q", "-s", "10")...).CombinedOutput(); err != nil { //nolint:gosec // pgbench's arguments
		return nil, errors.Join(fmt.Errorf("pgbench: %w: %s", err, out), s.Close())
	}
	p.cmd = exec.CommandContext(ctx, "pgbench", args("-S", "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-P", "1", "-T", "36000",
		"-l", "--log-prefix", p.logs, "--sampling-rate", strconv.FormatFloat(logged, 'g', -1, 64))...) //nolint:gosec // pgbench's arguments
	seconds, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	go func() {
		defer close(p.rates)
		for in := bufio.NewScanner(seconds); in.Scan(); {
			if m := tps.FindStringSubmatch(in.Text()); m != nil {
				rate, _ := strconv.ParseFloat(m[1], 64)
				select {
				case p.rates <- rate:
				default: // between slices
				}
			}
		}
	}()
	return p, nil
}

var tps = regexp.MustCompile(`^progress: .* s, ([0-9.]+) tps`)

// between counts transactions that ended between moments which follow one another: n moments make n - 1 counts.
func (p *pgbench) between(moments []time.Time) ([]float64, error) {
	counts := make([]float64, len(moments)-1)
	files, err := filepath.Glob(p.logs + ".*")
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("pgbench has written no transactions down"))
	}
	for _, name := range files {
		f, err := os.Open(name) //nolint:gosec // our own
		if err != nil {
			return nil, err
		}
		in, at := bufio.NewScanner(f), 0
		for in.Scan() { // client, number, duration, script, s, us
			words := strings.Fields(in.Text())
			if len(words) < 6 {
				continue // cut short as pgbench ended
			}
			s, _ := strconv.ParseInt(words[4], 10, 64)
			us, _ := strconv.ParseInt(words[5], 10, 64)
			end := time.Unix(s, 1000*us)
			for at < len(moments) && !end.Before(moments[at]) {
				at++
			}
			if at > 0 && at < len(moments) {
				counts[at-1] += 1 / logged
			}
		}
		if err := errors.Join(in.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// slice takes whole seconds. The first one that ends is that in which something began or ended, and is left out.
func (p *pgbench) slice(ctx context.Context, lasts time.Duration) (float64, error) {
	n := int(max(1, lasts.Seconds()))
	if _, err := p.second(ctx); err != nil {
		return 0, err
	}
	sum := 0.0
	for range n {
		rate, err := p.second(ctx)
		if err != nil {
			return 0, err
		}
		sum += rate
	}
	return sum / float64(n), nil
}

// second is the rate of the second that ends next.
func (p *pgbench) second(ctx context.Context) (float64, error) {
	select {
	case rate, more := <-p.rates:
		if !more {
			return 0, errors.New("pgbench has ended")
		}
		return rate, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (p *pgbench) target() trace.Target {
	return trace.Target{Name: "pgbench", PIDs: []int{p.s.PID()}}
}
func (p *pgbench) dsn() string {
	return "host=" + p.s.SocketDir() + " user=" + privatedb.Role + " dbname=" + privatedb.Postgres
}
func (p *pgbench) close() error {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return p.s.Close()
}

// pipes are processes that hand a byte there and back, and count in memory that they share with this one.
type pipes struct {
	list   []*exec.Cmd
	counts []byte
	file   *os.File
}

func startPipes(_ context.Context, n int) (_ load, err error) {
	p := &pipes{}
	fd, err := unix.MemfdCreate("counts", 0)
	if err != nil {
		return nil, err
	}
	p.file = os.NewFile(uintptr(fd), "counts")
	if err := p.file.Truncate(int64(64 * n)); err != nil {
		return nil, err
	}
	if p.counts, err = unix.Mmap(fd, 0, 64*n, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	for i := range n {
		there, back := [2]*os.File{}, [2]*os.File{}
		for _, ends := range []*[2]*os.File{&there, &back} {
			if ends[0], ends[1], err = os.Pipe(); err != nil {
				return nil, errors.Join(err, p.close())
			}
		}
		for side, ends := range [][2]*os.File{{there[0], back[1]}, {back[0], there[1]}} {
			cmd := exec.Command("/proc/self/exe", "pipe")
			cmd.ExtraFiles = []*os.File{ends[0], ends[1], p.file}
			cmd.Env = append(os.Environ(), fmt.Sprintf("PIPE_AT=%d", 64*i), fmt.Sprintf("PIPE_SIDE=%d", side), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
			cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
			if err := cmd.Start(); err != nil {
				return nil, errors.Join(err, p.close())
			}
			p.list = append(p.list, cmd)
		}
		for _, f := range append(there[:], back[:]...) {
			f.Close()
		}
	}
	time.Sleep(time.Second)
	return p, nil
}

// pipe is one of two processes: it reads a byte and writes it. The second one begins.
func pipe() {
	at, _ := strconv.Atoi(os.Getenv("PIPE_AT"))
	counts, err := unix.Mmap(5, 0, at+64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	b := []byte{0}
	second := os.Getenv("PIPE_SIDE") == "1"
	if second {
		_, _ = unix.Write(4, b)
	}
	for n := uint64(1); ; n++ {
		if k, err := unix.Read(3, b); k != 1 && !errors.Is(err, unix.EINTR) {
			return
		}
		if k, err := unix.Write(4, b); k != 1 && !errors.Is(err, unix.EINTR) {
			return
		}
		if second {
			binary.NativeEndian.PutUint64(counts[at:], n)
		}
	}
}

func (p *pipes) count() (sum float64) {
	var fence atomic.Int32
	fence.Add(1) // what others wrote is read anew
	for at := 0; at < len(p.counts); at += 64 {
		sum += float64(binary.NativeEndian.Uint64(p.counts[at:]))
	}
	return sum
}

func (p *pipes) slice(_ context.Context, lasts time.Duration) (float64, error) {
	began, before := time.Now(), p.count()
	time.Sleep(lasts)
	return (p.count() - before) / time.Since(began).Seconds(), nil
}

func (p *pipes) target() trace.Target {
	t := trace.Target{Name: "pipes"}
	for _, c := range p.list {
		t.PIDs = append(t.PIDs, c.Process.Pid)
	}
	return t
}

func (p *pipes) close() error {
	for _, c := range p.list {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	return errors.Join(unix.Munmap(p.counts), p.file.Close())
}
