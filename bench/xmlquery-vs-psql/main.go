// Xmlquery-vs-psql compares the elapsed time of the workload xmlquery on PostgreSQL
// with that of the same SQL in psql, on the same server and table. Both run in every
// round, in random order.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/workload/xmlquery"
)

func main() {
	size := flag.Int("mib", 16, "size of the table, MiB")
	degree := flag.Int("degree", 1, "degree of parallelism")
	rounds := flag.Int("rounds", 15, "rounds; an interval takes 6")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *size<<20, *degree, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "xmlquery-vs-psql:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, size, degree, rounds int, seed uint64) (err error) {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	d := xmlquery.NewDatabase(work)
	defer d.Close()
	if err := d.Load(ctx, size, 1); err != nil {
		return err
	}
	ours := func() (float64, error) {
		took, doubt, err := d.Elapsed(ctx, degree)
		if doubt != "" {
			fmt.Println("  doubt:", doubt)
		}
		return took, err
	}
	psql := func() (float64, error) { return psql(ctx, d.Server().SocketDir(), degree) }
	if _, err := ours(); err != nil { // sets the table's degree, which is for both
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	var a, again, b []float64
	fmt.Printf("PostgreSQL %s, %d MiB, degree %d, %d rounds, seed %d\n%5s  %9s  %9s  %9s\n", d.Server().Programs.Version, size>>20, degree, rounds, seed, "round", "hostlab s", "again s", "psql s")
	for r := range rounds {
		got := make([]float64, 3)
		for _, i := range rng.Perm(3) {
			run := ours
			if i == 2 {
				run = psql
			}
			if got[i], err = run(); err != nil {
				return err
			}
		}
		a, again, b = append(a, got[0]), append(again, got[1]), append(b, got[2])
		fmt.Printf("%5d  %9.4f  %9.4f  %9.4f\n", r+1, got[0], got[1], got[2])
	}
	iv := stats.PairedRatio(a, b, 0.05)
	aa := stats.PairedRatio(a, again, 0.05)
	fmt.Printf("\nhostlab / psql           %.3f  [%.3f, %.3f]  n=%d, 95 %%\nhostlab / hostlab (A/A)  %.3f  [%.3f, %.3f]\n",
		iv.Estimate, iv.Low, iv.High, iv.N, aa.Estimate, aa.Low, aa.High)
	switch {
	case iv.Low >= 0.95 && iv.High <= 1.05:
		fmt.Println("within 5 %: yes")
	case iv.High < 0.95 || iv.Low > 1.05:
		fmt.Println("within 5 %: no")
	default:
		fmt.Println("within 5 %: not decided by so many rounds")
	}
	return nil
}

var timing = regexp.MustCompile(`Time: ([0-9.]+) ms`)

// psql is the time that psql itself tells for the query, with the same settings.
func psql(ctx context.Context, socketDir string, degree int) (float64, error) {
	script := strings.Join(xmlquery.Session(degree), ";\n") + ";\n\\timing on\n" + xmlquery.PostgresQuery + ";\n"
	cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socketDir, "-U", "hostlab", "-d", "postgres")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("psql: %w: %s", err, out)
	}
	m := timing.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("psql told no time: %s", out)
	}
	ms, err := strconv.ParseFloat(string(m[1]), 64)
	return ms / 1000, err
}
