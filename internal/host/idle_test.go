package host_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestIdleStates(t *testing.T) {
	f := cpuTree(t, core2x2+`cpuidle/current_driver: intel_idle
cpuidle/current_governor_ro: menu
cpu0/cpuidle/state0/name: POLL
cpu0/cpuidle/state0/latency: 0
cpu0/cpuidle/state0/disable: 0
cpu1/cpuidle/state0/name: POLL
cpu1/cpuidle/state0/latency: 0
cpu1/cpuidle/state0/disable: 1
cpu0/cpuidle/state1/name: C6
cpu0/cpuidle/state1/latency: 133
cpu0/cpuidle/state1/residency: 600
cpu0/cpuidle/state1/disable: 0
cpu1/cpuidle/state1/name: C6
cpu1/cpuidle/state1/latency: 133
cpu1/cpuidle/state1/residency: 600
cpu1/cpuidle/state1/disable: !errno EACCES
cpu2/cpuidle/state0/name: C1
cpu2/cpuidle/state0/latency: -5
cpu2/cpuidle/state0/disable: maybe
`)
	type state struct {
		Index                      int
		Name, Latency, Residency   string
		CPUs, Disabled, Unread, Is string
	}
	var got []state
	for _, s := range f.Idle.States {
		got = append(got, state{s.Index, s.Name.Value, stateText(s.Latency), stateText(s.Residency),
			host.FormatList(s.CPUs), host.FormatList(s.Disabled), host.FormatList(s.Unread), stateText(s.Disable)})
	}
	gone := "absent no such file or directory"
	want := []state{
		{0, "POLL", "0", gone, "0-1", "1", "", "true"},
		{0, "C1", "error -5 us is no time", gone, "2", "", "2", `error expected 0 or 1, found "maybe"`},
		{1, "C6", "0.000133", "0.0006", "0-1", "", "1", "denied permission denied"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("states (-want +got):\n" + d)
	}
	testkit.Is(t, "menu", stateText(f.Idle.Governor), "governor")
}

func TestLatencyLimits(t *testing.T) {
	for _, c := range []struct{ name, device, want string }{
		{"nobody asked", "\x00\x94\x35\x77", "absent " + host.NoLimit},
		{"3 us", "\x03\x00\x00\x00", "3e-06"},
		{"no idling at all", "\x00\x00\x00\x00", "0"},
		{"text", "70 us", "error expected 4 bytes, found 6"},
		{"denied", "!errno EACCES", "denied permission denied"},
	} {
		tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, "-- dev/cpu_dma_latency --\n"+c.device+"\n")}
		if got := stateText(host.Collect(context.Background(), host.Options{Tree: tree}).Idle.DMALatency); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	f := cpuTree(t, core2x2+"cpu0/power/pm_qos_resume_latency_us: 0\ncpu1/power/pm_qos_resume_latency_us: n/a\ncpu2/power/pm_qos_resume_latency_us: 70\ncpu3/power/pm_qos_resume_latency_us: ?\n")
	var got []string
	for _, r := range f.Idle.Resume {
		got = append(got, stateText(r.Value))
	}
	if d := cmp.Diff([]string{"absent " + host.NoLimit, "0", "7e-05", `error expected microseconds or n/a, found "?"`}, got); d != "" {
		t.Error("resume latencies (-want +got):\n" + d)
	}
}
