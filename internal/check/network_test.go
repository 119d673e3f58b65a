package check

import "hostlab/internal/host"

const netDir = "/proc/sys/net/"

// tcp sets facts of TCP, where servers of some kinds run.
func tcp(set func(n *host.Network), kinds ...string) func(*host.Facts) {
	return func(f *host.Facts) {
		running(kinds...)(f)
		set(&f.Network)
	}
}

func azure(facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		facts(f)
		f.Virt.Hypervisor = known("hyper-v (Azure)", "/sys/class/dmi/id/chassis_asset_tag")
	}
}

func keepalive(time, interval, probes int64) func(n *host.Network) {
	return func(n *host.Network) {
		n.KeepaliveTime = host.Known(time, "s", netDir+"ipv4/tcp_keepalive_time")
		n.KeepaliveIntvl = host.Known(interval, "s", netDir+"ipv4/tcp_keepalive_intvl")
		n.KeepaliveProbes, n.Retries2 = known(probes, netDir+"ipv4/tcp_keepalive_probes"),
			known[int64](15, netDir+"ipv4/tcp_retries2")
	}
}

func features(scaling, stamps, sack int64) func(n *host.Network) {
	return func(n *host.Network) {
		n.WindowScaling, n.Timestamps = known(scaling, netDir+"ipv4/tcp_window_scaling"),
			known(stamps, netDir+"ipv4/tcp_timestamps")
		n.SACK, n.ModerateRcvbuf = known(sack, netDir+"ipv4/tcp_sack"), known[int64](1, netDir+"ipv4/tcp_moderate_rcvbuf")
	}
}

func buffers(receive, most int64) func(n *host.Network) {
	return func(n *host.Network) {
		n.RmemDefault, n.RmemMax = size(receive, netDir+"core/rmem_default"), size(most, netDir+"core/rmem_max")
		n.WmemDefault, n.WmemMax = size(262144, netDir+"core/wmem_default"), size(1048576, netDir+"core/wmem_max")
	}
}

func dropped(overflows, opens int64) func(n *host.Network) {
	return func(n *host.Network) {
		n.ListenOverflows, n.ListenDrops = known(overflows, "/proc/net/netstat TcpExt ListenOverflows"),
			known(overflows, "/proc/net/netstat TcpExt ListenDrops")
		n.PassiveOpens = known(opens, "/proc/net/snmp Tcp PassiveOpens")
	}
}

func ports(first, last int) func(n *host.Network) {
	return func(n *host.Network) { n.PortRange = known([]int{first, last}, netDir+"ipv4/ip_local_port_range") }
}

func slowStart(on int64) func(n *host.Network) {
	return func(n *host.Network) { n.SlowStart = known(on, netDir+"ipv4/tcp_slow_start_after_idle") }
}

func queue(n int64) func(*host.Network) {
	return func(net *host.Network) { net.Somaxconn = known(n, netDir+"core/somaxconn") }
}

func syn(backlog, retries int64) func(n *host.Network) {
	return func(n *host.Network) {
		n.SynBacklog, n.SynRetries = known(backlog, netDir+"ipv4/tcp_max_syn_backlog"),
			known(retries, netDir+"ipv4/tcp_syn_retries")
	}
}

func ownNetwork(d *host.Database) { d.OwnNetwork = known(true, "/proc/700/ns/net") }

func queued(n int64) func(*host.Facts) {
	return func(f *host.Facts) { f.Network.Somaxconn = known(n, netDir+"core/somaxconn") }
}

var networkCases = []lookCase{
	{id: "NET-001", name: "of a server's own network", want: Unknown, evidence: "/proc/700/ns/net = its own network",
		detail: "a network of its own",
		facts:  also(queued(65535), serving("postgresql", ownNetwork))},
	{id: "NET-001", name: "of one server of two", want: Unknown,
		facts: also(queued(65535), serving("postgresql"), serving("redis", ownNetwork))},
	{id: "NET-001", name: "too short for the other server", want: Finding,
		facts: also(queued(128), serving("postgresql"), serving("redis", ownNetwork))},
	{id: "KRN-004", name: "of a server's own IPC", want: Unknown, detail: "IPC of its own",
		facts: also(kern(func(k *host.Kernel) { k.Sem = known([]int{1, 1, 1, 1}, kernDir+"/sem") }),
			serving("oracle", func(d *host.Database) { d.OwnIPC = known(true, "/proc/700/ns/ipc") }))},

	{id: "NET-001", name: "before Linux 5.4", want: Finding, facts: tcp(queue(128), "postgresql"),
		remedy: "net.core.somaxconn=4096"},
	{id: "NET-001", name: "TuneD's", want: OK, facts: tcp(queue(2048), "postgresql")},
	{id: "NET-001", name: "TuneD's, for HANA", want: Finding, facts: tcp(queue(2048), "hana"),
		remedy: "net.core.somaxconn=4096"},
	{id: "NET-001", name: "higher, for HANA", want: OK, facts: tcp(queue(65535), "hana")},
	{id: "NET-001", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "NET-001", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.Somaxconn = denied[int64](netDir + "core/somaxconn") })},

	{id: "NET-002", name: "1 in 100", want: Finding, facts: tcp(dropped(100, 10000)),
		detail: "100 connections found a full queue since boot, and 10000 got through"},
	{id: "NET-002", name: "1 in 1000", want: OK, facts: tcp(dropped(10, 10000))},
	{id: "NET-002", name: "no connections", want: OK, facts: tcp(dropped(0, 0))},
	{id: "NET-002", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "NET-002", name: "garbled", want: Unknown, facts: tcp(func(n *host.Network) {
		dropped(100, 10000)(n)
		n.ListenOverflows = failed[int64]("/proc/net/netstat")
	})},

	{id: "NET-003", name: "HANA", want: Finding, facts: tcp(slowStart(1), "hana"),
		remedy: "net.ipv4.tcp_slow_start_after_idle=0"},
	{id: "NET-003", name: "PostgreSQL on NFS", want: Finding, facts: onNFS("rw,hard", slowStart(1))},
	{id: "NET-003", name: "off", want: OK, facts: tcp(slowStart(0), "hana")},
	{id: "NET-003", name: "PostgreSQL", want: NotApplicable, facts: tcp(slowStart(1), "postgresql"),
		detail: "HANA is not seen running"},
	{id: "NET-003", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.SlowStart = denied[int64]("tcp_slow_start_after_idle") }, "hana")},

	{id: "NET-004", name: "two hours", want: Finding, facts: tcp(keepalive(7200, 75, 9), "hana"),
		evidence: "tcp_keepalive_time = 7200 s", remedy: "net.ipv4.tcp_keepalive_time=300"},
	{id: "NET-004", name: "probes", want: Finding, facts: tcp(keepalive(300, 90, 12), "hana"),
		remedy: "net.ipv4.tcp_keepalive_intvl=75"},
	{id: "NET-004", name: "SAP's", want: OK, facts: tcp(keepalive(300, 75, 9), "hana")},
	{id: "NET-004", name: "sooner than SAP's", want: OK, facts: tcp(keepalive(60, 10, 3), "hana")},
	{id: "NET-004", name: "Azure", want: Finding, facts: azure(tcp(keepalive(300, 75, 9), "hana")),
		remedy: "net.ipv4.tcp_retries2=8"},
	{id: "NET-004", name: "ASE", want: Finding, facts: tcp(keepalive(7200, 75, 9), "ase"),
		remedy: "net.ipv4.tcp_keepalive_time=1250"},
	{id: "NET-004", name: "ASE's", want: OK, facts: tcp(keepalive(1250, 75, 9), "ase")},
	{id: "NET-004", name: "PostgreSQL", want: NotApplicable, facts: tcp(keepalive(7200, 75, 9), "postgresql"),
		detail: "would apply to"},
	{id: "NET-004", name: "denied", want: Unknown, facts: tcp(func(n *host.Network) {
		keepalive(300, 75, 9)(n)
		n.KeepaliveTime = denied[int64](netDir + "ipv4/tcp_keepalive_time")
	}, "hana")},

	{id: "NET-005", name: "no window scaling", want: Finding, facts: tcp(features(0, 1, 1)),
		remedy: "net.ipv4.tcp_window_scaling=1"},
	{id: "NET-005", name: "no timestamps", want: Finding, facts: tcp(features(1, 0, 1)),
		remedy: "net.ipv4.tcp_timestamps=1"},
	{id: "NET-005", name: "no timestamps on Azure", want: OK, facts: azure(tcp(features(1, 0, 1)))},
	{id: "NET-005", name: "no acknowledgements of parts", want: Finding, facts: tcp(features(1, 1, 0)),
		remedy: "net.ipv4.tcp_sack=1"},
	{id: "NET-005", name: "fixed buffers", want: Finding, remedy: "net.ipv4.tcp_moderate_rcvbuf=1",
		facts: tcp(func(n *host.Network) {
			n.ModerateRcvbuf = known[int64](0, netDir+"ipv4/tcp_moderate_rcvbuf")
		})},
	{id: "NET-005", name: "timestamps without an offset", want: OK, facts: tcp(features(1, 2, 1))},
	{id: "NET-005", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "NET-005", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.SACK = denied[int64](netDir + "ipv4/tcp_sack") })},

	{id: "NET-006", name: "the kernel's defaults", want: Finding, facts: tcp(buffers(212992, 212992), "oracle"),
		remedy: "net.core.rmem_max=4194304"},
	{id: "NET-006", name: "a small send buffer", want: Finding, remedy: "net.core.wmem_default=262144",
		facts: tcp(func(n *host.Network) {
			n.WmemDefault = size(212992, netDir+"core/wmem_default")
		}, "oracle")},
	{id: "NET-006", name: "Oracle's", want: OK, facts: tcp(buffers(262144, 4194304), "oracle")},
	{id: "NET-006", name: "larger", want: OK, facts: tcp(buffers(1<<20, 1<<26), "sqlserver")},
	{id: "NET-006", name: "PostgreSQL", want: NotApplicable, facts: tcp(buffers(212992, 212992), "postgresql"),
		detail: "would apply to"},
	{id: "NET-006", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.RmemMax = denied[int64](netDir + "core/rmem_max") }, "oracle")},

	{id: "NET-007", name: "few", want: Finding, facts: tcp(syn(1024, 8), "hana"),
		remedy: "net.ipv4.tcp_max_syn_backlog=8192"},
	{id: "NET-007", name: "enough", want: OK, facts: tcp(syn(16384, 8), "hana")},
	{id: "NET-007", name: "PostgreSQL", want: NotApplicable, facts: tcp(syn(1024, 5), "postgresql"),
		detail: "would apply to"},
	{id: "NET-007", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.SynBacklog = denied[int64]("tcp_max_syn_backlog") }, "hana")},

	{id: "NET-008", name: "few", want: Finding, facts: tcp(syn(8192, 6), "hana"), remedy: "net.ipv4.tcp_syn_retries=8"},
	{id: "NET-008", name: "enough", want: OK, facts: tcp(syn(8192, 8), "hana")},
	{id: "NET-008", name: "Oracle", want: NotApplicable, facts: tcp(syn(8192, 6), "oracle"), detail: "would apply to"},
	{id: "NET-008", name: "denied", want: Unknown,
		facts: tcp(func(n *host.Network) { n.SynRetries = denied[int64]("tcp_syn_retries") }, "hana")},

	{id: "NET-009", name: "the kernel's default", want: Finding, facts: tcp(ports(32768, 60999), "oracle"),
		remedy: "net.ipv4.ip_local_port_range=9000 65499"},
	{id: "NET-009", name: "one end is wider", want: Finding, facts: tcp(ports(1024, 65000), "oracle"),
		remedy: "net.ipv4.ip_local_port_range=1024 65499"},
	{id: "NET-009", name: "Oracle's", want: OK, facts: tcp(ports(9000, 65500), "oracle")},
	{id: "NET-009", name: "MariaDB", want: NotApplicable, facts: tcp(ports(32768, 60999), "mariadb"),
		detail: "would apply to"},
	{id: "NET-009", name: "garbled", want: Unknown,
		facts: tcp(func(n *host.Network) { n.PortRange = failed[[]int]("ip_local_port_range") }, "oracle")},
}

// card is one of a host with 8 CPUs.
func card(queues int64, served, steered host.Fact[[]int]) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Threads = known(8, "/sys/devices/system/cpu/online")
		f.Network.Cards = []host.NetworkCard{{Name: "eth0", Receive: known(queues, "/sys/class/net/eth0/queues"), Served: served, Steered: steered}}
	}
}

// linked is a card with one queue in such a state.
func linked(state string) func(*host.Facts) {
	return func(f *host.Facts) {
		card(1, arrives(0), steers())(f)
		f.Network.Cards[0].Link = known(state, "/sys/class/net/eth0/operstate")
	}
}

func arrives(cpus ...int) host.Fact[[]int] { return known(cpus, "/proc/irq") }

func steers(cpus ...int) host.Fact[[]int] { return known(cpus, "/sys/class/net/eth0/queues") }

var cardCases = []lookCase{
	{id: "NET-011", name: "one queue", want: Finding, facts: card(1, arrives(0, 1), steers()), remedy: "ethtool -l eth0"},
	{id: "NET-011", name: "one CPU", want: Finding, facts: card(4, arrives(2), steers()), evidence: "/proc/irq = 2",
		remedy: "hostlab settings irq_affinity"},
	{id: "NET-011", name: "handed on", want: OK, facts: card(1, arrives(0), steers(0, 1, 2, 3))},
	{id: "NET-011", name: "several", want: OK, facts: card(4, arrives(0, 1, 2, 3), steers())},
	{id: "NET-011", name: "interrupts hidden", want: OK, facts: card(4, absent[[]int]("/proc/irq"), steers())},
	{id: "NET-011", name: "steering hidden", want: Unknown,
		facts: card(1, arrives(0), denied[[]int]("/sys/class/net/eth0/queues"))},
	{id: "NET-011", name: "few CPUs", want: NotApplicable, facts: func(f *host.Facts) {
		card(1, arrives(0), steers())(f)
		f.Topology.Threads = known(2, "/sys/devices/system/cpu/online")
	}},
	{id: "NET-011", name: "a port without a cable", want: NotApplicable, facts: linked("down")},
	{id: "NET-011", name: "a driver that does not say", want: Finding, facts: linked("unknown")},
	{id: "NET-011", name: "a container's network", want: NotApplicable, facts: func(*host.Facts) {}},
}
