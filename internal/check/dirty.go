package check

import (
	"fmt"

	"hostlab/internal/host"
)

// What the byte sources recommend at most: SAP notes 2578899 and 1984787, sapconf.
const (
	dirtyBytesMax      = 629145600
	dirtyBackgroundMax = 314572800
)

var dirtyLimits = Check{
	ID: "MEM-005", Lever: LeverMemory, Title: "Limits of unwritten file data (dirty pages)",
	Why: "Written data stays in memory until the background limit starts the writing and the hard limit stops the " +
		"writers. As a share of a large memory that is many gigabytes, and when they are flushed in one go the log's " +
		"small writes queue behind them.",
	Source: "bytes: SAP notes 2578899, 1984787, sapconf (629145600 / 314572800), tuned postgresql (536870912 / 67108864); " +
		"ratios: tuned throughput-performance, oracle, sap-hana (40/10), latency-performance (10/3), mssql (80/3)",
	Disagree: "On a large memory the ratios allow a hundred times what the byte values do. Both families are accepted, " +
		"as is any ratio that stays below the byte values on this memory; the kernel's default of 20/10 is in neither.",
	Severity: inProduction(Medium, Low),
	Look:     lookDirty,
}

// dirtyLimit is one of the two limits, in the form that is in force: bytes, if
// they are not 0, else the ratio.
type dirtyLimit struct {
	reading reading
	ratio   int64   // %, or 0 if bytes are in force
	bytes   float64 // at most about this much
	sized   bool    // bytes is known
}

func dirtyInForce(b, ratio, total host.Fact[int64]) dirtyLimit {
	any := func(int64) bool { return true }
	if v, ok := b.Get(); ok && v > 0 {
		return dirtyLimit{reading: read(b, any), bytes: float64(v), sized: true}
	}
	if r := read(b, any); r.unknown() {
		return dirtyLimit{reading: r}
	}
	mem, sized := total.Get()
	l := dirtyLimit{ratio: ratio.Or(0), sized: sized}
	l.bytes = float64(mem) * float64(l.ratio) / 100
	l.reading = readAs(ratio, func(v int64) string { return fmt.Sprintf("%d %%", v) }, any)
	return l
}

func lookDirty(f *host.Facts, _ Role) Outcome {
	m := f.Memory
	hard := dirtyInForce(m.DirtyBytes, m.DirtyRatio, m.Total)
	background := dirtyInForce(m.DirtyBackgroundBytes, m.DirtyBackgroundRatio, m.Total)
	if o, stop := need("the kernel shows no limits of dirty pages", hard.reading, background.reading); stop {
		return o
	}
	hard.reading.bad = !hard.within(dirtyBytesMax) && hard.ratio != 10 && hard.ratio != 40 && hard.ratio != 80
	background.reading.bad = !background.within(dirtyBackgroundMax) && background.ratio != 3 &&
		(background.ratio != 10 || hard.ratio != 40)
	return judge([]reading{hard.reading, background.reading, aside(m.Total)}, answers{
		ok: "within what one of the sources recommends: " + hard.amount() + " before writers stop",
		bad: func([]reading) (string, string) {
			stop := fmt.Sprintf("vm.dirty_bytes=%d", dirtyBytesMax)
			start := fmt.Sprintf("vm.dirty_background_bytes=%d", dirtyBackgroundMax)
			detail := fmt.Sprintf("writing starts at %s of unwritten data, writers stop at %s",
				background.amount(), hard.amount())
			return detail, "sudo sysctl -w " + stop + " " + start + "\n" + keep(stop) + "\n" + keep(start)
		},
	})
}

func (l dirtyLimit) within(most float64) bool { return l.sized && l.bytes <= most }

// amount says the limit in bytes. A ratio is one of the memory that can be
// dirty, which is somewhat less than all of it.
func (l dirtyLimit) amount() string {
	switch {
	case l.ratio == 0:
		return bytesShort(l.bytes)
	case !l.sized:
		return fmt.Sprintf("%d %% of memory", l.ratio)
	}
	return fmt.Sprintf("up to %s (%d %% of memory)", bytesShort(l.bytes), l.ratio)
}
