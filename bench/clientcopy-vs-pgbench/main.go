// Clientcopy-vs-pgbench compares how fast the workload clientcopy does its job on
// PostgreSQL, with no work of its own, with a script for psql that has the same
// statements: reads of a package, an insert of its rows, a commit. Both start from the
// same tables, on servers with the same settings, and run in random order within rounds.
// pgbench itself cannot read rows and write them, so its sibling does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hostlab/bench/psql"
	"hostlab/bench/rounds"
	"hostlab/internal/workload"
	"hostlab/internal/workload/client"
)

func main() {
	rows := flag.Int("rows", 20_000, "rows of the client")
	rounds.Main("clientcopy-vs-pgbench", 15, func(ctx context.Context, p rounds.Plan) error { return compare(ctx, *rows, p) })
}

func compare(ctx context.Context, rows int, p rounds.Plan) error {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	params, err := workload.Check(client.Copy{}.Describe(), map[string]any{"rows": int64(rows), "work": int64(0), "package": int64(size)})
	if err != nil {
		return err
	}
	r := workload.Request{Params: params, Seed: 1}
	s, err := client.Copy{}.Open(ctx, workload.Config{Params: params, Work: work})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Run(ctx, r); err != nil { // warms up
		return err
	}
	socket, err := psql.Socket(work)
	if err != nil {
		return err
	}
	script := filepath.Join(work, "copy.sql")
	made, err := read(ctx, socket)
	if err != nil {
		return err
	}
	if err := made.keep(ctx, script); err != nil {
		return err
	}
	ours := func() (float64, error) {
		got, err := s.Run(ctx, r)
		return got.Values["duration"], err
	}
	theirs := func() (float64, error) {
		if err := made.fill(ctx); err != nil {
			return 0, err
		}
		began := time.Now()
		_, err := psql.Run(ctx, socket, "", "-o", os.DevNull, "-f", script)
		return time.Since(began).Seconds() - connects, err
	}
	kinds := []rounds.Kind{{Name: "clientcopy", Run: ours}, {Name: "psql", Run: theirs}, {Name: "psql again", Run: theirs}}
	fmt.Printf("%d rows, packages of 200, %d rounds, seed %d; seconds\n", rows, p.Rounds, p.Seed)
	if err := p.Time(os.Stdout, kinds); err != nil {
		return err
	}
	fmt.Println("\nrows a second, as a ratio to psql, 95 %; the target is 0.9 or more")
	rounds.Speeds(os.Stdout, kinds, 0.9)
	return nil
}

// connects is what psql's start and connection take at most, s: it does not count
// against psql.
const connects = 0.01
