package setting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
)

const (
	noIdle = "the kernel controls no idle states here"
	// qosNone is what cpu_dma_latency reads while nobody asks for less: 2000 s in us
	// (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
	qosNone = 2000000000
)

var cstateLatency = Setting{
	Name: "cstate_latency", Title: "Idle states, by their exit latency", Order: rankIdle,
	About: "Disables each idle state of each CPU that takes longer to leave than the bound, and leaves the others as they are. States are chosen by latency, " +
		"since the third of one processor is another's fifth. Shallow states are worth keeping: they leave power for the turbo of busy cores. " +
		"With all, every state is enabled.",
	Source:  "kernel documentation, admin-guide/pm/cpuidle.rst; SAP notes 2205917, 2684254, 3577842, sapconf (70 us); 1656250 (C1 only)",
	Values:  "the longest exit latency allowed, such as 70us; or all",
	objects: idleStates,
	levels:  fixed("0", "1"),
	parse: func(sys *System, o Object, v string) (string, error) {
		if v == "all" {
			return "0", nil
		}
		most, err := micros(v, math.MaxInt32)
		if err != nil {
			return "", fmt.Errorf("%w, or all", err)
		}
		latency, ok := sys.number(beside("latency")(o))
		if !ok {
			return "", unsettable{fmt.Errorf("the exit latency of %s cannot be read", o.Name)}
		}
		if latency > int64(most) {
			return "1", nil
		}
		return sys.text(o.Path) // as it is
	},
	offline: func(v string) (string, error) {
		if v == "all" {
			return v, nil
		}
		n, err := micros(v, math.MaxInt32)
		if err != nil {
			return "", fmt.Errorf("%w, or all", err)
		}
		return strconv.FormatUint(n, 10), nil
	},
	show: func(_ Object, v string) string {
		switch v {
		case "0":
			return "enabled"
		case "1":
			return "disabled"
		}
		return v
	},
	kinds: true,
	note: func(sys *System, o Object) string {
		name, err := sys.text(beside("name")(o))
		latency, ok := sys.number(beside("latency")(o))
		if err != nil || !ok {
			return ""
		}
		return fmt.Sprintf("%s, %d us", name, latency)
	},
}

// idleStates are the switches of each CPU's idle states. The first, POLL, has none on
// kernels before 5.4 that do anything.
func idleStates(sys *System) (list []Object, err error) {
	for _, cpu := range sys.numbered(cpuDir, "cpu") {
		dir := path.Join(cpuDir, cpu, "cpuidle")
		for _, state := range sys.numbered(dir, "state") {
			if file := path.Join(dir, state, "disable"); sys.exists(file) {
				list = append(list, Object{Name: cpu + "/" + state, Path: file})
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New(noIdle)
	}
	return list, nil
}

var cpuDMALatency = Setting{
	Name: "cpu_dma_latency", Title: "Longest wake-up of any CPU, while held", Order: rankIdle, Held: true,
	About: "Asks the kernel to use no idle state that takes longer to leave, on all CPUs, for as long as hostlab runs: the request ends with the process, " +
		"so nothing can be left behind. The lowest of all programs' requests is in force, and is what reading shows.",
	Source:  "kernel documentation, admin-guide/pm/cpuidle.rst and power/pm_qos_interface.rst; tuned sap-hana (70), mssql (5), latency-performance (3), postgresql (1)",
	Values:  "microseconds, such as 70us; 0 keeps CPUs polling, at full power",
	objects: single("/dev/cpu_dma_latency", "there is no /dev/cpu_dma_latency: the kernel controls no idle states, or a container hides it"),
	parse: func(_ *System, _ Object, v string) (string, error) {
		n, err := micros(v, qosNone)
		return strconv.FormatUint(n, 10), err
	},
	decode: func(b []byte) string {
		if len(b) == 5 && b[4] == '\n' {
			b = b[:4] // recordings end each file with a newline
		}
		if len(b) != 4 {
			return ""
		}
		return strconv.FormatInt(int64(int32(binary.LittleEndian.Uint32(b))), 10) //nolint:gosec // the kernel's s32
	},
	encode: func(v string) []byte {
		us, _ := strconv.ParseUint(v, 10, 31)
		return binary.LittleEndian.AppendUint32(nil, uint32(us)) //nolint:gosec // parse has bounded it
	},
	show: func(_ Object, v string) string {
		if v == strconv.Itoa(qosNone) {
			return "no limit"
		}
		return v + " us"
	},
}

var resumeLatency = Setting{
	Name: "pm_qos_resume_latency_us", Title: "Longest wake-up of one CPU", Order: rankIdle,
	About: "The same bound as cpu_dma_latency, for single CPUs and without a program that holds it: only the CPUs that run a log writer, say. " +
		"The kernel writes 0 for no bound, and n/a for no delay at all.",
	Source:  "kernel documentation, ABI/testing/sysfs-devices-power",
	Values:  "microseconds, such as 70us; none; or n/a, which keeps the CPU polling",
	objects: perCPU("power/pm_qos_resume_latency_us", "the kernel takes no bound for single CPUs here"),
	parse: func(_ *System, _ Object, v string) (string, error) {
		switch v {
		case "none":
			return "0", nil
		case "n/a":
			return v, nil
		}
		n, err := micros(v, math.MaxInt32)
		if err == nil && n == 0 {
			return "", errors.New(`"0": the kernel means no bound by 0; expected none, or n/a for no delay at all`)
		}
		if err != nil {
			return "", fmt.Errorf("%w; none; or n/a", err)
		}
		return strconv.FormatUint(n, 10), nil
	},
	show: func(_ Object, v string) string {
		switch v {
		case "0":
			return "none"
		case "n/a":
			return v
		}
		return v + " us"
	},
}
