// Command explain-cost measures what 'hostlab explain' takes of a PostgreSQL's
// throughput under pgbench: pairs of runs with and without it, in random order, on a
// server of its own.
//
//	go run ./bench/explain-cost [-hostlab bin/hostlab] [-pairs 15] [-seconds 6] [-clients 4] [-select]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"hostlab/internal/postgres"
	"hostlab/internal/stats"
)

func main() {
	hostlab := flag.String("hostlab", "bin/hostlab", "the program")
	pairs := flag.Int("pairs", 15, "pairs of runs")
	seconds := flag.Int("seconds", 6, "length of a run")
	clients := flag.Int("clients", 4, "pgbench clients")
	reads := flag.Bool("select", false, "select only: CPU-bound")
	flag.Parse()
	if err := measure(*hostlab, *pairs, *seconds, *clients, *reads); err != nil {
		fmt.Fprintln(os.Stderr, "explain-cost:", err)
		os.Exit(1)
	}
}

func measure(hostlab string, pairs, seconds, clients int, reads bool) error {
	ctx := context.Background()
	s, err := postgres.Start(ctx, postgres.Config{Parent: os.TempDir(), Settings: map[string]string{"track_wal_io_timing": "on"}})
	if err != nil {
		return err
	}
	defer s.Close()
	at := []string{"-h", s.SocketDir(), "-U", postgres.Role}
	if _, err := pgbench(append(at, "-i", "-q", "-s", "10", postgres.Database)...); err != nil {
		return err
	}
	args := append(at, "-n", "-c", fmt.Sprint(clients), "-j", "2", "-T", fmt.Sprint(seconds))
	if reads {
		args = append(args, "-S", "-M", "prepared")
	}
	args = append(args, postgres.Database)
	dsn := "host=" + s.SocketDir() + " user=" + postgres.Role + " dbname=" + postgres.Database
	run := func(watched bool) (float64, error) {
		if !watched {
			return tps(args)
		}
		w := exec.Command(hostlab, "explain", "--dsn", dsn, "--for", fmt.Sprintf("%ds", seconds+2), "--format", "json")
		if err := w.Start(); err != nil {
			return 0, err
		}
		time.Sleep(200 * time.Millisecond)
		v, err := tps(args)
		return v, errors.Join(err, w.Wait())
	}
	var with, without []float64
	for i := range pairs + 1 {
		first := rand.IntN(2) == 0
		a, err := run(first)
		if err != nil {
			return err
		}
		b, err := run(!first)
		if err != nil {
			return err
		}
		if !first {
			a, b = b, a
		}
		if i == 0 {
			continue // warm-up
		}
		with, without = append(with, a), append(without, b)
		fmt.Printf("with %.0f tps, without %.0f tps\n", a, b)
	}
	r := stats.PairedRatio(with, without, 0.05)
	fmt.Printf("throughput with explain against without: %+v\n", r)
	return nil
}

var rate = regexp.MustCompile(`tps = ([0-9.]+) \(without`)

func tps(args []string) (float64, error) {
	out, err := pgbench(args...)
	if err != nil {
		return 0, err
	}
	m := rate.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench said no tps: %s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func pgbench(args ...string) ([]byte, error) {
	out, err := exec.Command("pgbench", args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	return out, nil
}
