//go:build linux

// Commit-vs-pgtestfsync compares hostlab's rate of commits with that which PostgreSQL's
// pg_test_fsync reports for the same pattern: one block of 8 KiB of a file that was
// filled before, written over and over, made durable by fdatasync or by a write with
// O_DIRECT and O_DSYNC. They run in turn, in random order.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
)

func main() {
	dir := flag.String("dir", ".", "directory on the device")
	program := flag.String("program", "pg_test_fsync", "pg_test_fsync; Debian has it below /usr/lib/postgresql")
	rounds.Main("commit-vs-pgtestfsync", 15, func(ctx context.Context, p rounds.Plan) error { return compare(ctx, *dir, *program, p) })
}

// pattern is one that both have.
type pattern struct {
	sync logcommit.Sync
	name string // in pg_test_fsync's output
	rate map[string][]float64
}

const (
	blockBytes = 8192
	each       = time.Second // of a run, the least that pg_test_fsync takes
)

func compare(ctx context.Context, parent, program string, plan rounds.Plan) (err error) {
	dir, err := os.MkdirTemp(parent, ".hostlab-pgtestfsync-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	patterns := []*pattern{{logcommit.DataSync, "fdatasync", map[string][]float64{}}, {logcommit.Direct, "open_datasync", map[string][]float64{}}}
	fmt.Printf("%d rounds of %v each, seed %d; commits of %d bytes a second\n", plan.Rounds, each, plan.Seed, blockBytes)
	runs := []func() error{func() error { return postgres(ctx, program, dir, patterns) }}
	for _, p := range patterns {
		for _, who := range []string{"hostlab", "again"} {
			runs = append(runs, func() error {
				rate, err := ours(ctx, dir, p.sync)
				p.rate[who] = append(p.rate[who], rate)
				return err
			})
		}
	}
	if err := plan.Play(runs, func(int) {}); err != nil {
		return err
	}
	for _, p := range patterns {
		ratio, aa := rounds.Ratio(p.rate["hostlab"], p.rate["pg"]), rounds.Ratio(p.rate["hostlab"], p.rate["again"])
		fmt.Printf("%-14s hostlab %7.0f/s  pg_test_fsync %7.0f/s  ratio %.3f [%.3f, %.3f]  A/A %.3f [%.3f, %.3f]  n=%d  %s\n", p.name,
			stats.Median(p.rate["hostlab"]), stats.Median(p.rate["pg"]), ratio.Value, ratio.Low, ratio.High, aa.Value, aa.Low, aa.High, ratio.N, rounds.Within(ratio, 0.1))
	}
	return nil
}

// ours commits for a second, to one block.
func ours(ctx context.Context, dir string, sync logcommit.Sync) (rate float64, err error) {
	l, err := logcommit.Open(logcommit.Config{Dir: dir, Bytes: blockBytes, Block: blockBytes, Layout: logcommit.Overwritten, Sync: sync, Seed: 1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	n, began := 0, time.Now()
	for ; time.Since(began) < each; n++ {
		if _, err := l.Block(ctx, 1, nil); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// postgres runs pg_test_fsync until it has told both patterns, which are its first.
func postgres(ctx context.Context, program, dir string, patterns []*pattern) error {
	path, err := filepath.Abs(filepath.Join(dir, "pg_test_fsync.out"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-s", "1", "-f", path)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w; name it with -program", err)
	}
	rates, err := read(out, patterns)
	_ = cmd.Process.Signal(syscall.SIGTERM) // it removes its file
	_ = cmd.Wait()
	if err != nil {
		return err
	}
	for _, p := range patterns {
		p.rate["pg"] = append(p.rate["pg"], rates[p.name])
	}
	return nil
}

// read finds the rates of "Compare file sync methods using one 8kB write".
func read(out io.Reader, patterns []*pattern) (map[string]float64, error) {
	rates := map[string]float64{}
	for s := bufio.NewScanner(out); s.Scan(); {
		f := strings.Fields(s.Text())
		for _, p := range patterns {
			if len(f) < 3 || f[0] != p.name || f[2] != "ops/sec" {
				continue
			}
			v, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return nil, fmt.Errorf("pg_test_fsync: %w", err)
			}
			if rates[p.name] = v; len(rates) == len(patterns) {
				return rates, nil
			}
		}
	}
	return nil, errors.New("pg_test_fsync ended without the rates of one 8kB write")
}
