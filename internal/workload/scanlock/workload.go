package scanlock

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

type Workload struct{ workload.Usual }

// Params are the workload's parameters.
type Params struct {
	// where the scanner runs: on no CPU, the sibling, another core, the same CPU, or in rotation
	Scanner result.Scanner `toml:"scanner" jsonschema:"enum=none,enum=sibling,enum=core,enum=same,enum=rotation"`
	// number of the CPU of the lock thread; -1: the lowest that may be used and has a sibling, else the lowest
	Victim int `toml:"victim" jsonschema:"minimum=-1,maximum=65536"`
	// of the rotation: all that this process may use, one-per-core of these (one thread of each core), or a list such as
	// 0-3,8
	CPUs string `toml:"cpus"`
	// memory that a scan overwrites, 128 B or more; 0: twice the L2 cache
	ScanSize workload.Bytes `toml:"scan_size" limits:"0,1073741824"`
	// before the measured stretch
	WarmUp workload.Span `toml:"warm_up" limits:"0.001,60"`
	// of the measured stretch, in the rotation of each position
	Duration workload.Span `toml:"duration" limits:"0.001,3600"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "scanlock",
		Title: "a lock-taking thread beside one that scans memory, by where that runs",
		About: "A pinned thread takes and releases a lock that nobody else wants. On the sibling of its core, on another core, or on " +
			"the same CPU, another thread scans memory. The rotation is the published program: one thread scans, all other CPUs want one " +
			"lock, and the scanner goes round. Before and after each run a cache line is thrown between two CPUs. Where that changes by " +
			"more than a fifth, or others take 2 % of a CPU of the threads or of a sibling of theirs, the run is in doubt. It is made " +
			"again, and at last left out or marked, as the study says. It shows the extremes, not what a mixed load sees. A thread that " +
			"had its CPU and never got the lock counts with half an acquisition, as a ratio takes no zero.",
		Doubts: []string{fmt.Sprintf(
			"placement probe (ping-pong): the time for a cache line between the two CPUs before and after "+
				"differs by up to %.0f %%", 100*movedShare),
			fmt.Sprintf("others up to %.0f %% of a CPU of the threads, or of a sibling of theirs", 100*disturbedShare)},
		Params: &Params{Scanner: result.NoScanner, Victim: -1, CPUs: cpus.All, WarmUp: workload.Seconds(0.1),
			Duration: workload.Seconds(0.25)},
		Responses: []workload.Response{
			{Name: "lock_rate", Title: "Acquisitions per second of the lock thread", Unit: "1/s", Better: "higher"},
			{Name: "total_rate", Title: "Acquisitions per second of all threads that take locks", Unit: "1/s", Better: "higher"},
			{Name: "spins_per_lock", Title: "Polls that found the lock held, per acquisition", Unit: "", Better: "lower"},
			{Name: "scan_rate", Title: "Scans of its whole block per second", Unit: "1/s", Better: "higher"},
			{Name: "sibling_share", Title: "Acquisitions of the scanner's sibling over the mean of the others", Unit: "",
				Better: "higher"},
		},
	}
}

func (Workload) Validate(cfg workload.Config) error {
	p := cfg.Params.(*Params)
	if n := p.ScanSize; n > 0 && n < LeastScan {
		return workload.Wrong("scan_size", fmt.Sprintf("%d B is less than a scan writes at once", n),
			fmt.Sprintf("it takes %d B or more, or 0 for twice the L2 cache", LeastScan))
	}
	return cpus.Check("cpus", p.CPUs)
}

// siteOf takes the parameter victim, where -1 is the machine's choice.
func siteOf(m workload.Machine, p *Params) site {
	s := site{cpus.New(m.Topology, m.Allowed, m.Measured), p.Victim}
	if s.victim < 0 {
		s.victim = s.m.Victim()
	}
	return s
}

func (Workload) Offers(cfg workload.Config, param string, levels []string, m workload.Machine) map[string]string {
	if param == "cpus" {
		return cpus.Of(m).Offers(levels)
	}
	here, out := siteOf(m, cfg.Params.(*Params)), map[string]string{}
	for _, l := range levels {
		switch param {
		case "scanner":
			if _, why := here.other(result.Scanner(l)); why != "" {
				out[l] = why
			}
		case "victim":
			if cpu, err := strconv.Atoi(l); err == nil && cpu >= 0 && !here.m.Has(cpu) {
				out[l] = "it is offline, or not among the CPUs that may be used"
			}
		}
	}
	return out
}

// Machine implements workload.Offering: the lock thread's CPU and the class of its core, the
// scanner's at each level, and the size of a scan.
func (Workload) Machine(cfg workload.Config, m workload.Machine) result.Machine {
	p := cfg.Params.(*Params)
	s := siteOf(m, p)
	out := result.Machine{CPUs: len(s.m.CPUs()), Cores: len(s.m.Cores()), Victim: &s.victim, Class: s.m.Class(s.victim),
		Scan: s.scan(int64(p.ScanSize)), Scanner: map[string]int{}}
	for _, level := range result.Scanners {
		if cpu, why := s.other(level); why == "" && cpu >= 0 {
			out.Scanner[string(level)] = cpu
		}
	}
	return out
}

// machineOf is where a session runs: what the study knows, where that is still so, or
// what can be seen now. now is the CPUs that may be used, to tell later changes by:
// Linux leaves out of them those that are offline.
func machineOf(ctx context.Context, cfg workload.Config) (m *cpus.Machine, now []int, err error) {
	if now, err = thread.Allowed(); err != nil {
		return nil, nil, fmt.Errorf("cannot read which CPUs may be used: %w", err)
	}
	known := cfg.Machine
	if known.Topology != nil {
		m = cpus.New(known.Topology, known.Allowed, known.Measured)
		if runtime.GOOS != "linux" || slices.Equal(m.CPUs(), now) {
			return m, now, nil
		}
	}
	topology := host.CPUs(ctx)
	return cpus.New(topology, now, known.Measured), now, ctx.Err()
}

func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	m, now, err := machineOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &session{cfg: cfg, m: m, seen: now, victim: -1}
	if cfg.Machine.Topology != nil {
		s.victim = cpus.New(cfg.Machine.Topology, cfg.Machine.Allowed, cfg.Machine.Measured).Victim()
	}
	p := cfg.Params.(*Params)
	if _, err := s.site(p).cells(p); err != nil {
		return nil, err
	}
	return s, nil
}
