package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Network holds settings and counters of TCP and of NFS' transport. They are those of the network
// namespace that hostlab is in.
type Network struct {
	Somaxconn     Fact[int64] `json:"somaxconn" read:"/proc/sys/net/core/somaxconn"`
	NetdevBacklog Fact[int64] `json:"netdev_max_backlog" read:"/proc/sys/net/core/netdev_max_backlog"`
	RmemDefault   Fact[int64] `json:"rmem_default" read:"/proc/sys/net/core/rmem_default B"`
	RmemMax       Fact[int64] `json:"rmem_max" read:"/proc/sys/net/core/rmem_max B"`
	WmemDefault   Fact[int64] `json:"wmem_default" read:"/proc/sys/net/core/wmem_default B"`
	WmemMax       Fact[int64] `json:"wmem_max" read:"/proc/sys/net/core/wmem_max B"`
	// least, first and largest, in B
	TCPRmem         Fact[[]int] `json:"tcp_rmem" read:"/proc/sys/net/ipv4/tcp_rmem words"`
	TCPWmem         Fact[[]int] `json:"tcp_wmem" read:"/proc/sys/net/ipv4/tcp_wmem words"`
	SynBacklog      Fact[int64] `json:"tcp_max_syn_backlog" read:"/proc/sys/net/ipv4/tcp_max_syn_backlog"`
	SynRetries      Fact[int64] `json:"tcp_syn_retries" read:"/proc/sys/net/ipv4/tcp_syn_retries"`
	Retries2        Fact[int64] `json:"tcp_retries2" read:"/proc/sys/net/ipv4/tcp_retries2"`
	KeepaliveTime   Fact[int64] `json:"tcp_keepalive_time" read:"/proc/sys/net/ipv4/tcp_keepalive_time s"`
	KeepaliveIntvl  Fact[int64] `json:"tcp_keepalive_intvl" read:"/proc/sys/net/ipv4/tcp_keepalive_intvl s"`
	KeepaliveProbes Fact[int64] `json:"tcp_keepalive_probes" read:"/proc/sys/net/ipv4/tcp_keepalive_probes"`
	SlowStart       Fact[int64] `json:"tcp_slow_start_after_idle" read:"/proc/sys/net/ipv4/tcp_slow_start_after_idle"`
	WindowScaling   Fact[int64] `json:"tcp_window_scaling" read:"/proc/sys/net/ipv4/tcp_window_scaling"`
	Timestamps      Fact[int64] `json:"tcp_timestamps" read:"/proc/sys/net/ipv4/tcp_timestamps"`
	SACK            Fact[int64] `json:"tcp_sack" read:"/proc/sys/net/ipv4/tcp_sack"`
	ModerateRcvbuf  Fact[int64] `json:"tcp_moderate_rcvbuf" read:"/proc/sys/net/ipv4/tcp_moderate_rcvbuf"`
	NoMetricsSave   Fact[int64] `json:"tcp_no_metrics_save" read:"/proc/sys/net/ipv4/tcp_no_metrics_save"`
	PortRange       Fact[[]int] `json:"ip_local_port_range" read:"/proc/sys/net/ipv4/ip_local_port_range words"`
	NFSSlots        Fact[int64] `json:"tcp_max_slot_table_entries" read:"/proc/sys/sunrpc/tcp_max_slot_table_entries"`
	PassiveOpens    Fact[int64] `json:"passive_opens" setup:"no"`    // connections accepted since boot
	ListenOverflows Fact[int64] `json:"listen_overflows" setup:"no"` // of them, those that found a server's queue full
	// those, and others that were dropped at a listening socket
	ListenDrops Fact[int64] `json:"listen_drops" setup:"no"`

	Cards []NetworkCard `json:"cards"`
}

func readNetwork(t Tree) (n Network) {
	fill(t, "", &n)
	for f, want := range map[*Fact[[]int]]int{&n.TCPRmem: 3, &n.TCPWmem: 3, &n.PortRange: 2} {
		if v, ok := f.Get(); ok && len(v) != want {
			*f = Unknown[[]int](f.Source, fmt.Errorf("expected %d numbers, found %d", want, len(v)))
		}
	}
	n.PassiveOpens = netCounter(t, "/proc/net/snmp", "Tcp", "PassiveOpens")
	n.ListenOverflows = netCounter(t, "/proc/net/netstat", "TcpExt", "ListenOverflows")
	n.ListenDrops = netCounter(t, "/proc/net/netstat", "TcpExt", "ListenDrops")
	n.Cards = readCards(t)
	return n
}

// netCounter finds a counter in a file of pairs of lines, of which the first has the names and the
// second the numbers, in the same order (proc_net(5)).
func netCounter(t Tree, file, group, name string) Fact[int64] {
	return Convert(t.Text(file), "", func(s string) (int64, error) {
		var names []string
		for line := range strings.Lines(s) {
			w := strings.Fields(line)
			if len(w) == 0 || w[0] != group+":" {
				continue
			}
			if names == nil {
				names = w
				continue
			}
			at := slices.Index(names, name)
			if at < 0 || len(w) != len(names) {
				break
			}
			v, err := strconv.ParseInt(w[at], 10, 64)
			if err != nil || v < 0 {
				return 0, fmt.Errorf("expected a count, found %s", clip(w[at]))
			}
			return v, nil
		}
		if names == nil || !slices.Contains(names, name) {
			return 0, none("no counter " + group + " " + name)
		}
		return 0, errors.New("its names and numbers do not go together")
	}).from(file + " " + group + " " + name)
}

// NetworkCard is a network interface of hardware, or of what a hypervisor shows as such: its queues, and the CPUs that
// serve them.
type NetworkCard struct {
	Name string `json:"name" setup:"no"`
	// Link is up, or down as of a port without a cable (kernel documentation, networking/operstates.rst).
	Link     Fact[string] `json:"operstate" setup:"no"`
	Receive  Fact[int64]  `json:"receive_queues"`
	Transmit Fact[int64]  `json:"transmit_queues"`
	// Served are the CPUs at which its interrupts arrive now, and Steered those to which the kernel hands received
	// packets on (RPS); none: it hands none on.
	Served  Fact[[]int] `json:"interrupt_cpus" setup:"no"`
	Steered Fact[[]int] `json:"steered_cpus"`
}

// IRQDir has a directory for each interrupt.
const IRQDir = "/proc/irq"

const (
	netDir    = "/sys/class/net"
	virtioDir = "/sys/bus/virtio/drivers/virtio_net"
)

// Interrupt is one of a network card.
type Interrupt struct {
	Number int
	Card   string
	Told   string // what tells that it is the card's
}

// Interrupts are those of network cards, by number. list returns the names in a directory. A card of PCI has a
// directory of them. Of others, their own names tell: virtio0-input.0, or eth0-q0-rx.
func Interrupts(list func(dir string) []string) (out []Interrupt) {
	seen, called := map[int]bool{}, map[string]string{} // by the beginning of their names
	for _, card := range list(netDir) {
		called[card] = card
		dir := netDir + "/" + card + "/device/msi_irqs"
		for _, n := range list(dir) {
			if irq, err := strconv.Atoi(n); err == nil && !seen[irq] {
				seen[irq], out = true, append(out, Interrupt{irq, card, dir + "/" + n})
			}
		}
	}
	for _, device := range list(virtioDir) {
		for _, card := range list(virtioDir + "/" + device + "/net") {
			called[device] = card
		}
	}
	if len(called) > 0 {
		out = append(out, byName(list, called, seen)...)
	}
	slices.SortFunc(out, func(a, b Interrupt) int { return a.Number - b.Number })
	return out
}

// byName finds interrupts by what their handlers are called, each of which is a directory.
func byName(list func(dir string) []string, called map[string]string, seen map[int]bool) (out []Interrupt) {
	for _, n := range list(IRQDir) {
		irq, err := strconv.Atoi(n)
		if err != nil || seen[irq] {
			continue
		}
		for _, handler := range list(IRQDir + "/" + n) {
			device, _, _ := strings.Cut(handler, "-")
			if card := called[device]; card != "" {
				out = append(out, Interrupt{irq, card, IRQDir + "/" + n + "/" + handler})
				break
			}
		}
	}
	return out
}

// readCards reads the interfaces that have a device below.
func readCards(t Tree) []NetworkCard {
	cards := []NetworkCard{}
	list := func(dir string) []string {
		at := t
		if strings.HasPrefix(dir, IRQDir+"/") { // of which a recording needs those of cards alone
			at = t.quiet()
		}
		names, _ := at.Dir(dir)
		return names
	}
	served := map[string][]Fact[[]int]{}
	for _, i := range Interrupts(list) {
		t.Exists(i.Told)
		dir := IRQDir + "/" + strconv.Itoa(i.Number)
		cpus := first([]string{dir + "/effective_affinity_list", dir + "/smp_affinity_list"}, t.List)
		served[i.Card] = append(served[i.Card], cpus)
	}
	for _, name := range list(netDir) {
		dir := netDir + "/" + name
		if !t.Exists(dir + "/device") {
			continue
		}
		c := NetworkCard{Name: name, Link: t.Text(dir + "/operstate"),
			Served: allOf(served[name], IRQDir, "no interrupt of it shows here")}
		var masks []Fact[[]int]
		receive, transmit := int64(0), int64(0)
		for _, queue := range list(dir + "/queues") {
			if strings.HasPrefix(queue, "rx-") {
				receive++
				masks = append(masks, Convert(t.Text(dir+"/queues/"+queue+"/rps_cpus"), "", parseMask))
				continue
			}
			t.Exists(dir + "/queues/" + queue)
			transmit++
		}
		c.Receive, c.Transmit = Known(receive, "", dir+"/queues"), Known(transmit, "", dir+"/queues")
		if receive+transmit == 0 {
			c.Receive = absentFact[int64](dir+"/queues", "the kernel shows no queues of it")
			c.Transmit = c.Receive
		}
		c.Steered = allOf(masks, dir+"/queues", "the kernel hands no packets on here")
		cards = append(cards, c)
	}
	return cards
}

// allOf are all numbers of several lists. One that is not known leaves them unknown, and one that is gone meanwhile
// is left out.
func allOf(list []Fact[[]int], source, none string) Fact[[]int] {
	all, known := []int{}, false
	for _, f := range list {
		switch f.State {
		case StateOK:
			all, known = append(all, f.Value...), true
		case StateAbsent:
		default:
			return f
		}
	}
	if !known {
		return absentFact[[]int](source, none)
	}
	if len(list) == 1 {
		source = list[0].Source
	}
	return Known(ascending(all), "", source)
}

// parseMask reads CPUs as the kernel writes a set of them in hexadecimal, 32 in a word: "00000000,0000000f".
func parseMask(s string) ([]int, error) {
	list := []int{}
	words := strings.Split(s, ",")
	for i, word := range words {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil || len(words)*32 > MostCPUs {
			return nil, fmt.Errorf("expected a set of CPUs in hexadecimal, found %s", clip(s))
		}
		for b := range 32 {
			if bits&(1<<b) != 0 {
				list = append(list, (len(words)-1-i)*32+b)
			}
		}
	}
	return ascending(list), nil
}
