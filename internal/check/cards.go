package check

import (
	"slices"

	"hostlab/internal/host"
)

// cards holds the checks of network cards and of who serves them.
var cards = []Check{
	{
		ID: "NET-011", Subject: Kernel, Title: "One CPU that takes all packets of a network card",
		Why: "A card may have one receive queue, or all of its interrupts at one CPU. That CPU then does the kernel's work for " +
			"each packet of all connections. At many packets a second it has no time left for the service.",
		Source: "kernel documentation, networking/scaling.rst (RSS; RPS for a card with fewer queues than CPUs); " +
			"fewer than 4 CPUs are a bound of ours",
		Disagree: "At few packets a second it costs nothing, and packets that are handed on wake another CPU each. So it " +
			"is information: assess says how much of a CPU's time interrupts take.",
		Severity: inProduction(Info, Info),
		absent:   "no network card that is up shows here, as in a container's own network, or there are fewer than 4 CPUs",
		ok:       "several CPUs take packets", bad: "one CPU takes all packets of a network card",
		left: "how many queues a card should have depends on its load",
		look: lookCards,
	},
}

// down reports a card that takes no packets, whatever its queues are. Drivers may leave the state unknown.
func down(c host.NetworkCard) bool {
	return slices.Contains([]string{"down", "lowerlayerdown", "notpresent"}, c.Link.Or(""))
}

func lookCards(f *host.Facts, _ Role) view {
	v := see(hiddenDisks(f)...) // and with them all of /sys
	if f.Topology.Threads.Or(0) < 4 && f.Topology.Threads.State == host.StateOK {
		return v
	}
	for _, c := range f.Network.Cards {
		if down(c) {
			continue
		}
		spread := len(c.Steered.Or(nil)) > 1
		queues := read(c.Receive, func(n int64) bool { return spread || n > 1 })
		served := read(c.Served, func(cpus []int) bool { return spread || len(cpus) != 1 })
		v.readings = append(v.readings, queues, served, aside(c.Steered))
		if !queues.bad && !served.bad {
			continue
		}
		if c.Steered.State != host.StateOK && c.Steered.State != host.StateAbsent { // it may be spread
			v.readings = append(v.readings, needed(c.Steered))
		}
		if queues.bad {
			v.fix = append(v.fix, run("ethtool", "-l", c.Name).noting("how many queues it can have; ethtool -L sets them"))
		} else {
			v.fix = append(v.fix, run("hostlab", "settings", "irq_affinity").noting("where its interrupts may arrive; "+
				"irqbalance spreads them"))
		}
		v.fix = append(v.fix, remark("with one queue: write a set of CPUs, in hexadecimal, into its queues/rx-0/rps_cpus "+
			"below /sys/class/net"))
	}
	if len(v.readings) > 0 {
		v.readings = append(v.readings, needed(f.Topology.Threads))
	}
	return v
}
