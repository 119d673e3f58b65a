package model

import "math/bits"

type placer struct {
	how     Placement
	idle    bitset
	whole   bitset // idle CPUs whose whole core is idle
	threads int
	cursor  int // Spread: where to look first
}

func newPlacer(how Placement, cpus, threads int) placer {
	p := placer{how: how, idle: newBitset(cpus), whole: newBitset(cpus), threads: threads}
	for i := range cpus {
		p.idle.set(i)
		p.whole.set(i)
	}
	return p
}

// claim takes an idle CPU for a process that last ran on one, or -1 when all are
// busy.
func (p *placer) claim(last int32) int32 {
	var i int
	switch {
	case p.how == Packed:
		i = p.idle.next(0)
	case p.how == Sticky && last >= 0 && p.idle.has(int(last)):
		i = int(last)
	default:
		if i = p.whole.next(p.cursor); i < 0 {
			i = p.idle.next(p.cursor)
		}
		p.cursor = i + 1
	}
	if i < 0 {
		return -1
	}
	p.idle.clear(i)
	p.whole.clear(i)
	for j := i / p.threads * p.threads; p.threads > 1 && j < (i/p.threads+1)*p.threads; j++ {
		p.whole.clear(j)
	}
	return int32(i)
}

func (p *placer) release(cpu int32) {
	i := int(cpu)
	p.idle.set(i)
	first := i / p.threads * p.threads
	for j := first; j < first+p.threads; j++ {
		if !p.idle.has(j) {
			return
		}
	}
	for j := first; j < first+p.threads; j++ {
		p.whole.set(j)
	}
}

// bitset of CPU numbers.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }

// within is the first member from first up to before end; -1 without one.
func (b bitset) within(first, end int) int {
	for w := first >> 6; w<<6 < end; w++ {
		x := b[w]
		if w == first>>6 {
			x &= ^uint64(0) << (first & 63)
		}
		if x != 0 {
			if i := w<<6 + bits.TrailingZeros64(x); i < end {
				return i
			}
			return -1
		}
	}
	return -1
}

// next is the first member at or after from, going round; -1 when empty.
func (b bitset) next(from int) int {
	n := len(b) << 6
	from = min(from, n)
	if i := b.within(from, n); i >= 0 {
		return i
	}
	return b.within(0, from)
}
