// Package burst is the workload of short pieces of work with pauses between them,
// which is what a lightly loaded application server does, and what the probe of
// the wake-up penalty is made of.
package burst

import (
	"context"
	"fmt"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/hot"
	"hostlab/internal/stats"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
)

// Workload implements workload.Workload.
type Workload struct{}

// nominal is the clock that lengths of slices refer to. A slice is a number of
// operations, so that a slower clock shows as a longer time.
const nominal = 2e9

// cycles is what an operation of a kernel takes at least: an addition, or a load
// that hits L2 (14 cycles on cores of the last ten years), in cycles.
var cycles = map[string]float64{ALU: 1, Mixed: 14 + hot.MixedAdds, Chase: 14}

// chunk is how many bursts are asked of the worker at a time.
const chunk = 64

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "burst",
		Title: "short pieces of work after idle pauses, on one CPU",
		About: "A thread pinned to a CPU sleeps for a pause, does a fixed number of operations, and so on. Its times show what the " +
			"power policy, idle states and cold caches cost a request that arrives on an idle CPU. Latency counts from the end of the " +
			"pause as asked for: waking up late is part of it. It does not show what happens when many CPUs are busy, nor what a " +
			"scheduler does that may move the thread.",
		Params: []workload.Param{
			{Name: "kernel", Kind: workload.String, Default: ALU, Choices: []string{ALU, Mixed, Chase},
				Help: "dependent additions; loads over the working set and additions; loads alone"},
			{Name: "slice", Kind: workload.Duration, Default: 10 * time.Millisecond, Min: 10e-6, Max: 10,
				Help: "work of a burst, as the time that a core takes for it at 2 GHz with its data in L2"},
			{Name: "pause", Kind: workload.Duration, Default: 20 * time.Millisecond, Max: 10,
				Help: "sleep before each burst; 0: none"},
			{Name: "count", Kind: workload.Int, Default: int64(50), Min: 1, Max: 1e5, Help: "bursts of a run"},
			{Name: "cpu", Kind: workload.Int, Default: int64(0), Max: 1 << 16, Help: "number of the CPU to run on"},
			{Name: "working_set", Kind: workload.Bytes, Default: int64(512 << 10), Min: 4096, Max: 1 << 30,
				Help: "of the kernels mixed and chase, in an order from the block's seed"},
		},
		Responses: append([]workload.Response{
			{Name: "slice_s", Title: "Median time of a burst's work", Unit: "s", Better: "lower"},
			{Name: "wakeup_s", Title: "Median delay of waking up", Unit: "s", Better: "lower"},
			{Name: "cpu_s", Title: "CPU time of a run's work", Unit: "s", Better: "lower"},
			{Name: "wall", Title: "Elapsed time of a run", Unit: "s", Better: "lower"},
		}, workload.LatencyResponses("burst")...),
	}
}

func (Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	s := &session{worker: worker.Kept{Job: Job}}
	// One short burst starts the worker, and tells whether the CPU can be used.
	probe := Request{CPU: int(cfg.Params.Int("cpu")), WorkingSet: int(cfg.Params.Int("working_set")),
		Steps: []Step{{Kernel: cfg.Params.String("kernel"), N: 1000}}}
	if _, err := s.call(ctx, probe); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type session struct {
	worker worker.Kept
	at     uint64 // where the last run's walk over its working set ended
}

// call answers a request, or says that the CPU cannot be used.
func (s *session) call(ctx context.Context, q Request) ([]Sample, error) {
	var reply Reply
	if err := s.worker.Call(ctx, 1, q, &reply); err != nil {
		return nil, cpus.Unusable("cpu", err)
	}
	if len(reply.Samples) != len(q.Steps) {
		return nil, fmt.Errorf("the worker answered %d steps of %d", len(reply.Samples), len(q.Steps))
	}
	s.at = reply.At
	return reply.Samples, nil
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	p := r.Params
	kernel := p.String("kernel")
	work := Step{Kernel: kernel, N: max(1, uint64(p.Duration("slice").Seconds()*nominal/cycles[kernel]))}
	q := Request{CPU: int(p.Int("cpu")), WorkingSet: int(p.Int("working_set")), Seed: r.Seed}
	if _, err := s.call(ctx, q); err != nil { // without steps: another seed's working set takes time to lay out
		return out, err
	}
	pause := p.Duration("pause").Seconds()
	var all gathered
	begin := time.Now()
	for left := int(p.Int("count")); left > 0; left -= chunk {
		q.Steps = q.Steps[:0]
		for range min(left, chunk) {
			if pause > 0 {
				q.Steps = append(q.Steps, Step{Sleep: pause})
			}
			q.Steps = append(q.Steps, work)
		}
		got, err := s.call(ctx, q)
		if err != nil {
			return out, err
		}
		all.add(q.Steps, got)
	}
	return all.sample(time.Since(begin).Seconds(), pause > 0), nil
}

func (s *session) Close() error { return s.worker.Close() }

// gathered is what the bursts of a run took, in seconds.
type gathered struct {
	slices, whole, late []float64
	cpu                 float64
	noCPU, noLate       bool
}

func (g *gathered) add(steps []Step, samples []Sample) {
	late := 0.0
	for i, s := range samples {
		if steps[i].Sleep > 0 {
			late = max(0, s.Late)
			g.late = append(g.late, late)
			g.noLate = g.noLate || !s.HasLate
			continue
		}
		g.slices = append(g.slices, s.Wall)
		g.whole = append(g.whole, late+s.Wall)
		g.cpu += s.CPU
		g.noCPU = g.noCPU || !s.HasCPU
	}
}

func (g *gathered) sample(wall float64, paused bool) (out workload.Sample) {
	workload.FillLatency(&out, "burst", g.whole)
	out.Set("slice_s", stats.Median(g.slices))
	out.Set("wall", wall)
	if g.noCPU {
		out.Lack("this system does not tell the CPU time of a thread closely enough", "cpu_s")
	} else {
		out.Set("cpu_s", g.cpu)
	}
	const why = "this system does not tell when a thread woke up closely enough"
	switch {
	case !paused:
		out.Lack("there is no pause to wake up from", "wakeup_s")
	case g.noLate:
		out.Lack(why, "wakeup_s")
	default:
		out.Set("wakeup_s", stats.Median(g.late))
	}
	if g.noLate {
		out.Latency = nil // without the wake-up they are not from the intended start
		for _, r := range workload.LatencyResponses("burst") {
			delete(out.Values, r.Name)
			out.Lack(why, r.Name)
		}
	}
	return out
}
