package check

import "hostlab/internal/host"

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
