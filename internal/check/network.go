package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
)

// network holds the checks of TCP. Its facts are those of the network namespace that hostlab is in.
var network = []Check{
	{
		ID: "NET-001", Subject: Kernel, Title: "Short queue of connections to accept (somaxconn)",
		Severity: inProduction(Low, Low),
		absent:   hidden("net.core.somaxconn"), ok: "a queue is as long as the server asks for, up to 2048 and more",
		bad:   "a server gets a shorter queue than it may ask for; it takes a new limit when it listens anew",
		goals: queueWanted,
	},
	{
		ID: "NET-002", Subject: Kernel, Title: "Connections dropped at a full queue",
		Severity: inProduction(Low, Low),
		absent:   "the kernel does not show these counters", ok: "at most 1 in 1000 connections was dropped since boot",
		fix: remedy{script(
			"nstat -az TcpExtListenOverflows TcpExtListenDrops").noting("and again after a minute: do they grow?"),
			script("ss -ltn").noting("look for a queue (Recv-Q) that is as long as its limit (Send-Q)")},
		left: "find the server that accepts too slowly, or asks for a short queue, first",
		look: func(f *host.Facts, _ Role) view {
			n := f.Network
			lost, came := n.ListenOverflows.Or(0), n.PassiveOpens.Or(0)
			v := see(read(n.ListenOverflows, func(lost int64) bool { return lost*1000 <= came }), needed(n.PassiveOpens),
				aside(n.ListenDrops))
			v.bad = fmt.Sprintf("%d connections found a full queue since boot, and %d got through", lost, came)
			return v
		},
	},
	{
		ID: "NET-003", Subject: Kernel, Title: "Slow start of TCP after a pause",
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   "HANA is not seen running, and no log directory lies on NFS",
		ok:       "TCP goes on where it was before a pause", bad: "TCP starts slowly after each pause",
		goals: slowStartWanted,
	},
	{
		ID: "NET-004", Subject: Kernel, Title: "Dead connections that are noticed late",
		For:      engines("hana", "sap", "ase"),
		Severity: inProduction(Low, Low),
		absent:   "the kernel shows none of these times",
		ok:       "a dead connection is noticed within the time that SAP recommends", bad: "later than SAP recommends",
		goals: keepaliveWanted,
	},
	{
		ID: "NET-005", Subject: Kernel, Title: "Parts of TCP switched off",
		Severity: inProduction(Low, Low),
		absent:   "the kernel shows none of them", ok: "all parts of TCP are in use",
		bad: "a part of TCP that speeds long ways is " +
			"switched off",
		goals: featuresWanted,
	},
	{
		ID: "NET-006", Subject: Kernel, Title: "Small socket buffers for Oracle and SQL Server",
		For:      engines("oracle", "sqlserver"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   "the kernel does not show these limits", ok: "not below the profiles' values",
		bad: "a socket gets smaller buffers than the vendor wants", goals: buffersWanted,
	},
	{
		ID: "NET-007", Subject: Kernel, Title: "Too few half-open connections for HANA",
		For:      engines("hana"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("net.ipv4.tcp_max_syn_backlog"), ok: "as many as the note asks for",
		bad:   "fewer than the note asks for",
		goals: func(f *host.Facts) []goal { return []goal{raised("tcp_max_syn_backlog", f.Network.SynBacklog, 8192)} },
	},
	{
		ID: "NET-008", Subject: Kernel, Title: "Too few tries to open a connection, for HANA",
		For:      engines("hana"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   hidden("net.ipv4.tcp_syn_retries"), ok: "as many as the note asks for", bad: "fewer than the note asks for",
		goals: func(f *host.Facts) []goal { return []goal{raised("tcp_syn_retries", f.Network.SynRetries, 8)} },
	},
	{
		ID: "NET-009", Subject: Kernel, Title: "Too few ports for outgoing connections, for Oracle",
		For:      engines("oracle"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("net.ipv4.ip_local_port_range"), ok: "as wide as Oracle wants", bad: "narrower than Oracle wants",
		goals: portsWanted,
	},
}

func queueWanted(f *host.Facts) []goal {
	w := raised("somaxconn", f.Network.Somaxconn, 4096)
	if !runs(f, "hana") {
		w.reading = read(f.Network.Somaxconn, atLeast[int64](2048))
	}
	return []goal{w}
}

func slowStartWanted(f *host.Facts) []goal {
	if !runs(f, "hana") && !anyNFS(f) {
		return hiddenTypes(f)
	}
	return []goal{lowered("tcp_slow_start_after_idle", f.Network.SlowStart, 0)}
}

func keepaliveWanted(f *host.Facts) (list []goal) {
	n := f.Network
	sap := runs(f, "hana") || runs(f, "sap")
	switch {
	case sap:
		list = []goal{lowered("tcp_keepalive_time", n.KeepaliveTime, 300),
			lowered("tcp_keepalive_intvl", n.KeepaliveIntvl, 75),
			lowered("tcp_keepalive_probes", n.KeepaliveProbes, 9)}
	case runs(f, "ase") && !onAzure(f): // the note leaves Azure to the one above
		list = []goal{lowered("tcp_keepalive_time", n.KeepaliveTime, 1250)}
	}
	if sap && onAzure(f) {
		list = append(list, lowered("tcp_retries2", n.Retries2, 8))
	}
	return list
}

func featuresWanted(f *host.Facts) []goal {
	n := f.Network
	list := []goal{raised("tcp_window_scaling", n.WindowScaling, 1), raised("tcp_sack", n.SACK, 1),
		raised("tcp_moderate_rcvbuf", n.ModerateRcvbuf, 1)}
	if !onAzure(f) {
		list = append(list, raised("tcp_timestamps", n.Timestamps, 1))
	}
	return list
}

func buffersWanted(f *host.Facts) []goal {
	n := f.Network
	list := []goal{raised("rmem_default", n.RmemDefault, 262144), raised("wmem_default", n.WmemDefault, 262144)}
	if !anyNFS(f) { // for which STO-011 asks for more
		list = append(list, raised("rmem_max", n.RmemMax, 4194304), raised("wmem_max", n.WmemMax, 1048576))
	}
	return list
}

// portsWanted widens the range; an end that is wider already stays (wider).
func portsWanted(f *host.Facts) []goal {
	return []goal{{"ip_local_port_range", "9000 65499", readAs(f.Network.PortRange, blanks,
		func(r []int) bool { return len(r) == 2 && r[0] <= 9000 && r[1] >= 65499 })}}
}

// blanks writes numbers as the kernel does, with blanks between.
func blanks(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }

func onAzure(f *host.Facts) bool { return strings.Contains(f.Virt.Hypervisor.Or(""), "Azure") }

// cards holds the checks of network cards and of who serves them.
var cards = []Check{
	{
		ID: "NET-011", Subject: Kernel, Title: "One CPU that takes all packets of a network card",
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
