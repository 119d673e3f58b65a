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
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/internal/workload/client"
)

func main() {
	rows := flag.Int("rows", 20_000, "rows of the client")
	rounds := flag.Int("rounds", 15, "rounds; an interval takes 6")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the order") //nolint:gosec // any will do
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, *rows, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "clientcopy-vs-pgbench:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, rows, rounds int, seed uint64) error {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	params, err := workload.Check(client.Copy{}.Describe(), map[string]any{"rows": int64(rows), "work": int64(0)})
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
	sockets, err := filepath.Glob(filepath.Join(work, "*", "run"))
	if err != nil || len(sockets) != 1 {
		return fmt.Errorf("sockets %v: %w", sockets, err)
	}
	script := filepath.Join(work, "copy.sql")
	if err := client.WriteScript(script, params, r.Seed); err != nil {
		return err
	}
	ours := func() (float64, error) {
		got, err := s.Run(ctx, r)
		return got.Values["duration"], err
	}
	theirs := func() (float64, error) {
		if err := client.Prepare(ctx, s, r); err != nil {
			return 0, err
		}
		cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", sockets[0], "-U", "hostlab", "-d", "postgres", "-o", os.DevNull, "-f", script)
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("psql: %w: %s", err, out)
		}
		return time.Since(began).Seconds() - connects, nil
	}
	kinds := []struct {
		name string
		run  func() (float64, error)
	}{{"clientcopy", ours}, {"psql", theirs}, {"psql again", theirs}}
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // an order
	took := make([][]float64, len(kinds))
	fmt.Printf("%d rows, packages of 200, %d rounds, seed %d; seconds\n%5s", rows, rounds, seed, "round")
	for _, k := range kinds {
		fmt.Printf("  %10s", k.name)
	}
	fmt.Println()
	for n := range rounds {
		for _, i := range rng.Perm(len(kinds)) {
			t, err := kinds[i].run()
			if err != nil {
				return err
			}
			took[i] = append(took[i], t)
		}
		fmt.Printf("%5d", n+1)
		for i := range kinds {
			fmt.Printf("  %10.4f", took[i][n])
		}
		fmt.Println()
	}
	fmt.Println("\nrows a second, as a ratio to psql, 95 %; the target is 0.9 or more")
	for _, i := range []int{0, 2} {
		iv := stats.PairedRatio(took[1], took[i], 0.05)
		verdict := "not decided"
		switch {
		case i == 2:
			verdict = "(A/A)"
		case iv.Low >= 0.9:
			verdict = "yes"
		case iv.High < 0.9:
			verdict = "no"
		}
		fmt.Printf("%-10s  %.3f  [%.3f, %.3f]  n=%d  %s\n", kinds[i].name, iv.Estimate, iv.Low, iv.High, iv.N, verdict)
	}
	return nil
}

// connects is what psql's start and connection take at most, s: it does not count
// against psql.
const connects = 0.01
