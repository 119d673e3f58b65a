// Extract-vs-copy compares how fast the workload extract reads PostgreSQL, with no
// work of its own, with COPY ... TO STDOUT through psql into a file, on the same server and rows. Both run in every
// round, in random order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"hostlab/bench/psql"
	"hostlab/bench/rounds"
	"hostlab/internal/workload"
	"hostlab/internal/workload/client"
)

func main() {
	rows := flag.Int("rows", 500_000, "rows of the table")
	size := flag.Int("package", 10_000, "rows of a package")
	rounds.Main("extract-vs-copy", 15, func(ctx context.Context, p rounds.Plan) error { return compare(ctx, *rows, *size, p) })
}

func compare(ctx context.Context, rows, size int, p rounds.Plan) error {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	params, err := workload.Check(client.Extract{}.Describe(), map[string]any{"engine": "postgres", "rows": int64(rows),
		"package": int64(size), "tables": int64(1), "work": int64(0)})
	if err != nil {
		return err
	}
	s, err := client.Extract{}.Open(ctx, workload.Config{Params: params, Work: work})
	if err != nil {
		return err
	}
	defer s.Close()
	ours := func() (float64, error) {
		got, err := s.Run(ctx, workload.Request{Params: params, Seed: 1})
		return got.Values["duration"], err
	}
	if _, err := ours(); err != nil { // loads the table
		return err
	}
	socket, err := psql.Socket(work)
	if err != nil {
		return err
	}
	theirs := func() (float64, error) { return unload(ctx, socket, filepath.Join(work, "psql.txt")) }
	kinds := []rounds.Kind{
		{Name: "packages", Run: ours},
		{Name: "psql", Run: theirs},
		{Name: "psql again", Run: theirs},
	}
	fmt.Printf("%d rows, packages of %d, %d rounds, seed %d; seconds\n", rows, size, p.Rounds, p.Seed)
	if err := p.Time(os.Stdout, kinds); err != nil {
		return err
	}
	fmt.Println("\nspeed, as a ratio to psql's COPY ... TO STDOUT, 95 %; the target is 0.8 or more")
	rounds.Speeds(os.Stdout, kinds, 0.8)
	return nil
}

// unload has psql write the table into a file, as extract does. The time is psql's own,
// so that its start and its connection do not count against it.
func unload(ctx context.Context, socket, file string) (float64, error) {
	defer os.Remove(file)
	took, err := psql.Timed(ctx, socket, "\\timing on\n\\o "+file+"\nCOPY zclient01 TO STDOUT;\n")
	if err != nil {
		return 0, err
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return 0, errors.New("psql wrote nothing")
	}
	return took, nil
}
