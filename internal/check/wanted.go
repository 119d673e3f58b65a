package check

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// share shows a share of time as pressure has it.
func share(v float64) string { return fmt.Sprintf("%.2f %% of the last 5 minutes", 100*v) }

// maskedCPUs is the reading of a host whose /sys is hidden, which tells nothing of its processor.
func maskedCPUs(f *host.Facts) []reading {
	if f.Topology.Present.State == host.StateMasked {
		return []reading{whole(f.Topology.Present)}
	}
	return nil
}

func agesWanted(f *host.Facts) []goal {
	within := func(most float64) func(float64) bool { return func(v float64) bool { return v > 0 && v <= most } }
	return []goal{{"dirty_expire_centisecs", "500", read(f.Memory.DirtyExpire, within(5))},
		{"dirty_writeback_centisecs", "100", read(f.Memory.DirtyWriteback, within(1))}}
}

func filesWanted(f *host.Facts) []goal {
	const want = 6815744
	return []goal{{"file_max", strconv.Itoa(want), read(f.Kernel.FileMax, atLeast[uint64](want))}}
}

func guestClockWanted(f *host.Facts) []goal {
	offered := f.Kernel.Clocksources
	v, ok := offered.Get()
	if ok && !strings.Contains(fmt.Sprintf(" %s ", v), " tsc ") {
		return nil
	}
	name := "clocksource"
	if !ok {
		name = "" // nobody knows whether tsc is offered
	}
	now := f.Kernel.Clocksource
	r := read(now, func(v string) bool { return v != "kvm-clock" })
	r.context = r.state == host.StateOK && now.Value != "tsc" && now.Value != "kvm-clock" // of which KRN-007 speaks
	return []goal{{name, "tsc", r}, {reading: needed(offered)}}
}
