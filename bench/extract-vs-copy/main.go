// Extract-vs-copy compares how fast the workload extract reads PostgreSQL, with no
// work of its own, with COPY ... TO STDOUT through psql into a file, on the same
// server and rows. All run in every round, in random order.
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
	"regexp"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/internal/workload/extract"
)

func main() {
	rows := flag.Int("rows", 500_000, "rows of the table")
	size := flag.Int("package", 10_000, "rows of a package")
	rounds := flag.Int("rounds", 15, "rounds; an interval takes 6")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *rows, *size, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "extract-vs-copy:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, rows, size, rounds int, seed uint64) error {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	params := map[string]workload.Values{}
	for _, read := range []string{"cursor", "copy"} {
		v, err := workload.Check(extract.Workload{}.Describe(), map[string]any{"engine": "postgres", "rows": int64(rows), "package": int64(size), "work": int64(0), "read": read})
		if err != nil {
			return err
		}
		params[read] = v
	}
	s, err := extract.Workload{}.Open(ctx, workload.Config{Params: params["cursor"], Work: work})
	if err != nil {
		return err
	}
	defer s.Close()
	ours := func(read string) (float64, error) {
		got, err := s.Run(ctx, workload.Request{Params: params[read], Seed: 1})
		return got.Values["wall"], err
	}
	if _, err := ours("cursor"); err != nil { // loads the table
		return err
	}
	sockets, err := filepath.Glob(filepath.Join(work, "*", "run"))
	if err != nil || len(sockets) != 1 {
		return fmt.Errorf("sockets %v: %w", sockets, err)
	}
	kinds := []struct {
		name string
		run  func() (float64, error)
	}{
		{"cursor", func() (float64, error) { return ours("cursor") }},
		{"copy", func() (float64, error) { return ours("copy") }},
		{"psql", func() (float64, error) { return psql(ctx, sockets[0], filepath.Join(work, "psql.txt")) }},
		{"psql again", func() (float64, error) { return psql(ctx, sockets[0], filepath.Join(work, "psql.txt")) }},
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	took := make([][]float64, len(kinds))
	fmt.Printf("%d rows, packages of %d, %d rounds, seed %d; seconds\n%5s", rows, size, rounds, seed, "round")
	for _, k := range kinds {
		fmt.Printf("  %10s", k.name)
	}
	fmt.Println()
	for r := range rounds {
		for _, i := range rng.Perm(len(kinds)) {
			t, err := kinds[i].run()
			if err != nil {
				return err
			}
			took[i] = append(took[i], t)
		}
		fmt.Printf("%5d", r+1)
		for i := range kinds {
			fmt.Printf("  %10.4f", took[i][r])
		}
		fmt.Println()
	}
	fmt.Println("\nspeed, as a ratio to psql's COPY ... TO STDOUT, 95 %; the target is 0.8 or more")
	for i, k := range kinds {
		if i == 2 {
			continue
		}
		iv := stats.PairedRatio(took[2], took[i], 0.05)
		verdict := "not decided"
		if i == 3 {
			verdict = "(A/A)"
		} else if iv.Low >= 0.8 {
			verdict = "yes"
		} else if iv.High < 0.8 {
			verdict = "no"
		}
		fmt.Printf("%-10s  %.3f  [%.3f, %.3f]  n=%d  %s\n", k.name, iv.Estimate, iv.Low, iv.High, iv.N, verdict)
	}
	return nil
}

var timing = regexp.MustCompile(`Time: ([0-9.]+) ms`)

// psql unloads the table into a file, as extract does. The time is psql's own, so
// that its start and its connection do not count against it.
func psql(ctx context.Context, socketDir, file string) (float64, error) {
	defer os.Remove(file)
	cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", socketDir, "-U", "hostlab", "-d", "postgres")
	cmd.Stdin = strings.NewReader("\\timing on\n\\o " + file + "\nCOPY lines TO STDOUT;\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("psql: %w: %s", err, out)
	}
	m := timing.FindSubmatch(out)
	info, serr := os.Stat(file)
	if m == nil || serr != nil || info.Size() == 0 {
		return 0, fmt.Errorf("psql told no time, or wrote nothing: %s", out)
	}
	ms, err := strconv.ParseFloat(string(m[1]), 64)
	return ms / 1000, err
}
