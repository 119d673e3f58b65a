package trace

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"hostlab/internal/chain"
	"hostlab/internal/waits"
)

// What a schedEvent is, and its flags (kernel/sched.c).
const (
	switchEvent = iota
	wakeEvent
)

const (
	wasReady = 1 << iota
	ofDisk
	ofDevice
	isMember
	toMember
	byInterrupt
)

// What the rings hold for each CPU, B, and as a whole at most. An event takes 48 B and a burst 64 B, with their heads.
// On a CPU that switches 100,000 times a second, the longest window that so many switches permit, 150 ms, has 30,000
// events and 7,500 bursts. A ring's pages are there twice in hostlab's memory, so that what wraps around is read in one
// piece (kernel/bpf/ringbuf.c).
const (
	eventsOfCPU, eventsAtMost = 2 << 20, 16 << 20
	burstsOfCPU, burstsAtMost = 512 << 10, 4 << 20
)

// ringOf is the length of a ring for so many CPUs: the kernel takes powers of two alone.
func ringOf(cpus, each, most int) uint32 {
	return uint32(min(1<<bits.Len(uint(cpus*each-1)), most)) //nolint:gosec // most is small
}

// roomFor has rings fit to the CPUs, and the programs tell each event in a window where waits are followed.
func roomFor(spec *ebpf.CollectionSpec, cpus int, chains bool) error {
	spec.Maps[schedMapRing].MaxEntries = ringOf(cpus, burstsOfCPU, burstsAtMost)
	if !chains {
		spec.Maps[schedMapEvents].MaxEntries = uint32(os.Getpagesize()) //nolint:gosec // it is small
		return nil
	}
	spec.Maps[schedMapEvents].MaxEntries = ringOf(cpus, eventsOfCPU, eventsAtMost)
	return spec.Variables[schedVarChains].Set(uint8(1))
}

// chained is how long a window lasts at least where waits are followed: one that lasts longer shows no end.
const chained = 100 * time.Millisecond

// moments lie so far apart, ns.
const moments = 500_000

// follow adds the last window's waits to the account. One of which events were dropped shows wrong ends.
func (t *tally) follow() error {
	s := t.s
	if s.events == nil {
		return nil
	}
	s.list = s.list[:0]
	if err := empty(s.events, &s.record, func(e *schedEvent) { s.list = append(s.list, *e) }); err != nil {
		return err
	}
	// CPUs write into one ring.
	slices.SortStableFunc(s.list, func(x, y schedEvent) int { return cmp.Compare(x.At, y.At) })
	var dropped uint64
	if err := s.objects.Dropped.Get(&dropped); err != nil {
		return err
	}
	if w := s.windows[s.number&1]; dropped == s.dropped {
		t.ends.Add(s.inOrder, t.words, w.Opened, w.Opened+w.Length, moments, rand.Float64())
	}
	s.dropped = dropped
	return nil
}

// inOrder are the last window's events.
func (s *session) inOrder(yield func(chain.Event) bool) {
	for i := range s.list {
		if !yield(event(&s.list[i])) {
			return
		}
	}
}

func event(e *schedEvent) chain.Event {
	is := func(flag uint8) bool { return e.Flags&flag != 0 }
	call := int64(e.Call)
	out := chain.Event{At: e.At, CPU: int(e.Cpu), Wake: e.Kind == wakeEvent, Ready: is(wasReady),
		Interrupt: is(byInterrupt),
		By:        chain.Task{TID: int(e.Tid), PID: int(e.Tgid), Member: is(isMember)},
		To:        chain.Task{TID: int(e.To), PID: int(e.ToTgid), Member: is(toMember)}, Word: chain.Word(e.Word)}
	out.Wait = waits.Wait{Kind: waits.Of(call), Blocked: is(ofDisk) || is(ofDevice)}
	return out
}

// know tells the programs where the service's processes say what they wait for, and reads what they say now.
func (t *tally) know() {
	w := t.cfg.Words
	if w == nil || t.s.events == nil {
		return
	}
	pids, err := w.Children()
	if err != nil { // this kernel lists no children (CONFIG_PROC_CHILDREN), so all processes are looked at
		pids = t.cfg.Target.Processes()
	}
	w.Follow(pids)
	for pid, at := range w.At() {
		_ = t.s.objects.Words.Put(uint32(pid), at) // one that is missing has its waits named by their calls
	}
	w.Read(t.words)
}
