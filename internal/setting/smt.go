package setting

import (
	"errors"
	"fmt"
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
		About: "Takes single CPUs offline and back. What runs on a CPU that goes offline is moved; programs pinned to it " +
			"alone lose their affinity. " +
			"Some files below a CPU's folder vanish while it is offline. CPU 0 can often not be taken away and then has no " +
			"such file.",
		Source: "kernel documentation, core-api/cpu_hotplug.rst",
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
		About: "off takes all but one thread of each core offline; on brings them back. Threads, affinities and settings " +
			"of CPUs that go offline are moved or lost: " +
			"pinned programs may need a restart. on also brings back CPUs that were taken offline by hand; hostlab remembers " +
			"those. forceoff is never offered, because it cannot be undone.",
		Source: "kernel documentation, ABI/testing/sysfs-devices-system-cpu (smt/control)",
		File:   smtControl, Absent: "this kernel cannot switch SMT", Takes: smtSwitch{},
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
