package setting

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// carded has a card of virtio with two interrupts, a disk of NVMe, and other programs.
const carded = `
-- sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:03.0/virtio1/net/eth0 --
-- sys/bus/virtio/drivers/virtio_net/virtio1 -> ../../../../devices/pci0000:00/0000:00:03.0/virtio1 --
-- sys/devices/pci0000:00/0000:00:03.0/virtio1/net/eth0/device -> ../.. --
-- sys/devices/system/cpu/online --
0-3
-- proc/irq/24/smp_affinity_list --
0-3
-- proc/irq/24/virtio1-input.0/ --
-- proc/irq/25/smp_affinity_list --
2
-- proc/irq/25/virtio1-output.0/ --
-- proc/irq/26/smp_affinity_list --
1
-- proc/irq/26/nvme0q1/ --
-- proc/1/comm --
systemd
`

// Only a card's interrupts are set, to CPUs that are there, and each gets its own back.
func TestInterrupts(t *testing.T) {
	sys := treeOf(t, testkit.Unpack(t, host.ExtractArchive, carded))
	p := testkit.Must(NewPlan(sys, []Assignment{{"irq_affinity", "", "3,2,2"}}))(t)
	var steps []string
	for _, s := range append(p.Steps, p.Same...) {
		steps = append(steps, s.Name+": "+s.From+" to "+s.To)
	}
	testkit.Same(t, []string{"24: 0-3 to 2-3", "25: 2 to 2-3"}, steps)
	for value, says := range map[string]string{"4": "CPU 4 is not online; those are 0-3", "": "no value", "all": "expected a list of CPUs",
		"0-": "expected a list"} {
		testkit.Refused(NewPlan(sys, []Assignment{{"irq_affinity", "24", value}}))(t, says, value)
	}
	testkit.Refused(NewPlan(sys, []Assignment{{"irq_affinity", "26", "1"}}))(t, "there is no such object", "of a disk")
}

// What irqbalance would move back within seconds is refused, with what to do.
func TestInterruptsThatAreBalanced(t *testing.T) {
	const named = carded + "-- proc/812/comm --\nirqbalance\n-- proc/812/status --\nName:\tirqbalance\nUid:\t"
	sys := treeOf(t, testkit.Unpack(t, host.ExtractArchive, named+"1000\t1000\t1000\t1000\n"))
	if _, err := NewPlan(sys, []Assignment{{"irq_affinity", "", "1"}}); err != nil {
		t.Errorf("another user's process of that name: %v", err)
	}
	sys = treeOf(t, testkit.Unpack(t, host.ExtractArchive, named+"0\t0\t0\t0\n"))
	testkit.Refused(NewPlan(sys, []Assignment{{"irq_affinity", "", "1"}}))(t, "irqbalance (PID 812) moves interrupts every ten seconds; "+
		"stop it meanwhile: sudo systemctl stop irqbalance")
	if p, err := NewPlan(sys, []Assignment{{"irq_affinity", "25", "2"}}); err != nil || len(p.Same) != 1 {
		t.Errorf("%+v, %v: what is so already moves nothing", p, err)
	}
}

// The kernel says EIO, and newer ones EPERM, of an interrupt that it manages, also to root.
func TestInterruptsOfTheKernel(t *testing.T) {
	s, _ := Find("irq_affinity")
	for _, errno := range []error{syscall.EIO, syscall.EPERM} {
		r := s.refuse(Object{"26", "/proc/irq/26/smp_affinity_list"}, "1", errno)
		if !strings.Contains(r.Reason, "the kernel keeps this interrupt where it is") || !errors.Is(r, errno) {
			t.Error(r)
		}
	}
	testkit.Has(t, remedy("/proc/irq/26/smp_affinity_list", syscall.EROFS), "/proc/irq is mounted read-only")
	if settable("/proc/irq/26/smp_affinity_list") == settable("/proc/irq/default_smp_affinity") {
		t.Error("a damaged journal may name another file")
	}
}
