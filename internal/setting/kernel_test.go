package setting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
