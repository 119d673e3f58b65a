package host

import (
	"fmt"
	"strconv"
	"strings"
)

// memoryHigh reads from where on the kernel slows the group; version 1 has no such limit.
func (v cgroupView) memoryHigh(t Tree) Fact[int64] {
	if v.version == 1 && v.err == nil {
		return absentFact[int64](v.dirs[0], "version 1 of control groups has none")
	}
	return tightest(t, v, "", "memory.high", "B", parseMemoryLimit)
}

// memoryEvents counts how often a limit of the groups was reached. A group above counts in
// memory.events what happened anywhere below it, so memory.events.local counts there,
// which says what happened at that group's own limit (cgroup-v2.rst; Linux 5.2).
func (v cgroupView) memoryEvents(t Tree) Fact[int64] {
	if v.err != nil {
		return Unknown[int64](v.source, v.err)
	}
	var sum Fact[int64]
	for i, d := range v.dirs {
		var f Fact[int64]
		switch {
		case v.version == 1:
			f = t.Int(d+"/memory.failcnt", "", 1)
		case i == 0 && !t.Exists(d+"/memory.events.local"):
			f = t.eventsIn(d+"/memory.events", "high", "max")
		default:
			f = t.eventsIn(d+"/memory.events.local", "high", "max")
		}
		switch {
		case f.State == StateOK && sum.State == StateOK:
			sum.Value += f.Value
		case sum.State == "" || sum.State == StateAbsent || f.State != StateOK && f.State != StateAbsent:
			sum = f
		}
	}
	return sum
}

// memoryKills counts the processes of the group that were killed since memory ran out, whosever limit it was: each
// counts in the group that it was in, and in those above. Version 1 has the line since Linux 4.13.
func (v cgroupView) memoryKills(t Tree) Fact[int64] {
	switch {
	case v.err != nil:
		return Unknown[int64](v.source, v.err)
	case v.version == 1:
		return t.eventsIn(v.dirs[0]+"/memory.oom_control", "oom_kill")
	}
	return t.eventsIn(v.dirs[0]+"/memory.events", "oom_kill")
}

// memoryStalled reads the group's own pressure, which version 2 alone has, and some kernels only with psi=1.
func (v cgroupView) memoryStalled(t Tree) Fact[float64] {
	switch {
	case v.err != nil:
		return Unknown[float64](v.source, v.err)
	case v.version == 1:
		return absentFact[float64](v.dirs[0], "version 1 of control groups has none")
	}
	return readPressure(t, v.dirs[0]+"/memory.pressure", "full", "avg300")
}

// throttled reads of the group that its quota stopped most in how many periods it ran, and in
// how many of them it was stopped. Each group counts for its own quota alone.
func (v cgroupView) throttled(t Tree) (periods, stopped Fact[int64]) {
	if v.err != nil {
		return Unknown[int64](v.source, v.err), Unknown[int64](v.source, v.err)
	}
	periods = absentFact[int64](v.dirs[0]+"/cpu.stat nr_periods", errNoLimit.Error())
	stopped = absentFact[int64](v.dirs[0]+"/cpu.stat nr_throttled", errNoLimit.Error())
	share := -1.0
	for _, d := range v.dirs {
		p, s := t.eventsIn(d+"/cpu.stat", "nr_periods"), t.eventsIn(d+"/cpu.stat", "nr_throttled")
		if p.State != StateOK && p.State != StateAbsent && periods.State != StateOK {
			periods, stopped = p, s
		}
		if p.Or(0) > 0 && float64(s.Or(0))/float64(p.Value) > share {
			periods, stopped, share = p, s, float64(s.Or(0))/float64(p.Value)
		}
	}
	return periods, stopped
}

// eventsIn adds the counts of some lines such as "nr_periods 17".
func (t Tree) eventsIn(file string, names ...string) Fact[int64] {
	return Convert(t.Text(file), "", func(s string) (int64, error) {
		sum, found := int64(0), false
		for _, name := range names {
			text, ok := lineOf(s, name+" ")
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || sum+n < 0 {
				return 0, fmt.Errorf("expected a count, found %s", clip(text))
			}
			sum, found = sum+n, true
		}
		if !found {
			return 0, none("no line " + strings.Join(names, ", "))
		}
		return sum, nil
	}).from(file + " " + strings.Join(names, " "))
}
