//go:build linux

// Command causes decides whether 'hostlab assess' finds what slows a service down. It runs loads whose cause it has
// planted, has hostlab watch each, then takes the cause away and measures the time of a transaction with and without
// it, in turns. Loads without any cause are among them. A load's record is a line of causes.jsonl in the
// directory of -out, so that a run goes on where it ended.
//
//	go run ./bench/causes [-out DIR] [-hostlab bin/hostlab] [-for 20s[,60s]] [-only NAME,...] [-again]
//
// It takes root, control groups of version 1, PostgreSQL with pgbench, MariaDB, pgbouncer, redis-server, nginx, haproxy, a JDK,
// and python3.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/delayfs"
	"hostlab/internal/worker"
)

func main() {
	worker.Main(delayfs.Jobs())
	if len(os.Args) == 3 && os.Args[1] == "drive" {
		if err := drive(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "clients:", err)
			os.Exit(1)
		}
		return
	}
	b := &bench{}
	var lasts, only string
	var again, list, table, replay bool
	flag.StringVar(&b.dir, "out", "causes", "directory of records")
	flag.StringVar(&b.hostlab, "hostlab", "bin/hostlab", "the program")
	flag.StringVar(&b.than, "than", "", "another build, whose answers stand beside")
	flag.StringVar(&lasts, "for", "20s", "how long assess watches; after a comma other lengths, whose answers stand beside")
	flag.DurationVar(&b.slice, "slice", 8*time.Second, "how long transactions are timed, each time")
	flag.StringVar(&only, "only", "", "beginnings of names of loads, by commas")
	flag.BoolVar(&again, "again", false, "run loads that have a record, too")
	flag.BoolVar(&list, "list", false, "print the names of the loads")
	flag.BoolVar(&table, "table", false, "print the tables of what there is, and run nothing")
	flag.BoolVar(&replay, "replay", false, "ask the program once more what it says of what was seen, and run nothing")
	flag.Parse()
	rounds.Judge("causes", func(ctx context.Context) (bool, error) {
		for _, text := range strings.Split(lasts, ",") {
			d, err := time.ParseDuration(text)
			if err != nil {
				return false, err
			}
			b.lasts = append(b.lasts, d)
		}
		chosen := slices.DeleteFunc(loads(), func(l load) bool {
			begins := func(p string) bool { return strings.HasPrefix(l.Name, p) }
			return !slices.ContainsFunc(strings.Split(only, ","), begins)
		})
		if list {
			for _, l := range chosen {
				fmt.Println(l.Name)
			}
			return true, nil
		}
		records, err := b.records()
		if err != nil {
			return false, err
		}
		for i := range chosen {
			l := &chosen[i]
			if r := records[l.Name]; replay && r != nil {
				if err := b.again(ctx, l, r); err != nil {
					return false, err
				}
				continue
			}
			if !table && !replay && (again || records[l.Name] == nil) {
				r := b.run(ctx, l)
				if ctx.Err() != nil {
					return false, errors.New("interrupted")
				}
				records[l.Name] = r
				if err := b.keep(r); err != nil {
					return false, err
				}
				fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), l.brief(r, label(b.lasts[0])))
			}
		}
		var labels []string
		for _, d := range b.lasts {
			labels = append(labels, label(d))
		}
		if b.than != "" {
			labels = append(labels, other)
		}
		return tell(os.Stdout, chosen, records, labels), nil
	})
}

func (l *load) brief(r *record, as string) string {
	a := r.Answers[as]
	if r.Failed != "" || a == nil {
		return l.Name + ": " + r.Failed
	}
	return strings.Join(l.row(r, a, l.judge(r, a)), "  ")
}

const file = "causes.jsonl"

// records are the last of each load that did not fail.
func (b *bench) records() (map[string]*record, error) {
	out := map[string]*record{}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(b.dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		r := &record{}
		if err := json.Unmarshal(in.Bytes(), r); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if r.Failed == "" {
			out[r.Load] = r
		}
	}
	return out, in.Err()
}

func (b *bench) keep(r *record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(b.dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
