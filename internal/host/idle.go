package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

const (
	latencyDev = "/dev/cpu_dma_latency"
	// maxIdleStates is CPUIDLE_STATE_MAX with room to spare (10 in Linux 6.12).
	maxIdleStates = 32
)

func readIdle(t Tree, top Topology) Idle {
	idle := Idle{DMALatency: dmaLatency(t)}
	fill(t, cpuDir, &idle)
	idle.Resume = perCPU(top.CPUs, func(dir string) Fact[float64] {
		return Convert(t.Word(dir+"/power/pm_qos_resume_latency_us"), "s", parseResume)
	})
	idle.States = groupStates(top.CPUs, sideBySide(top.CPUs, readers(), func(c CPU) (states []IdleState) {
		for i := range maxIdleStates {
			s := IdleState{Index: i, Disabled: []int{}, Unread: []int{}}
			fill(t, cpuPath(c.ID)+"/cpuidle/state"+strconv.Itoa(i), &s)
			if s.Name.State == StateAbsent && s.Latency.State == StateAbsent {
				break
			}
			states = append(states, s)
		}
		return states
	}))
	return idle
}

// groupStates joins the states that CPUs have alike, in the order of their
// indexes. Hybrid processors have several states of one index.
func groupStates(cpus []CPU, found [][]IdleState) []IdleState {
	type key struct {
		name, desc         string
		latency, residency float64
		states             [4]State
	}
	groups := []IdleState{}
	for index := range maxIdleStates {
		at := map[key]int{}
		for i, states := range found {
			if index >= len(states) {
				continue
			}
			s := states[index]
			k := key{s.Name.Value, s.Desc.Value, s.Latency.Value, s.Residency.Value,
				[4]State{s.Name.State, s.Desc.State, s.Latency.State, s.Residency.State}}
			g, ok := at[k]
			if !ok {
				g = len(groups)
				at[k] = g
				groups = append(groups, s)
			}
			groups[g].join(cpus[i].ID, s.Disable)
		}
	}
	return groups
}

// join adds a CPU. What is known of Disable ranks: disabled somewhere, not
// readable somewhere, enabled.
func (s *IdleState) join(cpu int, disable Fact[bool]) {
	s.CPUs = append(s.CPUs, cpu)
	switch v, ok := disable.Get(); {
	case !ok:
		s.Unread = append(s.Unread, cpu)
		if s.Disable.State == StateOK && !s.Disable.Value {
			s.Disable = disable
		}
	case v:
		s.Disabled = append(s.Disabled, cpu)
		if !s.Disable.Value || s.Disable.State != StateOK {
			s.Disable = disable
		}
	}
}

// NoLimit is the reason of a limit that is absent because nobody has set one,
// while the machine does have the knob.
const NoLimit = "no limit is set"

// noLatencyLimit is PM_QOS_CPU_LATENCY_DEFAULT_VALUE, 2000 s in us: what is read
// while nobody has asked for a limit.
const noLatencyLimit = 2000 * 1000 * 1000

// dmaLatency reads the limit in force, a binary 32-bit number of microseconds
// in the machine's byte order (little-endian on all that we build for). Opening
// the device registers a request, but with the default value, which limits
// nothing, and closing it takes that back: cpu_latency_qos_open in
// kernel/power/qos.c wakes CPUs only if the limit in force changes.
func dmaLatency(t Tree) Fact[float64] {
	if !t.Live() && t.Exists(recordedLatency) {
		return Convert(t.Int(recordedLatency, "", 1).from(latencyDev), "s", latencyOf)
	}
	b, err := t.Read(latencyDev)
	if err != nil {
		return Unknown[float64](latencyDev, err)
	}
	if len(b) == 5 && b[4] == '\n' {
		b = b[:4] // archives end each file with a newline
	}
	if len(b) != 4 {
		return Unknown[float64](latencyDev, fmt.Errorf("expected 4 bytes, found %d", len(b)))
	}
	us := int32(binary.LittleEndian.Uint32(b)) //nolint:gosec // as the kernel's s32
	t.stated(recordedLatency, strconv.Itoa(int(us)))
	return Convert(Known(int64(us), "", latencyDev), "s", latencyOf)
}

// recordedLatency is the limit in a recording, in us: the device itself is binary.
const recordedLatency = "/.hostlab/cpu_dma_latency"

func latencyOf(us int64) (float64, error) {
	if us == noLatencyLimit {
		return 0, none(NoLimit)
	}
	return fromMicros(us)
}

// parseResume reads what a CPU's users tolerate. The file says "0" for no
// limit and "n/a" where no latency at all is tolerated
// (Documentation/ABI/testing/sysfs-devices-power).
func parseResume(s string) (float64, error) {
	switch s {
	case "0":
		return 0, none(NoLimit)
	case "n/a":
		return 0, nil
	}
	us, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, errors.New("expected microseconds or n/a, found " + clip(s))
	}
	return fromMicros(us)
}
