//go:build linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
	"hostlab/internal/workload/xmlquery"
)

// work is one kind of work. Its run does it once, some five milliseconds, and
// returns how long it took.
type work struct {
	name, about string
	run         func() (time.Duration, error)
}

const aim = 5 * time.Millisecond

// open prepares all works; done removes what they made.
func open(ctx context.Context, dir string) (works []work, done func(), err error) {
	table, err := xmlquery.Generate(ctx, 256<<10, 1)
	if err != nil {
		return nil, nil, err
	}
	tmp, err := os.MkdirTemp(dir, ".noise-")
	if err != nil {
		return nil, nil, err
	}
	log, err := logcommit.Open(logcommit.DefaultConfig(tmp))
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	done = func() {
		_ = log.Close()
		os.RemoveAll(tmp)
	}

	var plain []byte
	for i := range table.Rows() {
		plain = append(plain, table.Row(i)...)
	}
	input := filepath.Join(tmp, "input")
	if err := os.WriteFile(input, plain, 0o600); err != nil {
		done()
		return nil, nil, err
	}
	gzip := func() (time.Duration, error) {
		start := time.Now()
		err := exec.CommandContext(ctx, "gzip", "-1", "-c", input).Run() // its output goes to the null device
		return time.Since(start), err
	}

	adds := scaled(func(n uint64) { hot.Adds(n) })
	ring := hot.Buffer(16 << 20) // beyond the caches next to a core
	hot.Ring(ring, rand.New(rand.NewPCG(1, 2)).IntN)
	at := uint64(0)
	chase := scaled(func(n uint64) { at = hot.Chase(&ring[0], at, n) })
	var xmlErr error
	passes := scaled(func(n uint64) { _, _, xmlErr = xmlquery.Query(ctx, table, 1, int(n)) })
	xml := func() (time.Duration, error) {
		took, _ := passes()
		return took, xmlErr
	}
	var commits []float64
	commit := func() (time.Duration, error) {
		var err error
		commits, err = log.Block(ctx, 9, commits[:0])
		return time.Duration(stats.Median(commits) * float64(time.Second)), err
	}
	return []work{
		{"gzip", "a child process, gzip -1 of 256 KiB of XML", gzip},
		{"alu", "a chain of dependent additions, 5 ms", adds},
		{"chase", "dependent loads over 16 MiB, 5 ms", chase},
		{"commit", "the median of 9 appends of 4 KiB, each made durable", commit},
		{"xml", "an XML query over 256 KiB, one thread, 5 ms", xml},
	}, done, nil
}

// scaled returns a run that calls do with the number that takes about aim.
func scaled(do func(n uint64)) func() (time.Duration, error) {
	timed := func(n uint64) time.Duration {
		start := time.Now()
		do(n)
		return time.Since(start)
	}
	n := uint64(1)
	for timed(n) < aim {
		n *= 2
	}
	var d []time.Duration
	for range 9 {
		d = append(d, timed(n))
	}
	slices.Sort(d)
	n = max(1, uint64(float64(n)*float64(aim)/float64(d[len(d)/2])))
	runtime.GC()
	return func() (time.Duration, error) { return timed(n), nil }
}
