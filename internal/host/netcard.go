package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
