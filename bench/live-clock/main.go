//go:build linux

// Command live-clock asks whether the clock lever and the policies of 'hostlab assess' are right. A
// PostgreSQL with pgbench is slowed down as a power policy would, in pairs of slices with and
// without it, in random order. The CPU seconds of a transaction,
// with what was inflicted, are compared with
//
//   - lever: those at full speed that the clock lever gives for the slow slice;
//   - predict: what the bursts of the slice at full speed say of that policy.
//
// It fails where one of them is more than 10 % off by all of its interval. Others' work on the
// host changes what a policy sees, so it names their share of the CPUs.
//
//	go run ./bench/live-clock [-pairs 8] [-slice 6s] [-rate 20] [-policies powersave,ondemand,balanced-rs1] [-floor 0.5]
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/bench/rounds"
	"hostlab/internal/assess"
	"hostlab/internal/emulate"
	"hostlab/internal/lever"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/privatedb"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/stats"
	"hostlab/internal/trace"
	"hostlab/internal/worker"
)

// limit is how far either may be off.
const limit = 0.10

type options struct {
	pairs, rate int
	slice       time.Duration
	policies    string
	floor       float64
}

func main() {
	worker.Main(emulate.Jobs())
	var o options
	flag.IntVar(&o.pairs, "pairs", 8, "pairs of slices of each policy")
	flag.DurationVar(&o.slice, "slice", 6*time.Second, "length of a slice")
	flag.IntVar(&o.rate, "rate", 20, "transactions a second, at random moments; each takes some 20 ms")
	flag.StringVar(&o.policies, "policies", "powersave,ondemand,balanced-rs1", "policies to emulate")
	flag.Float64Var(&o.floor, "floor", 0.5, "lowest clock, as a share of full speed")
	flag.Parse()
	rounds.Judge("live-clock", func(ctx context.Context) (bool, error) { return measure(ctx, o) })
}

// script is a transaction of some 20 ms, which counts itself. It needs little memory: stops let others
// have the caches.
const script = "select count(*), nextval('done') from (select generate_series(1, 300000)) s;\n"

// bench is a server, what slows it down, and the service that hostlab sees.
type bench struct {
	options
	server *privatedb.Server
	clock  *emulate.Emulation
	of     *service.Service

	pgbench *exec.Cmd
	conn    *pgx.Conn
}

func measure(ctx context.Context, o options) (ok bool, err error) {
	b := &bench{options: o}
	if b.server, err = privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: os.TempDir()}); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.server.Close()) }()
	if b.conn, err = b.server.Connect(ctx); err != nil {
		return false, err
	}
	defer b.conn.Close(context.Background())
	if _, err := b.conn.Exec(ctx, "create sequence done"); err != nil {
		return false, err
	}
	b.pgbench = exec.CommandContext(ctx, "pgbench", "-h", b.server.SocketDir(), "-U", privatedb.Role, "-n", "-f", "/dev/stdin", "-c", "8", "-R", strconv.Itoa(o.rate), "-T", "36000", privatedb.Postgres) //nolint:gosec // our own
	b.pgbench.Stdin, b.pgbench.Stderr = strings.NewReader(script), os.Stderr
	if err := b.pgbench.Start(); err != nil {
		return false, err
	}
	defer func() { _ = b.pgbench.Process.Kill(); _ = b.pgbench.Wait() }()
	if b.of, err = (service.Spec{Kind: service.Process, Name: strconv.Itoa(b.server.PID())}).Find(nil, nil); err != nil {
		return false, err
	}
	if b.clock, err = emulate.Start(); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.clock.Close()) }()
	if err := b.known(ctx); err != nil {
		return false, err
	}
	ok = true
	for policy := range strings.SplitSeq(o.policies, ",") {
		good, err := b.policy(ctx, policy)
		if err != nil {
			return false, fmt.Errorf("%s: %w", policy, err)
		}
		ok = ok && good
	}
	return ok, nil
}

// known waits until the emulation has found all processes: on a busy host it looks for them seldom.
func (b *bench) known(ctx context.Context) error {
	for range 60 {
		before, err1 := b.look(ctx)
		time.Sleep(time.Second)
		after, err2 := b.look(ctx)
		if err := errors.Join(err1, err2, ctx.Err()); err != nil {
			return err
		}
		if used := after.used - before.used; used > 0.1 && after.inflicted.Used-before.inflicted.Used > 0.9*used {
			return nil
		}
	}
	return errors.New("the emulation does not find the processes")
}

// pair is a slice under a policy beside one at full speed: how many times the CPU seconds were by what was
// inflicted, by the lever and by the model; and how many times a transaction's own ones, by the stops.
type pair struct{ measured, stops, lever, predicted float64 }

// policy measures pairs and compares.
func (b *bench) policy(ctx context.Context, policy string) (bool, error) {
	var pairs []pair
	var others []float64
	for range b.pairs {
		var p pair
		var cpu [2]cost
		first := rand.IntN(2)
		for _, slowed := range []int{first, 1 - first} {
			neighbours := proc.Watch(nil)
			var err error
			if slowed == 1 {
				cpu[1], p.lever, err = b.slowed(ctx, policy)
			} else {
				cpu[0], p.predicted, err = b.full(ctx, policy)
			}
			if err != nil {
				return false, err
			}
			if share, ok := neighbours.Share(); ok {
				others = append(others, share)
			}
		}
		p.measured, p.stops = cpu[1].clocked/cpu[1].own, cpu[1].own/cpu[0].own
		pairs = append(pairs, p)
	}
	mean := func(of func(pair) float64) result.Estimate {
		var x, one []float64
		for _, p := range pairs {
			x, one = append(x, of(p)), append(one, 1)
		}
		return stats.PairedRatio(x, one, 0.05)
	}
	say := func(e result.Estimate) string { return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Value, e.Low, e.High) }
	fmt.Printf("%s: %s times the CPU seconds, and stops cost %s times a transaction's own; n = %d pairs of %s; others took %.0f %% of the CPUs\n",
		policy, say(mean(func(p pair) float64 { return p.measured })), say(mean(func(p pair) float64 { return p.stops })), len(pairs), b.options.slice, 100*stats.Mean(others))
	ok := true
	for name, of := range map[string]func(pair) float64{"clock lever": func(p pair) float64 { return p.lever }, "predict": func(p pair) float64 { return p.predicted }} {
		off, within := mean(func(p pair) float64 { return of(p) / p.measured }), "10 % is not decided"
		switch {
		case off.Low > 1+limit || off.High < 1-limit:
			within, ok = "more than 10 % off", false
		case off.Low >= 1-limit && off.High <= 1+limit:
			within = "within 10 %"
		}
		fmt.Printf("  %-11s %s; to what was measured %s, %s\n", name, say(mean(of)), say(off), within)
	}
	return ok, nil
}

// cost is a transaction's, in CPU s: its own, and with what the clock would have cost.
type cost struct{ own, clocked float64 }

// slowed is a slice under a policy: what a transaction cost, and how many times as fast it would
// be at full speed by the lever.
func (b *bench) slowed(ctx context.Context, policy string) (cpu cost, times float64, err error) {
	if err := b.clock.Set(policy, b.floor); err != nil {
		return cpu, 0, err
	}
	type watched struct {
		m   *assess.Minute
		err error
	}
	got := make(chan watched, 1)
	go func() {
		m, err := assess.Watch(ctx, b.of, nil, "", assess.Options{For: b.options.slice, CPUs: 2, Clock: emulated{b.clock}})
		got <- watched{m, err}
	}()
	cpu, err = b.slice(ctx)
	w := <-got
	if err = errors.Join(err, w.err, b.clock.Release()); err != nil {
		return cpu, 0, err
	}
	for _, l := range w.m.Levers() {
		if l.Name == lever.Clock && l.Likely != nil {
			return cpu, 1 / (1 - *l.Likely / *l.Share), nil
		}
	}
	return cpu, 0, errors.New("the clock lever is unknown: " + w.m.Unseen[lever.Clock])
}

// full is a slice at full speed: what a transaction cost, and how many times as much it would under
// a policy by its bursts.
func (b *bench) full(ctx context.Context, policy string) (cpu cost, times float64, err error) {
	type recorded struct {
		r   *trace.Result
		err error
	}
	got := make(chan recorded, 1)
	go func() {
		r, err := trace.Record(ctx, trace.Config{Target: assess.Target(b.of), For: b.options.slice})
		got <- recorded{r, err}
	}()
	cpu, err = b.slice(ctx)
	r := <-got
	if err = errors.Join(err, r.err); err != nil {
		return cpu, 0, err
	}
	times, err = b.predict(ctx, r.r, policy)
	return cpu, times, err
}

func (b *bench) predict(ctx context.Context, r *trace.Result, policy string) (float64, error) {
	var record bytes.Buffer
	if err := r.WriteBursts(&record); err != nil {
		return 0, err
	}
	w, err := predict.ReadWorkload("bursts", &record, true)
	if err != nil {
		return 0, err
	}
	// All processes have one emulated clock.
	machine := model.Stepped(len(r.CPUs), b.floor)
	machine.Domain = model.PerSocket
	q := predict.Question{Machine: predict.Machine{Machine: machine}, Workload: w, Options: model.Options{Seed: 1, Precision: 0.02}}
	q.Baseline, _ = model.ParsePolicy("performance")
	p, err := model.ParsePolicy(policy)
	if err != nil {
		return 0, err
	}
	q.Policies = []model.Policy{p}
	compared, err := predict.Compare(ctx, q)
	if err != nil {
		return 0, err
	}
	return compared[0].Rows[0].Ratio[model.CPUSeconds].Value, nil
}

// slice lets the load run for so long and returns what a transaction cost.
func (b *bench) slice(ctx context.Context) (c cost, err error) {
	before, err1 := b.look(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(b.options.slice):
	}
	after, err2 := b.look(ctx)
	n := after.done - before.done
	if err := errors.Join(err1, err2, ctx.Err()); err != nil || n == 0 {
		return c, cmp.Or(err, errors.New("no transaction in a slice"))
	}
	used, e := after.used-before.used, after.inflicted.Sub(before.inflicted)
	clocked := used
	if e.Asked > 0 { // of what the clock would have cost, as much as processes were kept from their CPUs
		clocked += (e.Clocked - e.Used) * e.Kept / e.Asked
	}
	return cost{used / n, clocked / n}, nil
}

type reading struct {
	done, used float64 // transactions, and s of CPU time of all processes
	inflicted  emulate.Totals
}

func (b *bench) look(ctx context.Context) (r reading, err error) {
	if err := b.conn.QueryRow(ctx, "select last_value::float8 from done").Scan(&r.done); err != nil {
		return r, err
	}
	for _, p := range proc.Below(proc.All(), b.server.PID(), b.pgbench.Process.Pid) {
		if t, err := proc.CPUTime(p.PID); err == nil {
			r.used += t.Seconds()
		}
	}
	r.inflicted, err = b.clock.Totals()
	return r, err
}

// emulated is the clock of processes that an emulation slows down: the work that they did, by the
// CPU time that it would have taken at the emulated clock.
type emulated struct{ *emulate.Emulation }

// Read is what was emulated until now.
func (e emulated) Read(time.Time) (map[int]assess.Ran, error) {
	t, err := e.Totals()
	return map[int]assess.Ran{-1: {Cycles: t.Used * 3e9, Seconds: t.Clocked}}, err
}

// Highest is full speed.
func (emulated) Highest() (float64, error) { return 3e9, nil }

// About names it.
func (emulated) About() (string, result.Evidence) { return "an emulated clock", result.Emulated }

// Close leaves the emulation to who started it.
func (emulated) Close() {}
