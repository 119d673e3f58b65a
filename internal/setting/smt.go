package setting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"syscall"
)

const smtControl = cpuDir + "/smt/control"

// smtWhy says why SMT cannot be switched, by what smt/control reads.
var smtWhy = map[string]string{
	"forceoff":       "SMT was switched off for good (forceoff, or nosmt=force at boot); only a reboot brings it back",
	"notsupported":   "the processor, or what the hypervisor shows of it, has no SMT",
	"notimplemented": "this kernel cannot switch SMT",
}

// cpus holds the settings that take CPUs away.
var cpus = []Setting{
	{
		Name: "cpu_online", Title: "CPUs that are online", Order: rankCPU,
		Values: "on or off; name the CPU: cpu_online@cpu3=off",
		File:   cpuFiles + "online", Absent: "no CPU can be taken offline here", Takes: onOff{}, against: siblingWithoutSMT,
		refusals: []refusal{
			{syscall.EPERM, "it is a sibling, and SMT is off: set smt=on first"},
			{syscall.EBUSY, "the last CPU of its kind, or one that the kernel needs, stays online"},
		},
		Named: "name the CPU: cpu_online@cpu3=off",
	},
	{
		Name: "smt", Title: "Hyper-threading (SMT)", Order: rankSMT,
		File: smtControl, Absent: "this kernel cannot switch SMT", Takes: smtSwitch{},
		Moves:    []Move{{Setting: "cpu_online", Becomes: []string{"0", "1"}}},
		refusals: []refusal{{syscall.EPERM, "SMT was switched off for good (forceoff)"}},
	},
}

// smtSwitch is on or off, where the kernel can switch.
type smtSwitch struct{ anything }

func (smtSwitch) levels(sys *System, o Object) ([]string, error) {
	now, err := sys.text(o.Path)
	if err != nil {
		return nil, err
	}
	if why := smtWhy[now]; why != "" {
		return []string{}, errors.New(why)
	}
	return []string{"on", "off"}, nil
}

func (k smtSwitch) parse(sys *System, o Object, v string) (string, error) {
	w, err := k.spell(v)
	if now, unread := sys.text(o.Path); err == nil && unread == nil && smtWhy[now] != "" {
		return "", unsettable{errors.New(smtWhy[now])}
	}
	return w, err
}

func (smtSwitch) spell(v string) (string, error) {
	if v == "forceoff" {
		return "", errors.New(`"forceoff": cannot be undone before a reboot; off can`)
	}
	w, err := onOff{}.spell(v)
	return map[string]string{"1": "on", "0": "off"}[w], err
}

func (smtSwitch) note(sys *System, o Object) string {
	now, _ := sys.text(o.Path)
	return smtWhy[now]
}

func (smtSwitch) describe() string { return "on or off" }

// siblingWithoutSMT refuses to bring a sibling online while SMT is off, or is to be, as the kernel
// would. An offline CPU does not name its siblings: then the kernel is asked.
func siblingWithoutSMT(sys *System, step Step, all steps) error {
	control, both := all.value("smt", "")
	if !both {
		control, _ = sys.text(smtControl)
	}
	if step.To != "1" || control != "off" || !both && step.From == step.To {
		return nil
	}
	cpu := step.Name
	first := firstSibling(sys, cpu)
	if first == "" || first == cpu {
		return nil
	}
	if both {
		return fmt.Errorf("smt=off and %s=on exclude each other: %s is a sibling of %s, which smt=off takes offline; "+
			"set one of them", "cpu_online@"+cpu, cpu, first)
	}
	return fmt.Errorf("%s cannot be on: it is a sibling of %s, and SMT is off; set smt=on with it",
		Label("cpu_online", cpu), first)
}

// firstSibling is the thread of a CPU's core that stays when SMT is off; "" unknown.
func firstSibling(sys *System, cpu string) string {
	list, err := sys.text(path.Join(cpuDir, cpu, "topology/thread_siblings_list"))
	if err != nil {
		return ""
	}
	n := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '-' }) // rising: "0,4" or "0-1"
	if len(n) == 0 {
		return ""
	}
	if _, err := strconv.ParseUint(n[0], 10, 32); err != nil {
		return ""
	}
	return "cpu" + n[0]
}

// qosNone is what cpu_dma_latency reads while nobody asks for less: 2000 s in us
// (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const qosNone = 2000000000

// idle holds the settings of idle states.
var idle = []Setting{
	{
		Name: "cstate_latency", Title: "Idle states, by their exit latency", Order: rankIdle,
		Effect: "idle CPUs draw more power",
		// The first state, POLL, has no switch on kernels before 5.4 that does anything.
		File: cpuFiles + "cpuidle/state*/disable", Absent: "the kernel controls no idle states here",
		Takes: idleBound{quantity{hi: math.MaxInt32, unit: "us", names: map[string]string{"all": "all"},
			text: "the longest exit " +
				"latency allowed, such as 70us; or all"}},
		Advice: map[string]string{"IDL-001": "70us"},
		// tuned holds the limit while it runs, and states above it are not entered.
		Words: []Word{{Tool: "tuned", Option: "cpu/force_latency"}, {Tool: "saptune", Option: "cpu/force_latency"}},
	},
	{
		Name: "pm_qos_resume_latency_us", Title: "Longest wake-up of one CPU", Order: rankIdle,
		File: cpuFiles + "power/pm_qos_resume_latency_us", Absent: "the kernel takes no bound for single CPUs here",
		Takes: quantity{lo: 1, hi: math.MaxInt32, unit: "us", names: map[string]string{"none": "0", "n/a": "n/a"},
			shown: map[string]string{"0": "none"},
			text: "microseconds, such as 70us, but not 0, which the kernel takes for none; none; or n/a, which keeps the CPU " +
				"polling"},
		Tries: []Try{{"70us", "70"}, {"n/a", ""}},
	},
	{
		Name: "cpu_dma_latency", Title: "Longest wake-up of any CPU, while held", Order: rankIdle, Held: true,
		File: "/dev/cpu_dma_latency", Absent: "there is no /dev/cpu_dma_latency: the kernel controls no idle states, or a " +
			"container hides it",
		Takes: quantity{hi: qosNone, unit: "us", binary: true, shown: map[string]string{strconv.Itoa(qosNone): "no limit"},
			text: "microseconds, such as 70us; 0 keeps CPUs polling, at full power"},
		Words: []Word{{Tool: "tuned", Option: "cpu/force_latency"}},
	},
}

// idleBound disables idle states that take longer to leave than a bound.
type idleBound struct{ quantity }

func (idleBound) levels(*System, Object) ([]string, error) { return []string{"0", "1"}, nil }

func (k idleBound) parse(sys *System, o Object, v string) (string, error) {
	most, err := k.spell(v)
	if err != nil {
		return "", err
	}
	if most == "all" {
		return "0", nil
	}
	latency, ok := sys.number(beside(o, "latency"))
	if !ok {
		return "", unsettable{fmt.Errorf("the exit latency of %s cannot be read", o.Name)}
	}
	if bound, _ := strconv.ParseInt(most, 10, 64); latency > bound {
		return "1", nil
	}
	return sys.text(o.Path) // as it is
}

// inFile is what enables a state: only all is the same in each file.
func (idleBound) inFile(string, string) (string, error) { return "0", nil }

func (idleBound) show(_ Object, v string) string {
	return cmp.Or(map[string]string{"0": "enabled", "1": "disabled"}[v], v)
}

func (idleBound) note(sys *System, o Object) string {
	name, err := sys.text(beside(o, "name"))
	latency, ok := sys.number(beside(o, "latency"))
	if err != nil || !ok {
		return ""
	}
	return fmt.Sprintf("%s, %d us", name, latency)
}
