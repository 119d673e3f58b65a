package host_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// cards are those of a made machine.
func cards(t *testing.T, files string) []host.NetworkCard {
	t.Helper()
	tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, files)}
	return host.Collect(context.Background(), host.Options{Tree: tree}).Network.Cards
}

// A card of PCI has a directory of its interrupts, whatever they are called.
func TestCardOfPCI(t *testing.T) {
	list := cards(t, `
-- sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:05.0/net/eth0 --
-- sys/class/net/lo -> ../../devices/virtual/net/lo --
-- sys/devices/virtual/net/lo/queues/rx-0/rps_cpus --
f
-- sys/devices/pci0000:00/0000:00:05.0/net/eth0/device -> ../.. --
-- sys/devices/pci0000:00/0000:00:05.0/net/eth0/operstate --
down
-- sys/devices/pci0000:00/0000:00:05.0/msi_irqs/30 --
-- sys/devices/pci0000:00/0000:00:05.0/msi_irqs/31 --
-- sys/devices/pci0000:00/0000:00:05.0/net/eth0/queues/rx-0/rps_cpus --
00000001,00000006
-- sys/devices/pci0000:00/0000:00:05.0/net/eth0/queues/rx-1/rps_cpus --
00000000,00000000
-- sys/devices/pci0000:00/0000:00:05.0/net/eth0/queues/tx-0/ --
-- proc/irq/30/effective_affinity_list --
1
-- proc/irq/30/smp_affinity_list --
0-3
-- proc/irq/31/smp_affinity_list --
3
-- proc/irq/32/smp_affinity_list --
7
-- proc/irq/32/nvme0q1/ --
`)
	testkit.Is(t, 1, len(list), "cards")
	c := list[0]
	testkit.Is(t, "down", c.Link.Value)
	testkit.Same(t, []any{"eth0", int64(2), int64(1), "1,3", "1-2,32"},
		[]any{c.Name, c.Receive.Value, c.Transmit.Value, host.FormatList(c.Served.Value), host.FormatList(c.Steered.Value)})
}

// Those of virtio and of Xen are called by the device or by the interface. Another user's name for a set of CPUs is refused.
func TestCardsByName(t *testing.T) {
	list := cards(t, `
-- sys/class/net/ens3 -> ../../devices/pci0000:00/0000:00:03.0/virtio1/net/ens3 --
-- sys/class/net/eth1 -> ../../devices/vif-0/net/eth1 --
-- sys/bus/virtio/drivers/virtio_net/virtio1 -> ../../../../devices/pci0000:00/0000:00:03.0/virtio1 --
-- sys/devices/pci0000:00/0000:00:03.0/virtio1/net/ens3/device -> ../.. --
-- sys/devices/pci0000:00/0000:00:03.0/virtio1/net/ens3/queues/rx-0/rps_cpus --
odd
-- sys/devices/vif-0/net/eth1/device -> ../.. --
-- proc/irq/24/smp_affinity_list --
2
-- proc/irq/24/virtio1-input.0/ --
-- proc/irq/25/smp_affinity_list --
!errno EACCES
-- proc/irq/25/eth1-q0-rx/ --
-- proc/irq/26/smp_affinity_list --
1
-- proc/irq/26/virtio2-req.0/ --
`)
	testkit.Is(t, 2, len(list), "cards")
	testkit.Is(t, "2", host.FormatList(list[0].Served.Value), "of virtio")
	testkit.Is(t, host.StateError, list[0].Steered.State, "a set of CPUs that is none")
	testkit.Is(t, host.StateDenied, list[1].Served.State, "of Xen")
	testkit.Is(t, host.StateAbsent, list[1].Receive.State, "queues that do not show")
}

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
		testkit.Is(t, c.want, stateText(host.Collect(context.Background(), host.Options{Tree: tree}).Idle.DMALatency), c.name)
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
