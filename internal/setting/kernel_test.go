package setting

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// kernel is a machine of four CPUs with a frequency policy each, cpu1 and cpu3 being the
// siblings of cpu0 and cpu2. It does what kernels were seen to do in a guest: see each store.
type kernel struct {
	files  map[string]string
	minReq map[string]string // by policy folder: the requests, of which min reads less
}

const k = "/sys/devices/system/cpu"

func newKernel() *kernel {
	m := &kernel{files: map[string]string{}, minReq: map[string]string{}}
	for i := range 4 {
		m.files[fmt.Sprintf("%s/cpu%d/online", k, i)] = "1"
		d := policyDir(i)
		for name, v := range map[string]string{
			"affected_cpus": strconv.Itoa(i), "related_cpus": strconv.Itoa(i), "scaling_driver": "fake",
			"scaling_available_governors": "performance powersave ondemand schedutil", "scaling_governor": "powersave",
			"energy_performance_available_preferences": "default performance balance_performance balance_power power",
			"energy_performance_preference":            "balance_performance",
			"cpuinfo_min_freq":                         "800000", "cpuinfo_max_freq": "2400000",
			"scaling_available_frequencies": "2400000 2000000 1600000 1200000 800000",
			"scaling_min_freq":              "1200000", "scaling_max_freq": "2400000",
		} {
			m.files[d+name] = v
		}
		m.minReq[d] = "1200000"
	}
	m.files[k+"/smt/control"] = "on"
	m.files[k+"/cpu3/online"] = "0" // taken offline by hand
	m.files["/sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never"
	m.files[minFree] = "5000"
	m.files["/sys/block/sda/queue/scheduler"] = "none [mq-deadline]"
	m.files["/sys/firmware/acpi/platform_profile"] = "balanced"
	m.files["/sys/firmware/acpi/platform_profile_choices"] = "low-power balanced performance"
	m.files["/proc/sys/vm/dirty_bytes"] = "0"
	m.files["/proc/sys/vm/dirty_ratio"] = "20"
	m.files["/proc/sys/vm/swappiness"] = "60"
	return m
}

func policyDir(i int) string { return fmt.Sprintf("%s/cpufreq/policy%d/", k, i) }

// inactive reports a file of a policy whose CPU is offline: EBUSY to all (cpufreq.c).
func (m *kernel) inactive(path string) bool {
	rest, ok := strings.CutPrefix(path, k+"/cpufreq/policy")
	return ok && m.files[k+"/cpu"+rest[:1]+"/online"] == "0"
}

func (m *kernel) read(path string) (string, error) {
	v, ok := m.files[path]
	if !ok {
		return "", syscall.ENOENT
	}
	if m.inactive(path) {
		return "", syscall.EBUSY
	}
	return v, nil
}

func (m *kernel) store(path, v string) error {
	old, ok := m.files[path]
	if !ok {
		return syscall.ENOENT
	}
	if m.inactive(path) {
		return syscall.EBUSY
	}
	dir := path[:strings.LastIndex(path, "/")+1]
	name := path[len(dir):]
	switch {
	case path == minFree:
	case strings.Contains(old, "["):
		words := Choices([]byte(old))
		i := slices.Index(words, v)
		if i < 0 {
			return syscall.EINVAL
		}
		words[i] = "[" + v + "]"
		if v == "always" && strings.HasSuffix(path, "transparent_hugepage/enabled") { // and it stays so
			m.files[minFree] = strconv.Itoa(max(67584, atoi(m.files[minFree])))
		}
		v = strings.Join(words, " ")
	case name == "scaling_governor":
		if !slices.Contains(strings.Fields(m.files[dir+"scaling_available_governors"]), v) {
			return syscall.EINVAL
		}
		if v == "performance" { // and it stays so after the governor is another
			m.files[dir+"energy_performance_preference"] = "performance"
		}
	case name == "energy_performance_preference":
		if v == "default" {
			v = "performance"
		}
		if m.files[dir+"scaling_governor"] == "performance" && v != "performance" {
			return syscall.EBUSY
		}
	case name == "scaling_min_freq", name == "scaling_max_freq":
		if _, err := strconv.Atoi(v); err != nil {
			return syscall.EINVAL
		}
		if name == "scaling_min_freq" {
			m.minReq[dir] = step(v)
		} else {
			m.files[path] = step(v)
		}
		// A maximum below the minimum is taken, and lowers what the minimum reads until it is raised.
		m.files[dir+"scaling_min_freq"] = step(strconv.Itoa(min(atoi(m.minReq[dir]), atoi(m.files[dir+"scaling_max_freq"]))))
		return nil
	case path == k+"/smt/control":
		for i := range 4 {
			switch {
			case v == "off" && i%2 == 1:
				m.files[fmt.Sprintf("%s/cpu%d/online", k, i)] = "0"
			case v == "on" && i%2 == 1 && old == "off":
				m.files[fmt.Sprintf("%s/cpu%d/online", k, i)] = "1" // also one that was offline before
			}
		}
	case name == "online":
		if v == "1" && m.files[k+"/smt/control"] == "off" &&
			(strings.Contains(path, "cpu1") || strings.Contains(path, "cpu3")) {
			return syscall.EPERM
		}
	case name == "dirty_bytes", name == "dirty_ratio":
		if v == "0" && name == "dirty_bytes" {
			return syscall.EINVAL
		}
		m.files["/proc/sys/vm/dirty_bytes"], m.files["/proc/sys/vm/dirty_ratio"] = "0", "0"
	}
	m.files[path] = v
	return nil
}

// step rounds a frequency to one that the table has, and clamps it to its ends.
func step(v string) string {
	n := atoi(v)
	for _, s := range []int{2400000, 2000000, 1600000, 1200000} {
		if n >= s {
			return strconv.Itoa(s)
		}
	}
	return "800000"
}

func atoi(v string) int {
	n, _ := strconv.Atoi(v)
	return n
}

// reboot is what the kernel starts with, which is not what anybody has set; firmware
// keeps the platform profile.
func (m *kernel) reboot() *kernel {
	n := newKernel()
	for i := range 4 {
		d := policyDir(i)
		n.files[d+"scaling_governor"], n.files[d+"energy_performance_preference"] = "schedutil", "power"
		n.files[d+"scaling_min_freq"], n.minReq[d] = "800000", "800000"
	}
	n.files[k+"/cpu3/online"] = "1"
	n.files["/sys/block/sda/queue/scheduler"] = "none mq-deadline [kyber]"
	n.files["/proc/sys/vm/swappiness"] = "33"
	n.files["/sys/firmware/acpi/platform_profile"] = m.files["/sys/firmware/acpi/platform_profile"]
	return n
}

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
