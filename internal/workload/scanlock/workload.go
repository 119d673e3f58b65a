package scanlock

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/hot"
	"hostlab/internal/result"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

// maxSeconds bounds a cell's measured stretch.
const maxSeconds = 3600

// Workload implements workload.Workload.
type Workload struct{}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "scanlock",
		Title: "a lock-taking thread beside one that scans memory, by where that runs",
		About: "A pinned thread takes and releases a lock that nobody else wants. Beside it, on the sibling of its core, on another " +
			"core or on another socket, another thread scans memory, or in its place waits with PAUSE, fills the ports for integers or " +
			"for floating point, or takes locks too. The cell rotation is that of the published program: one thread scans, all other " +
			"CPUs want one lock, and the scanner goes round. Before and after each cell a cache line is thrown between the two CPUs: " +
			"where that changes by more than a fifth, or others take 2 % of a CPU of the threads or of a sibling of theirs, the run is " +
			"in doubt: it is made again, and at last left out or marked, as the study says. It shows the extremes, not what a mixed " +
			"load sees. A thread that had its CPU and never got the lock counts with half an acquisition, as a ratio takes no zero.",
		Doubts: []string{fmt.Sprintf("placement probe (ping-pong): the time for a cache line between the two CPUs before and after "+
			"differs by up to %.0f %%", 100*movedShare),
			fmt.Sprintf("others up to %.0f %% of a CPU of the threads, or of a sibling of theirs", 100*disturbedShare)},
		Params: []workload.Param{
			{Name: "cell", Kind: workload.String, Default: cellNone,
				Help: "what runs beside the lock thread, and where: none, scan@sibling, alu@core, scan-half-l1@sibling, own@sibling, " +
					"scan@3, rotation"},
			{Name: "victim", Kind: workload.Int, Default: int64(-1), Min: -1, Max: 1 << 16,
				Help: "number of the CPU of the lock thread; -1: the lowest that may be used and has a sibling, else the lowest"},
			{Name: "cpus", Kind: workload.String, Default: cpus.All,
				Help: "of the rotation: all that this process may use, one-per-core of these (one thread of each core), or a list such as 0-3,8"},
			{Name: "lock", Kind: workload.String, Default: string(TTAS), Choices: workload.Words(Locks...),
				Help: "how the lock is taken"},
			{Name: "critical", Kind: workload.Int, Default: int64(0), Max: 1 << 20,
				Help: "dependent additions while the lock is held"},
			{Name: "touch", Kind: workload.Bool, Default: false, Help: "the lock protects data, which is written; else nothing"},
			{Name: "parallel", Kind: workload.Int, Default: int64(0), Max: 1 << 20,
				Help: "dependent additions between release and the next try"},
			{Name: "no_pause", Kind: workload.Bool, Default: false, Help: "spin without PAUSE"},
			{Name: "layout", Kind: workload.String, Default: string(Padded), Choices: workload.Words(Layouts...),
				Help: "where the threads' counters lie: each in lines of its own, or as in the published program four in one"},
			{Name: "scan_size", Kind: workload.Bytes, Default: int64(0), Max: maxBlock,
				Help: "memory that a scan overwrites, 128 B or more; 0: twice the L2 cache"},
			{Name: "warm_up", Kind: workload.Duration, Default: 100 * time.Millisecond, Min: 1e-3, Max: 60,
				Help: "before the measured stretch"},
			{Name: "duration", Kind: workload.Duration, Default: 250 * time.Millisecond, Min: 1e-3, Max: maxSeconds,
				Help: "of the measured stretch, in the rotation of each position"},
		},
		Responses: []workload.Response{
			{Name: "lock_rate", Title: "Acquisitions per second of the lock thread", Unit: "1/s", Better: "higher"},
			{Name: "total_rate", Title: "Acquisitions per second of all threads that take locks", Unit: "1/s", Better: "higher"},
			{Name: "spins_per_lock", Title: "Polls that found the lock held, per acquisition", Unit: "", Better: "lower"},
			{Name: "other_rate", Title: "The other thread's rounds per second", Unit: "1/s", Better: "higher"},
			{Name: "scan_rate", Title: "Memory that the scan overwrote per second", Unit: "B/s", Better: "higher"},
			{Name: "share", Title: "The lock thread's part of all acquisitions, against a fair share", Unit: "",
				Better: "higher"},
			{Name: "jain", Title: "Jain's index of fairness: 1 where all get the same", Unit: "", Better: "higher"},
			{Name: "sibling_share", Title: "Acquisitions of the scanner's sibling over the mean of the others", Unit: "",
				Better: "higher"},
			{Name: "ping_pong", Title: "Time for a cache line between the two CPUs, one way", Unit: "s", Better: "lower"},
		},
	}
}

func (Workload) Validate(cfg workload.Config) error {
	if n := cfg.Params.Int("scan_size"); n > 0 && n < hot.LineSize {
		return workload.Wrong("scan_size", fmt.Sprintf("%d B is less than a scan writes at once", n),
			fmt.Sprintf("it takes %d B or more, or 0 for twice the L2 cache", hot.LineSize))
	}
	if err := cpus.Check("cpus", cfg.Params.String("cpus")); err != nil {
		return err
	}
	c, err := parseCell(cfg.Params.String("cell"))
	if err == nil && c.role != "" && c.place == "" && int64(c.cpu) == cfg.Params.Int("victim") {
		return workload.Wrong("cell", fmt.Sprintf("both threads are to run on CPU %d", c.cpu),
			"spinning threads that share a CPU only wait for each other: name another")
	}
	return err
}

func (Workload) Offers(cfg workload.Config, param string, levels []string, m workload.Machine) map[string]string {
	if param == "cpus" {
		return cpus.Of(m).Offers(levels)
	}
	out := map[string]string{}
	machine := cpus.New(m.Topology, m.Allowed, m.Measured)
	for _, l := range levels {
		switch param {
		case "cell":
			c, err := parseCell(l)
			if err != nil {
				continue // Validate reports it
			}
			if _, why := newSite(machine, cfg.Params).other(c, cfg.Params.Int("scan_size")); why != "" {
				out[l] = why
			}
		case "victim":
			if cpu, err := strconv.Atoi(l); err == nil && cpu >= 0 && !machine.Has(cpu) {
				out[l] = "it is offline, or not among the CPUs that may be used"
			}
		}
	}
	return out
}

// Context implements workload.Offering: the victim, the class of its core and the CPUs
// of each class where there are several, the sizes of its caches and of the scans, and the CPU at each place.
func (Workload) Context(cfg workload.Config, m workload.Machine) map[string]string {
	s := newSite(cpus.New(m.Topology, m.Allowed, m.Measured), cfg.Params)
	out := map[string]string{"victim": fmt.Sprintf("CPU %d", s.victim), "cpus": strconv.Itoa(len(s.m.CPUs()))}
	if class := s.m.Class(s.victim); class != "" {
		out["class"] = class
		classes := map[string][]int{}
		for _, cpu := range s.m.CPUs() {
			classes[s.m.Class(cpu)] = append(classes[s.m.Class(cpu)], cpu)
		}
		for name, list := range classes {
			out["class_"+name] = host.FormatList(list)
		}
	}
	for name, level := range map[string]int{"l1": 1, "l2": 2, "llc": 0} {
		if n := s.m.Cache(s.victim, level); n > 0 {
			out[name] = result.Format(float64(n), "B")
		}
	}
	for _, place := range cpus.Places {
		if cpu, why := s.m.Find(s.victim, place); why == "" {
			out["cpu_"+place] = fmt.Sprintf("CPU %d", cpu)
		}
	}
	for _, size := range append([]string{""}, sizes...) {
		if n, why := s.scan(size, cfg.Params.Int("scan_size")); why == "" {
			out[strings.TrimSuffix("scan_"+strings.ReplaceAll(size, "-", "_"), "_")] = result.Format(float64(n), "B")
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
	topology := &host.Collect(ctx, host.Options{}).Topology
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return cpus.New(topology, now, known.Measured), now, nil
}
