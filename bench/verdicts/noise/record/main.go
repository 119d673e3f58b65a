//go:build linux

// Command record times several kinds of real work in turn, in random order within
// each round, and stores every time, for package noise to draw from.
//
//	go run ./bench/verdicts/noise/record -label quiet -about "nothing else ran" [-rounds 2000] [-pause 0s] [-dir .] -out FILE.json.gz
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"hostlab/bench/verdicts/noise"
)

func main() {
	label := flag.String("label", "", "what the host was: quiet, busy, ...")
	about := flag.String("about", "", "what else ran on it")
	rounds := flag.Int("rounds", 2000, "runs of each kind of work")
	pause := flag.Duration("pause", 0, "waited after each round")
	dir := flag.String("dir", ".", "where to append durably")
	out := flag.String("out", "", "the record to write")
	flag.Parse()
	if flag.NArg() > 0 || *label == "" || *about == "" || *out == "" || *rounds < 100 {
		fmt.Fprintln(os.Stderr, "record: want -label, -about, -out and at least 100 -rounds; see -h")
		os.Exit(2)
	}
	command := fmt.Sprintf("record -label %s -rounds %d -pause %s", *label, *rounds, *pause)
	r := &noise.Record{Label: *label, About: *about, Command: command, When: time.Now().UTC().Truncate(time.Second), Host: host()}
	if err := record(context.Background(), r, *rounds, *pause, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
	if err := r.Write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
	fmt.Printf("%d kinds of work, %d runs each, in %.0f s: %s\n", len(r.Series), *rounds, r.Took, *out)
}

func record(ctx context.Context, r *noise.Record, rounds int, pause time.Duration, dir string) error {
	works, done, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer done()
	rng := rand.New(rand.NewPCG(1, 2))
	r.Series = make([]noise.Series, len(works))
	for i, w := range works {
		r.Series[i] = noise.Series{Work: w.name, About: w.about, Nanos: make([]int64, 0, rounds)}
	}
	const warmUp = 5
	begin := time.Now()
	for round := range rounds + warmUp {
		for _, i := range rng.Perm(len(works)) {
			took, err := works[i].run()
			if err != nil {
				return fmt.Errorf("%s: %w", works[i].name, err)
			}
			if round >= warmUp {
				r.Series[i].Nanos = append(r.Series[i].Nanos, max(1, coarse(took.Nanoseconds())))
			}
		}
		time.Sleep(pause)
	}
	r.Took = time.Since(begin).Seconds()
	return nil
}

// coarse keeps five digits, a thousandth of the noise, so that the record packs well.
func coarse(ns int64) int64 {
	unit := int64(1)
	for ns/unit >= 100_000 {
		unit *= 10
	}
	return (ns + unit/2) / unit * unit
}

// host says of what kind this machine is, without any name.
func host() string {
	line := func(file, key string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			return "unknown"
		}
		for l := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(l, key); ok {
				return strings.Trim(v, " \t:\n")
			}
		}
		return "unknown"
	}
	kind := "bare metal or unknown"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(b), " hypervisor ") {
		kind = "virtual machine"
	}
	kernel := strings.SplitN(line("/proc/sys/kernel/osrelease", ""), ".", 3)
	return fmt.Sprintf("%s, %d CPUs, %s, Linux %s", kind, runtime.NumCPU(), line("/proc/cpuinfo", "model name"), strings.Join(kernel[:min(2, len(kernel))], "."))
}
