package runner

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
)

// The names of what result.Run.Conditions holds.
const (
	foreignCPU = "foreign_cpu"
	stolen     = "steal"
	throttled  = "throttled"
	paused     = "paused"
)

// conditions is what others did to a run.
type conditions struct {
	proc.Taken
	known     bool    // whether Taken is known
	throttles float64 // events of thermal throttling; negative: not known
	pause     proc.Pause
}

// watcher watches conditions from one call to the next.
type watcher func() (stop func() conditions)

// watchHost watches this host. ours are names of processes that are not foreign.
func watchHost(t host.Tree, ours []string) watcher {
	counters := throttleCounters(t)
	return func() func() conditions {
		before := sum(t, counters)
		n := proc.Watch(nil, ours...)
		return func() conditions {
			c := conditions{throttles: -1}
			c.Taken, c.known = n.Taken()
			if len(counters) > 0 {
				c.throttles = max(0, sum(t, counters)-before)
			}
			return c
		}
	}
}

// throttleCounters finds the counters of thermal throttling, which Intel's have
// (arch/x86/kernel/cpu/mce/therm_throt.c): one of each core, and one of each
// package, which all of its CPUs repeat.
func throttleCounters(t host.Tree) (files []string) {
	const root = "/sys/devices/system/cpu"
	names, err := t.Dir(root)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, name := range names {
		number, ok := strings.CutPrefix(name, "cpu")
		if _, err := strconv.Atoi(number); !ok || err != nil {
			continue
		}
		dir := path.Join(root, name, "thermal_throttle")
		core, pkg := path.Join(dir, "core_throttle_count"), path.Join(dir, "package_throttle_count")
		id := words(t, path.Join(root, name, "topology/physical_package_id"))
		place := id + "/" + words(t, path.Join(root, name, "topology/core_id"))
		if t.Exists(core) && !seen[place] {
			seen[place] = true
			files = append(files, core)
		}
		if t.Exists(pkg) && !seen[id] {
			seen[id] = true
			files = append(files, pkg)
		}
	}
	return files
}

func sum(t host.Tree, counters []string) (total float64) {
	for _, f := range counters {
		total += float64(t.Int(f, "", 1).Or(0))
	}
	return total
}

// record is how a run's record has them. Unknown ones are left out.
func (c conditions) record() map[string]float64 {
	out := map[string]float64{}
	if c.known && !c.short() {
		out[foreignCPU], out[stolen] = c.Foreign, c.Steal
	}
	if c.throttles >= 0 {
		out[throttled] = c.throttles
	}
	if p := c.pause.Stopped + c.pause.Suspended; p >= c.pause.Limit() {
		out[paused] = p.Seconds()
	}
	return out
}

// breach says which limit of a guard was broken, or "". What the clock's ticks
// leave open is not held against the run.
func (c conditions) breach(g *experiment.Guard) string {
	over := func(share float64, limit *float64) bool {
		return limit != nil && c.known && share-c.Resolution > *limit
	}
	switch {
	case over(c.Foreign, g.MaxForeignCPU):
		return fmt.Sprintf("other processes took %s of the CPUs, above max_foreign_cpu %s", percent(c.Foreign),
			percent(*g.MaxForeignCPU))
	case over(c.Steal, g.MaxSteal):
		return fmt.Sprintf("the hypervisor took %s of the CPUs, above max_steal %s", percent(c.Steal), percent(*g.MaxSteal))
	case g.Throttling && c.throttles > 0:
		return fmt.Sprintf("the CPUs were throttled for their heat %.0f times, and guard.throttling allows none", c.throttles)
	}
	return ""
}

// short is true of a run of less than two ticks of the clock, in which nothing shows.
func (c conditions) short() bool { return c.Resolution > 0.5 }

// unread says of a run that its guard could not be read; "" where it was, or where there is
// none.
func (c conditions) unread(g *experiment.Guard) string {
	if c.known && c.short() && (g.MaxForeignCPU != nil || g.MaxSteal != nil) {
		return fmt.Sprintf(
			"the run is too short to read what others took of the CPUs, which takes %s: max_foreign_cpu and max_steal "+
				"are not checked", result.Format((2*proc.Tick).Seconds(), "s"))
	}
	return ""
}

// blind says which guards cannot be kept here.
func (c conditions) blind(g *experiment.Guard) (list []string) {
	if text := c.unread(g); text != "" {
		list = append(list, text)
	}
	if !c.known && (g.MaxForeignCPU != nil || g.MaxSteal != nil) {
		list = append(list, "this system does not tell who takes its CPUs: max_foreign_cpu and max_steal are not checked")
	}
	if c.throttles < 0 && g.Throttling {
		list = append(list, "this host has no counters of thermal throttling: guard.throttling is not checked")
	}
	return list
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }
