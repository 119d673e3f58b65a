package hosttext

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

func (p *printer) topology(t host.Topology) {
	p.section("CPU topology")
	p.fact("sockets", t.Sockets)
	p.fact("cores", t.Cores)
	p.fact("threads", t.Threads)
	p.fact("online", t.Online)
	if l, ok := t.Offline.Get(); !ok || len(l) > 0 {
		p.fact("offline", t.Offline)
	}
	p.fact("SMT control", t.SMTControl)
	p.fact("SMT active", t.SMTActive)
	if len(t.CoreTypes) > 1 {
		for _, c := range t.CoreTypes {
			text := cpuNames(c.CPUs)
			if v, ok := c.Capacity.Get(); ok {
				text = fmt.Sprintf("capacity %d of 1024, %s", v, text)
			}
			p.put(c.Name+" cores", text, c.Capacity.Source)
		}
	}
	p.caches(t.Caches)
	var memory []member
	for _, n := range t.NUMA {
		memory = append(memory, member{n.CPUs.Or(nil), n.Memory})
	}
	switch len(t.NUMA) {
	case 0:
		p.absent = append(p.absent, "NUMA nodes")
	case 1:
		p.group("NUMA node", memory)
	default:
		p.put("NUMA nodes", fmt.Sprint(len(t.NUMA)), "")
		p.group("memory of a node", memory)
		p.put("distances", distances(t.NUMA), t.NUMA[0].Distance.Source)
	}
}

// distances tells the local distance from those to other nodes.
func distances(nodes []host.NUMANode) string {
	var local, other []int
	for i, n := range nodes {
		for j, d := range n.Distance.Or(nil) {
			if i == j {
				local = append(local, d)
			} else {
				other = append(other, d)
			}
		}
	}
	if len(local) == 0 || len(other) == 0 {
		return "not known"
	}
	if slices.Min(other) == slices.Max(other) {
		return fmt.Sprintf("%d local, %d to others", slices.Min(local), slices.Min(other))
	}
	return fmt.Sprintf("%d local, %d to %d to others", slices.Min(local), slices.Min(other), slices.Max(other))
}

// caches writes one line for all caches that are alike.
func (p *printer) caches(caches []host.Cache) {
	if len(caches) == 0 {
		p.absent = append(p.absent, "caches")
		return
	}
	type kind struct {
		label, size string
		shared      int
	}
	source := map[kind]string{}
	var order []kind
	count := map[kind]int{}
	for _, c := range caches {
		label := fmt.Sprintf("L%d %s cache", c.Level, strings.ToLower(c.Type))
		switch c.Type {
		case "Unified":
			label = fmt.Sprintf("L%d cache", c.Level)
		case "Data", "Instruction":
			label = fmt.Sprintf("L%d%c cache", c.Level, c.Type[0]|0x20)
		}
		k := kind{label, "size not known", len(c.CPUs)}
		if _, ok := c.Size.Get(); ok {
			k.size = result.Format(float64(c.Size.Value), "B")
		}
		if count[k] == 0 {
			order = append(order, k)
			source[k] = c.Size.Source
		}
		count[k]++
	}
	for _, k := range order {
		use := "for one CPU"
		if k.shared > 1 {
			use = fmt.Sprintf("shared by %d CPUs", k.shared)
		}
		if count[k] > 1 {
			use = "each " + use
		}
		p.put(k.label, fmt.Sprintf("%d x %s, %s", count[k], k.size, use), everyCPU(source[k]))
	}
}

func (p *printer) frequency(f *host.Facts) {
	fr := f.Frequency
	p.section("Frequency")
	if len(fr.Policies) == 0 && f.Windows == nil {
		p.put("policies", "none: no driver controls the frequency here, or a hypervisor hides it", "")
	} else if len(fr.Policies) > 0 {
		p.put("policies", fmt.Sprint(len(fr.Policies)), "")
		p.fact("share a frequency", fr.DomainScope)
		p.policies(fr.Policies, f.Topology.Online.Or(nil))
	}
	p.fact("boost allowed", fr.Boost)
	p.fact("p-state driver mode", fr.PstateStatus)
	p.fact("min perf", fr.MinPerfPct)
	p.fact("max perf", fr.MaxPerfPct)
	p.fact("platform profile", fr.PlatformProfile)
	var epb []member
	for _, v := range fr.EPB {
		epb = append(epb, member{[]int{v.CPU}, v.Value})
	}
	p.group("energy perf bias", epb)
	for _, u := range fr.Uncore {
		p.fact("uncore min "+u.Name, u.Min)
		p.fact("uncore max "+u.Name, u.Max)
	}
	var current, percent []member
	for _, c := range fr.Current {
		current = append(current, member{[]int{c.CPU}, c.Frequency})
		percent = append(percent, member{[]int{c.CPU}, c.Percent})
	}
	p.group("current", current)
	p.group("of maximum", percent)
}

// policies writes the settings of policies. Those without an online CPU, whose
// files can only be read once it is back, are named on one line.
func (p *printer) policies(all []host.Policy, online []int) {
	var policies []host.Policy
	var offline []int
	for _, x := range all {
		cpus := x.CPUs.Or([]int{x.ID}) // a policy is named after its first CPU
		if len(online) > 0 && !slices.ContainsFunc(cpus, func(c int) bool { return slices.Contains(online, c) }) {
			offline = append(offline, x.ID)
			continue
		}
		policies = append(policies, x)
	}
	if len(offline) > 0 {
		p.put("without online CPU", "policies "+cpuList(offline), "")
	}
	for _, row := range []struct {
		label string
		fact  func(host.Policy) host.AnyFact
	}{
		{"driver", func(x host.Policy) host.AnyFact { return x.Driver }},
		{"governor", func(x host.Policy) host.AnyFact { return x.Governor }},
		{"EPP", func(x host.Policy) host.AnyFact { return x.EPP }},
		{"hardware minimum", func(x host.Policy) host.AnyFact { return x.HWMin }},
		{"hardware maximum", func(x host.Policy) host.AnyFact { return x.HWMax }},
		{"base frequency", func(x host.Policy) host.AnyFact { return x.Base }},
		{"lower limit set", func(x host.Policy) host.AnyFact { return x.Min }},
		{"upper limit set", func(x host.Policy) host.AnyFact { return x.Max }},
		{"BIOS limit", func(x host.Policy) host.AnyFact { return x.BIOSLimit }},
		{"switching takes", func(x host.Policy) host.AnyFact { return x.Latency }},
		{"P-states", func(x host.Policy) host.AnyFact { return x.PStates }},
	} {
		var members []member
		for _, x := range policies {
			members = append(members, member{x.CPUs.Or([]int{x.ID}), row.fact(x)})
		}
		p.group(row.label, members)
	}
}

func (p *printer) idle(f *host.Facts) {
	p.section("Idle states")
	p.fact("driver", f.Idle.Driver)
	p.fact("governor", f.Idle.Governor)
	for _, s := range f.Idle.States {
		p.put(s.Name.Or(fmt.Sprintf("state%d", s.Index)), idleState(s), everyCPU(s.Latency.Source))
	}
	if len(f.Idle.States) == 0 && f.Windows == nil {
		p.put("states", "none: no idle driver here, or a hypervisor hides it", "")
	}
	p.fact("latency limit", f.Idle.DMALatency)
	var resume []member
	for _, r := range f.Idle.Resume {
		resume = append(resume, member{[]int{r.CPU}, r.Value})
	}
	p.group("latency of a CPU", resume)
}

func idleState(s host.IdleState) string {
	parts := []string{"wakes in an unknown time"}
	if v, ok := s.Latency.Get(); ok {
		parts[0] = "wakes in " + result.Format(v, "s")
	}
	if v, ok := s.Residency.Get(); ok {
		parts = append(parts, "pays from "+result.Format(v, "s"))
	}
	switch {
	case len(s.Disabled) == len(s.CPUs):
		parts = append(parts, "disabled")
	case len(s.Unread) == len(s.CPUs):
		parts = append(parts, "whether disabled: "+string(s.Disable.State)+" ("+s.Disable.Reason+")")
	case len(s.Disabled) > 0:
		parts = append(parts, "disabled on "+cpuList(s.Disabled))
	case len(s.Unread) > 0:
		parts = append(parts, "whether disabled not known on "+cpuList(s.Unread))
	default:
		parts = append(parts, "enabled")
	}
	return strings.Join(parts, ", ") + ", " + cpuNames(s.CPUs)
}
