//go:build linux

// Command live watches loads whose answer is known, by how they are made, with the engine of
// 'hostlab assess', and compares what it says with counters of its own and with taking the
// cause away. A run is a line of a file, so that it can go on where it ended.
//
//	go run ./bench/live [-n 10] [-for 6s] [-only "pg commit,null"] [-file live.jsonl]
//	go run ./bench/live -summary live.jsonl
//
// It takes root, PostgreSQL and MariaDB, and /dev/shm.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/delayfs"
	"hostlab/internal/worker"
)

func main() {
	worker.Main(slices.Concat(delayfs.Jobs(), []worker.Job{
		{Name: "clients", New: func() worker.Func { return worker.Handle((&crowd{}).ask) }},
		{Name: "loops", New: func() worker.Func { return worker.Handle((&looping{}).ask) }},
	}))
	n := flag.Int("n", 10, "runs of each load that the file is to have")
	lasts := flag.Duration("for", 6*time.Second, "how long a load is watched")
	only := flag.String("only", "", "beginnings of names of loads, by commas")
	file := flag.String("file", "live.jsonl", "file of runs, to which new ones are added")
	summary := flag.String("summary", "", "print the tables of a file of runs")
	until := flag.Duration("until", 12*time.Hour, "begin no run after so long")
	flag.Parse()
	rounds.Judge("live", func(ctx context.Context) (bool, error) {
		if *summary != "" {
			return summarize(*summary)
		}
		if err := measure(ctx, *file, *only, *n, *lasts, time.Now().Add(*until)); err != nil {
			return false, err
		}
		return summarize(*file)
	})
}

// measure lets loads take turns until each has n runs in the file.
func measure(ctx context.Context, file, only string, n int, lasts time.Duration, until time.Time) (err error) {
	done, err := read(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	had := map[string]int{}
	for _, r := range done {
		had[r.Load]++
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	b := &bench{servers: servers{}, lasts: lasts}
	defer func() { err = errors.Join(err, b.servers.close(), out.Close()) }()
	loads := slices.DeleteFunc(allLoads(), func(l load) bool {
		begins := func(p string) bool { return strings.HasPrefix(l.Name, p) }
		return !slices.ContainsFunc(strings.Split(only, ","), begins)
	})
	for round := range n {
		for _, i := range rand.Perm(len(loads)) {
			l := &loads[i]
			for range l.turns() {
				if had[l.Name] >= (round+1)*l.turns() {
					continue
				}
				if time.Now().After(until) || ctx.Err() != nil {
					return nil
				}
				r, err := b.run(ctx, l)
				if err != nil {
					return err
				}
				had[l.Name]++
				line, err := json.Marshal(r)
				if err != nil {
					return err
				}
				if _, err := out.Write(append(line, '\n')); err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), r.brief())
			}
		}
	}
	return nil
}

// turns is how often a load runs in a round: null runs are wanted more often, and are shorter.
func (l *load) turns() int {
	if l.Null {
		return 4
	}
	return 1
}

func read(file string) (all []*record, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r := &record{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, lines.Err()
}
