//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// settle is the time after a switch that is not counted.
const settle = 20 * time.Millisecond

// process is one of ours that runs beside.
type process struct{ *exec.Cmd }

func start(ctx context.Context, name string, args ...string) (process, error) {
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // programs that were named to us
	c.Stderr = os.Stderr
	return process{c}, c.Start()
}

func (p process) end() {
	_ = p.Process.Signal(unix.SIGCONT)
	_ = p.Process.Kill()
	_ = p.Wait()
}

// meter reads what goes on.
type meter struct {
	conn           *pgx.Conn
	watch, backend int // processes
}

// find waits for explain's session.
func (m *meter) find(ctx context.Context) error {
	for range 100 {
		err := m.conn.QueryRow(ctx, "select pid from pg_stat_activity where application_name = 'hostlab'").Scan(&m.backend)
		if err == nil {
			time.Sleep(2 * time.Second) // its first answers are planned anew, and its pace is found
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("explain did not connect")
}

// pairs are slices with explain at work and stopped, by turns at random: the share of
// one CPU that it took while at work, and transactions a second.
func (m *meter) pairs(ctx context.Context, o options) (shares, with, without []float64, err error) {
	for range o.pairs {
		var rates [2]float64
		first := rand.IntN(2)
		for _, works := range []int{first, 1 - first} {
			signal := unix.SIGSTOP
			if works == 1 {
				signal = unix.SIGCONT
			}
			if err := unix.Kill(m.watch, signal); err != nil {
				return nil, nil, nil, fmt.Errorf("explain has ended: %w", err)
			}
			time.Sleep(settle)
			rate, share, err := m.slice(ctx, o.slice)
			if err != nil {
				return nil, nil, nil, err
			}
			if rates[works] = rate; works == 1 {
				shares = append(shares, share)
			}
		}
		with, without = append(with, rates[1]), append(without, rates[0])
	}
	return shares, with, without, unix.Kill(m.watch, unix.SIGCONT)
}

// slice is one: pgbench's transactions a second, and explain's share of a CPU.
func (m *meter) slice(ctx context.Context, lasts time.Duration) (rate, share float64, err error) {
	before, err := m.read(ctx)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(lasts)
	after, err := m.read(ctx)
	t := after.at.Sub(before.at).Seconds()
	return (after.rows - before.rows) / t, (after.cpu - before.cpu) / t, err
}

type reading struct {
	at        time.Time
	rows, cpu float64
}

// read counts transactions by the number that the next one gets, which is exact at
// once where the server's counters lag by a second.
func (m *meter) read(ctx context.Context) (r reading, err error) {
	if err := m.conn.QueryRow(ctx, "select pg_snapshot_xmax(pg_current_snapshot())::text::float8").Scan(&r.rows); err != nil {
		return r, err
	}
	r.at = time.Now()
	for _, pid := range []int{m.watch, m.backend} {
		s, err := threads(pid)
		if err != nil {
			return r, err
		}
		r.cpu += s
	}
	for _, pid := range children(m.watch) {
		s, _ := threads(pid) // it may have ended
		r.cpu += s
	}
	return r, nil
}

// children are those of a process, as the one that looks at memory.
func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f) // its thread may have ended
		for text := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(text); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// threads is the CPU time of a process's threads, in s, to the nanosecond
// (Documentation/scheduler/sched-stats.rst).
func threads(pid int) (sum float64, err error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/schedstat")
		if err != nil {
			continue // it has just ended
		}
		var run, queue, slices uint64
		if _, err := fmt.Sscan(strings.TrimSpace(string(b)), &run, &queue, &slices); err != nil {
			return 0, err
		}
		sum += float64(run) / 1e9
	}
	return sum, nil
}
