package trace

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// Bound is what a part can be at most, from counters that the kernel keeps anyway.
type Bound struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"at_most"` // s per s; nil where Reason says why
	About  string   `json:"about"`
	Source string   `json:"source"`
	Reason string   `json:"reason,omitempty"`
	Alone  bool     `json:"-"` // of siblings: there are none, as no CPU shares its core
}

// Names of bounds that others read.
const (
	IdleExit      = "idle_exit"
	BesideSibling = "beside_sibling"
)

// counters are those that bounds are made of, at one time.
type counters struct {
	at       time.Time
	threads  map[string][2]float64 // s on a CPU and waiting, by thread
	idle     float64               // s: entries of idle states times what leaving takes
	idleWhy  string
	pressure float64 // s in which a task waited for a CPU
	pressWhy string
	busy     map[int]float64 // s
}

// BoundsOf waits for so long and bounds what [Record] would have counted. It needs no privilege.
// A context ends it early.
func BoundsOf(ctx context.Context, cfg Config) ([]Bound, float64) {
	tree := host.Tree{Root: cfg.Root}
	cpus := tree.List("/sys/devices/system/cpu/online").Or(nil)
	if len(cpus) == 0 { // Windows has none of these counters, and sums of nothing would be bounds of 0
		return nil, 0
	}
	a := readCounters(tree, cfg.Target, cpus)
	_ = proc.Sleep(ctx, cfg.For)
	b := readCounters(tree, cfg.Target, cpus)
	return between(a, b, tree, cpus), b.at.Sub(a.at).Seconds()
}

func between(a, b counters, tree host.Tree, cpus []int) []Bound {
	length := b.at.Sub(a.at).Seconds()
	var run, queue float64
	for id, now := range b.threads {
		run, queue = run+now[0]-a.threads[id][0], queue+now[1]-a.threads[id][1]
	}
	per := func(v float64) *float64 { v = max(0, v/length); return &v }
	const schedstat = "/proc/PID/task/TID/schedstat"
	out := []Bound{
		{Name: "run", Value: per(run), About: "time of the service on CPUs, without threads that ended in that time",
			Source: schedstat},
		{Name: "run_queue", Value: per(queue),
			About:  "time of the service waiting for a CPU, without threads that ended in that time",
			Source: schedstat},
		{Name: IdleExit, Value: per(b.idle - a.idle),
			About:  "wake-ups of all tasks on idle CPUs: entries into idle states times their exit latency",
			Source: "/sys/devices/system/cpu/cpuN/cpuidle", Reason: b.idleWhy},
		{Name: "pressure", Value: per(b.pressure - a.pressure), About: "time in which a task of this host waited for a CPU",
			Source: "/proc/pressure/cpu", Reason: b.pressWhy},
		{Name: BesideSibling,
			About:  "time of the service beside a busy sibling: at most the time in which a CPU and its sibling were both busy",
			Source: "/proc/stat"},
	}
	if len(b.threads) == 0 {
		out[0].Reason, out[1].Reason = "no thread of the service can be read", "no thread of the service can be read"
	}
	siblings, both := siblings(tree, cpus), 0.0
	for c, s := range siblings {
		both += min(b.busy[c]-a.busy[c], b.busy[s]-a.busy[s])
	}
	if out[4].Value = per(min(both, run)); len(siblings) == 0 {
		out[4].Reason, out[4].Alone = noSiblings(tree, cpus)
	}
	for i := range out {
		if out[i].Reason != "" {
			out[i].Value = nil
		}
	}
	return out
}

func readCounters(tree host.Tree, target Target, cpus []int) counters {
	c := counters{at: time.Now(), threads: map[string][2]float64{}, busy: map[int]float64{}}
	for _, pid := range target.Processes() {
		dir := fmt.Sprintf("/proc/%d/task", pid)
		tasks, _ := tree.Dir(dir)
		for _, t := range tasks {
			var run, queue float64
			if _, err := fmt.Sscan(tree.Text(dir+"/"+t+"/schedstat").Or(""), &run, &queue); err == nil {
				c.threads[t] = [2]float64{run / 1e9, queue / 1e9}
			}
		}
	}
	c.idle, c.idleWhy = idleExits(tree, cpus)
	p, err := proc.ParsePressure([]byte(tree.Text("/proc/pressure/cpu").Or("")))
	if c.pressure = p.Some; err != nil {
		c.pressWhy = "this kernel shows no pressure (PSI)"
	}
	cores, _ := proc.ParseCPUs([]byte(tree.Text("/proc/stat").Or(""))) // none: there is no bound
	for _, cpu := range cores {
		c.busy[cpu.ID] = cpu.Busy()
	}
	return c
}

// idleExits is what leaving idle states has taken at most until now, in s.
func idleExits(tree host.Tree, cpus []int) (sum float64, why string) {
	for _, c := range cpus {
		dir := "/sys/devices/system/cpu/cpu" + strconv.Itoa(c) + "/cpuidle"
		states, err := tree.Dir(dir)
		if err != nil {
			return 0, "this host shows no idle states"
		}
		for _, s := range states {
			n, us := tree.Int(dir+"/"+s+"/usage", "", 1), tree.Int(dir+"/"+s+"/latency", "", 1)
			if n.State != host.StateOK || us.State != host.StateOK {
				return 0, "this host shows no counts of idle states"
			}
			sum += float64(n.Value) * float64(us.Value) / 1e6
		}
	}
	return sum, ""
}
