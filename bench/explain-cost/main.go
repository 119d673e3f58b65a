//go:build linux

// Command explain-cost measures what 'hostlab assess --only service' takes of a server under load, or with -ring
// 'hostlab watch --ring', on a PostgreSQL of its own with pgbench, in two ways:
//
//   - CPU: what the process of explain, its child and the backend that serves it have used, as a
//     share of one CPU's time meanwhile. It is counted by the kernel, so that a noisy host
//     does not move it, and on a host whose CPUs are all busy it is what pgbench loses.
//   - throughput: transactions in short slices, in pairs with explain at work and
//     stopped in the middle of its recording (SIGSTOP), in random order. pgbench, its
//     connections and the recording run on meanwhile, so that nothing else changes.
//
// It fails where the upper end of that share is 1 % or more, as explain promises less, or the throughput is
// below 99 % by all of its interval.
//
//	go run ./bench/explain-cost [-hostlab bin/hostlab] [-ring] [-pairs 150] [-slice 300ms] [-clients 4]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/privatedb"
	"hostlab/internal/stats"
)

func main() {
	o := options{}
	flag.StringVar(&o.hostlab, "hostlab", "bin/hostlab", "the program")
	flag.BoolVar(&o.ring, "ring", false, "measure 'watch --ring', as root")
	flag.IntVar(&o.pairs, "pairs", 150, "pairs of slices")
	flag.DurationVar(&o.slice, "slice", 300*time.Millisecond, "length of a slice")
	flag.IntVar(&o.clients, "clients", 4, "pgbench clients")
	flag.Parse()
	rounds.Judge("explain-cost", func(ctx context.Context) (bool, error) { return measure(ctx, o) })
}

type options struct {
	hostlab        string
	ring           bool
	dir            string // of that
	pairs, clients int
	slice          time.Duration
}

// limit is the share that explain may take, of one CPU and of the throughput.
const limit = 0.01

func measure(ctx context.Context, o options) (ok bool, err error) {
	s, err := privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: os.TempDir(), Settings: map[string]string{"track_wal_io_timing": "on", "track_io_timing": "on"}})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	at := []string{"-h", s.SocketDir(), "-U", privatedb.Role}
	if out, err := exec.CommandContext(ctx, "pgbench", append(at, "-i", "-q", "-s", "10", privatedb.Postgres)...).CombinedOutput(); err != nil { //nolint:gosec // pgbench's arguments
		return false, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	if o.dir, err = os.MkdirTemp("", "hostlab-bench-ring-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(o.dir)
	lasts := time.Duration(2*o.pairs)*(o.slice+settle) + 10*time.Second
	args := append(at, "-n", "-c", fmt.Sprint(o.clients), "-j", "2", "-T", fmt.Sprint(int(lasts.Seconds())+5))
	load, err := start(ctx, "pgbench", append(args, privatedb.Postgres)...)
	if err != nil {
		return false, err
	}
	defer load.end()
	time.Sleep(2 * time.Second) // connections, warm-up
	watch, err := start(ctx, o.hostlab, o.command(s, lasts)...)
	if err != nil {
		return false, err
	}
	defer watch.end()
	c, err := s.Connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close(context.Background())
	m := &meter{conn: c, watch: watch.Process.Pid}
	if err := m.find(ctx); err != nil {
		return false, err
	}
	shares, with, without, err := m.pairs(ctx, o)
	if err != nil {
		return false, err
	}
	cpu, speed := stats.PairedT(shares, 0.05), stats.PairedRatio(with, without, 0.05)
	fmt.Printf("CPU of explain, its child and its backend: %.2f %% of one CPU [%.2f, %.2f], %.2f %% of %d CPUs, n = %d slices of %s\n",
		100*cpu.Value, 100*cpu.Low, 100*cpu.High, 100*cpu.Value/cpus, runtime.NumCPU(), cpu.N, o.slice)
	fmt.Printf("throughput with explain against without: %.4f [%.4f, %.4f], n = %d pairs, %.0f transactions/s without\n", speed.Value, speed.Low, speed.High, speed.N, stats.Median(without))
	cheap, fast := cpu.High < limit, speed.High >= 1-limit
	switch {
	case !cheap || !fast:
		fmt.Println("more than 1 %")
	case speed.Low > 1-limit:
		fmt.Println("under 1 % of one CPU and of the throughput")
	default:
		fmt.Println("under 1 % of one CPU; the throughput does not decide at this noise")
	}
	return cheap && fast, nil
}

// command is what watches the server for so long.
func (o *options) command(s *privatedb.Server, lasts time.Duration) []string {
	if o.ring {
		return []string{"watch", "--quiet", "--service", "pid:" + strconv.Itoa(s.PID()), "--ring", "1h", "--ring-dir", o.dir,
			"--duration", lasts.String()}
	}
	dsn := "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=" + privatedb.Postgres
	return []string{"assess", "--only", "service", "--out", "-", "--quiet", "--dsn", dsn, "--for", lasts.String(),
		"--format", "json"}
}

var cpus = float64(runtime.NumCPU())
