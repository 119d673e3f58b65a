package scanlock

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/workload"
)

// Pair implements workload.Workload: cells of two threads, which are named by their CPUs.
type Pair struct{}

// antagonists are what the other thread may do.
var antagonists = workload.Words(cellNone, Scan, Pause, ALU, FMA, Lock)

func (Pair) Describe() workload.Description {
	return workload.Description{
		Name:  "corun",
		Title: "a lock-taking thread beside another that may disturb it",
		About: "A pinned thread takes and releases a spin lock that nobody else wants, while another, pinned elsewhere, scans " +
			"memory, fills execution ports or waits. Compared with the same beside nothing, and on other CPUs, it tells whether " +
			"siblings of a core cost each other, and whether through caches or through execution units. With the antagonist lock both " +
			"want the same lock. It shows the extremes, not what a mixed load sees.",
		Params: []workload.Param{
			{Name: "lock_cpu", Kind: workload.Int, Default: int64(0), Max: 1 << 16,
				Help: "number of the CPU of the lock-taking thread"},
			{Name: "other_cpu", Kind: workload.Int, Default: int64(1), Max: 1 << 16, Help: "number of the CPU of the other"},
			{Name: "antagonist", Kind: workload.String, Default: string(Scan), Choices: antagonists, Help: "what the other does"},
			{Name: "scan_size", Kind: workload.Bytes, Default: int64(2 << 20), Min: 128, Max: 1 << 30,
				Help: "memory that a scan overwrites"},
			{Name: "touch", Kind: workload.Bool, Default: false,
				Help: "the lock protects a counter, which is written; else nothing"},
			{Name: "duration", Kind: workload.Duration, Default: 250 * time.Millisecond, Min: 1e-3, Max: maxSeconds,
				Help: "of the measured stretch"},
			{Name: "warm_up", Kind: workload.Duration, Default: 100 * time.Millisecond, Min: 1e-3, Max: 60, Help: "before it"},
		},
		Responses: []workload.Response{
			{Name: "lock_rate", Title: "Acquisitions per second", Unit: "1/s", Better: "higher"},
			{Name: "spins_per_lock", Title: "Polls that found the lock held, per acquisition", Unit: "", Better: "lower"},
			{Name: "other_rate", Title: "The other thread's rounds per second", Unit: "1/s", Better: "higher"},
			{Name: "scan_rate", Title: "Memory that the scan overwrote per second", Unit: "B/s", Better: "higher"},
		},
	}
}

func (Pair) Validate(cfg workload.Config) error {
	p := cfg.Params
	if p.String("antagonist") != cellNone && p.Int("lock_cpu") == p.Int("other_cpu") {
		return workload.Wrong("other_cpu", fmt.Sprintf("both threads are to run on CPU %d", p.Int("lock_cpu")),
			"spinning threads that share a CPU only wait for each other: name another, or antagonist none")
	}
	return nil
}

// cellOf returns the parameters of the workload scanlock that mean the same.
func cellOf(p workload.Values) workload.Values {
	text := p.String("antagonist")
	if text != cellNone {
		text += "@" + strconv.FormatInt(p.Int("other_cpu"), 10)
	}
	out := workload.Values{}
	for _, param := range (Workload{}).Describe().Params {
		out[param.Name] = cmp.Or(p[param.Name], param.Default)
	}
	out["cell"], out["victim"] = text, p.Int("lock_cpu")
	return out
}

func (w Pair) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	m, _, err := machineOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := there(m, cfg.Params); err != nil {
		return nil, err
	}
	cfg.Params = cellOf(cfg.Params)
	s, err := Workload{}.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return pairSession{s.(*session)}, nil
}

// there reports the first of the two CPUs that cannot be used, by its parameter.
func there(m *cpus.Machine, p workload.Values) error {
	names := []string{"lock_cpu", "other_cpu"}
	if p.String("antagonist") == cellNone {
		names = names[:1]
	}
	for _, name := range names {
		if _, err := m.Choose(name, strconv.FormatInt(p.Int(name), 10)); err != nil {
			return err
		}
	}
	return nil
}

type pairSession struct{ *session }

func (s pairSession) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := (Pair{}).Validate(workload.Config{Params: r.Params}); err != nil {
		return out, err
	}
	if err := s.look(ctx); err != nil {
		return out, err
	}
	if err := there(s.m, r.Params); err != nil {
		return out, err
	}
	r.Params = cellOf(r.Params)
	all, err := s.session.Run(ctx, r)
	return paired(all), err
}

// paired keeps of a sample what the pair promises. Its runs count also where others were
// on the CPUs, and say so.
func paired(all workload.Sample) workload.Sample {
	out := workload.Sample{Operations: all.Operations, Values: map[string]float64{}, Missing: map[string]string{}}
	for _, response := range (Pair{}).Describe().Responses {
		name := response.Name
		if v, ok := all.Values[name]; ok {
			out.Values[name] = v
		} else if why := all.Missing[name]; why != alone {
			out.Missing[name] = why
		} else {
			out.Values[name] = 0 // polls of a lock that nobody else wants
		}
	}
	if all.Doubt != "" {
		out.Warnings = []string{all.Doubt}
	}
	return out
}
