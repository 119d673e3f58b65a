//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/privatedb"
	"hostlab/internal/trace"
)

// pgbench runs its built-in script of a select on a server of its own.
type pgbench struct {
	s       *privatedb.Server
	clients int
}

func startPgbench(ctx context.Context, clients int) (load, error) {
	s, err := privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: os.TempDir()})
	if err != nil {
		return nil, err
	}
	p := &pgbench{s, clients}
	if _, err := p.run(ctx, "-i", "-q", "-s", "10"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

func (p *pgbench) run(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"-h", p.s.SocketDir(), "-U", privatedb.Role}, args...)
	out, err := exec.CommandContext(ctx, "pgbench", append(args, privatedb.Postgres)...).CombinedOutput() //nolint:gosec // pgbench's arguments
	if err != nil {
		return "", fmt.Errorf("pgbench: %w: %s", err, out)
	}
	return string(out), nil
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func (p *pgbench) slice(ctx context.Context, lasts time.Duration) (float64, error) {
	out, err := p.run(ctx, "-S", "-n", "-M", "prepared", "-c", strconv.Itoa(p.clients), "-j", "2", "-T", strconv.Itoa(int(max(1, lasts.Seconds()))))
	if err != nil {
		return 0, err
	}
	m := tps.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench: no rate in %q", out)
	}
	return strconv.ParseFloat(m[1], 64)
}

func (p *pgbench) target() trace.Target {
	return trace.Target{Name: "pgbench", PIDs: []int{p.s.PID()}}
}
func (p *pgbench) close() error { return p.s.Close() }

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
