package setting

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/screen"
)

// qosNone is what cpu_dma_latency reads while nobody asks for less: 2000 s in us
// (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const qosNone = 2000000000

// idle holds the settings of idle states.
var idle = []Setting{
	{
		Name: "cstate_latency", Title: "Idle states, by their exit latency", Order: rankIdle,
		About: "Disables each idle state of each CPU that takes longer to leave than the bound, and leaves the others as they are. States are chosen by latency, " +
			"since the third of one processor is another's fifth. Shallow states are worth keeping: they leave power for the turbo of busy cores. " +
			"With all, every state is enabled.",
		Source: "kernel documentation, admin-guide/pm/cpuidle.rst; SAP notes 2205917, 2684254, 3577842, sapconf (70 us); 1656250 (C1 only)",
		// The first state, POLL, has no switch on kernels before 5.4 that does anything.
		File: cpuFiles + "cpuidle/state*/disable", Absent: "the kernel controls no idle states here", Takes: idleBound{},
		Advice: map[string]string{"IDL-001": "70us"},
		// tuned holds the limit while it runs, and states above it are not entered.
		Words: []Word{{Tool: "tuned", Option: "cpu/force_latency"}, {Tool: "saptune", Option: "cpu/force_latency"}},
	},
	{
		Name: "pm_qos_resume_latency_us", Title: "Longest wake-up of one CPU", Order: rankIdle,
		About: "The same bound as cpu_dma_latency, for single CPUs and without a program that holds it: only the CPUs that run a log writer, say. " +
			"The kernel writes 0 for no bound, and n/a for no delay at all.",
		Source: "kernel documentation, ABI/testing/sysfs-devices-power",
		File:   cpuFiles + "power/pm_qos_resume_latency_us", Absent: "the kernel takes no bound for single CPUs here",
		Takes: bound{least: 1, most: math.MaxInt32, words: map[string]string{"none": "0", "n/a": "n/a"}, expected: "; none; or n/a",
			shown: map[string]string{"0": "none"}, text: "microseconds, such as 70us; none; or n/a, which keeps the CPU polling"},
		Tries: []Try{{"70us", "70"}, {"n/a", ""}},
	},
	{
		Name: "cpu_dma_latency", Title: "Longest wake-up of any CPU, while held", Order: rankIdle, Held: true,
		About: "Asks the kernel to use no idle state that takes longer to leave, on all CPUs, for as long as hostlab runs: the request ends with the process, " +
			"so nothing can be left behind. The lowest of all programs' requests is in force, and is what reading shows.",
		Source: "kernel documentation, admin-guide/pm/cpuidle.rst and power/pm_qos_interface.rst; tuned sap-hana (70), mssql (5), latency-performance (3), postgresql (1)",
		File:   "/dev/cpu_dma_latency", Absent: "there is no /dev/cpu_dma_latency: the kernel controls no idle states, or a container hides it",
		Takes: bound{most: qosNone, binary: true, shown: map[string]string{strconv.Itoa(qosNone): "no limit"},
			text: "microseconds, such as 70us; 0 keeps CPUs polling, at full power"},
		Words: []Word{{Tool: "tuned", Option: "cpu/force_latency"}},
	},
}

// idleBound disables idle states that take longer to leave than a bound.
type idleBound struct{}

func (idleBound) levels(*System, Object) ([]string, error) { return []string{"0", "1"}, nil }

func (idleBound) parse(sys *System, o Object, v string) (string, error) {
	if v == "all" {
		return "0", nil
	}
	most, err := micros(v, math.MaxInt32)
	if err != nil {
		return "", fmt.Errorf("%w, or all", err)
	}
	latency, ok := sys.number(beside(o, "latency"))
	if !ok {
		return "", unsettable{fmt.Errorf("the exit latency of %s cannot be read", o.Name)}
	}
	if latency > int64(most) {
		return "1", nil
	}
	return sys.text(o.Path) // as it is
}

func (idleBound) spell(v string) (string, error) {
	if v == "all" {
		return v, nil
	}
	n, err := micros(v, math.MaxInt32)
	if err != nil {
		return "", fmt.Errorf("%w, or all", err)
	}
	return strconv.FormatUint(n, 10), nil
}

// inFile is what enables a state: only all is the same in each file.
func (idleBound) inFile(string, string) (string, error) { return "0", nil }

func (idleBound) show(_ Object, v string) string {
	switch v {
	case "0":
		return "enabled"
	case "1":
		return "disabled"
	}
	return v
}

func (idleBound) note(sys *System, o Object) string {
	name, err := sys.text(beside(o, "name"))
	latency, ok := sys.number(beside(o, "latency"))
	if err != nil || !ok {
		return ""
	}
	return fmt.Sprintf("%s, %d us", name, latency)
}

func (idleBound) describe() string { return "the longest exit latency allowed, such as 70us; or all" }

// bound is a time in microseconds, from least to most, or one of the words that stand for others.
type bound struct {
	anything
	least, most uint64
	words       map[string]string // to what the kernel writes
	expected    string            // the words in a message
	shown       map[string]string // what the kernel's values are called; others get their unit
	text        string            // describes it
	binary      bool              // the file holds the number in four bytes
}

func (k bound) parse(_ *System, _ Object, v string) (string, error) { return k.spell(v) }

func (k bound) spell(v string) (string, error) {
	if w, ok := k.words[v]; ok {
		return w, nil
	}
	n, err := micros(v, k.most)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w%s", err, k.expected)
	case n < k.least:
		return "", fmt.Errorf("%q: the kernel means no bound by 0; expected none, or n/a for no delay at all", v)
	}
	return strconv.FormatUint(n, 10), nil
}

func (k bound) show(_ Object, v string) string { return cmp.Or(k.shown[v], withUnit(v, "us")) }

func (k bound) describe() string { return k.text }

func (k bound) decode(b []byte) string {
	if !k.binary {
		return Value(b)
	}
	if len(b) == 5 && b[4] == '\n' {
		b = b[:4] // recordings end each file with a newline
	}
	if len(b) != 4 {
		return ""
	}
	return strconv.FormatInt(int64(int32(binary.LittleEndian.Uint32(b))), 10) //nolint:gosec // the kernel's s32
}

func (k bound) encode(v string) []byte {
	if !k.binary {
		return []byte(v)
	}
	us, _ := strconv.ParseUint(v, 10, 31)
	return binary.LittleEndian.AppendUint32(nil, uint32(us)) //nolint:gosec // parse has bounded it
}

// micros takes a time in microseconds, or with its unit (70us, 0.1ms), from 0 to most.
func micros(v string, most uint64) (uint64, error) {
	bad := fmt.Errorf("%q: expected microseconds, as 70us, from 0 to %d", screen.Short(v), most)
	t := strings.ReplaceAll(v, " ", "")
	if n, err := strconv.ParseUint(t, 10, 64); err == nil {
		t = strconv.FormatUint(n, 10) + "us"
	}
	d, err := time.ParseDuration(t)
	if err != nil || d < 0 || d%time.Microsecond != 0 || uint64(d/time.Microsecond) > most {
		return 0, bad
	}
	return uint64(d / time.Microsecond), nil
}
