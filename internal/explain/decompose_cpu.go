package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// cpu puts counted CPU time, and the counted wait for a CPU, in the place of what was
// sampled as running.
func (d *decomposition) cpu(c *CPUTime, told bool) {
	if c == nil {
		return
	}
	ran := 0.0
	for key, l := range inOrder(d.lines, strings.Compare) {
		if (l.part == DatabaseCPU || l.part == RunQueue) && !l.counted() {
			ran += l.seconds
			delete(d.lines, key)
		}
	}
	run := min(c.Run, d.elapsed)
	d.lines["cpu"] = &line{name: OnCPU, part: DatabaseCPU, count: -1, seconds: run, source: c.Source, low: run, high: run}
	if c.Run > (1+tolerance)*d.elapsed {
		d.warnings = append(d.warnings, "sessions used "+trim(c.Run)+
			" s of CPU, more than they were seen for: some of it before they had logged in; "+trim(run)+" s of that are shown")
	}
	wait, source := c.Queue, c.Source
	// it ran, as far as the server knows, and had no CPU
	if missed := ran - run - c.Queue; c.QueueHigh > c.Queue && missed > 0 {
		wait, source = min(ran-run, c.QueueHigh), source+", samples"
	}
	queue := min(wait, d.elapsed-run)
	if wait-queue > tolerance*d.elapsed {
		d.warnings = append(d.warnings, "sessions were ready to run and had no CPU for "+trim(wait)+
			" s, more than they were seen for; "+trim(queue)+" s of that are shown")
	}
	if queue > 0 {
		d.lines["queue"] = &line{name: CPUQueue, part: RunQueue, count: -1, seconds: queue, source: source,
			low: min(queue, c.QueueLow), high: max(queue, min(c.QueueHigh, d.elapsed-run))}
	}
	if !told {
		d.overlap(min(run+queue-ran, d.total()-d.elapsed))
	}
}

// overlap takes what did not show as running out of the waits that it showed as, counted or
// sampled: the CPU time of a call, and the wait for a CPU from a wait's end on. Nobody counts
// which waits these were. Most transactions wait about once for each thing, so that each kind
// of wait has as much of it, and no more than half of what it lasts itself as far as that is enough.
func (d *decomposition) overlap(hidden float64) {
	lasts := map[PartName]float64{}
	for _, l := range inOrder(d.lines, strings.Compare) {
		if l.part != DatabaseCPU && l.part != RunQueue {
			lasts[l.part] += l.seconds
		}
	}
	kinds := slices.SortedFunc(maps.Keys(lasts), func(a, b PartName) int {
		return cmp.Or(cmp.Compare(lasts[a], lasts[b]), cmp.Compare(a, b))
	})
	left := max(0, hidden)
	for _, most := range []float64{0.5, 1} {
		for i, kind := range kinds {
			take := min(most*lasts[kind]-d.within[kind], left/float64(len(kinds)-i))
			d.within[kind] += take
			left -= take
		}
	}
	for _, l := range inOrder(d.lines, strings.Compare) {
		if all := lasts[l.part]; all > 0 && hidden > 0 {
			d.most[l.part] = min(all, hidden)
			l.low *= 1 - d.most[l.part]/all
			l.seconds *= 1 - d.within[l.part]/all
		}
	}
}

// divide gives sampled waits what is left of the time besides what was counted, as samples divide it: these tell what
// waits from what is ready to run, and are biased by no more than that on a busy host they need a CPU themselves. How
// far they were off widens intervals.
func (d *decomposition) divide() {
	sampled, left := 0.0, d.elapsed
	for _, l := range inOrder(d.lines, strings.Compare) {
		if l.counted() {
			left -= l.seconds
		} else {
			sampled += l.seconds
		}
	}
	if sampled <= 0 || left <= 0 {
		return
	}
	f := left / sampled
	for _, l := range inOrder(d.lines, strings.Compare) {
		if !l.counted() {
			l.seconds, l.low, l.high = l.seconds*f, l.low*min(1, f), l.high*max(1, f)
		}
	}
}
