package setting

import (
	"errors"
	"fmt"
	"path"
	"slices"
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

var smt = Setting{
	Name: "smt", Title: "Hyper-threading (SMT)", Order: rankSMT,
	About: "off takes all but one thread of each core offline; on brings them back. Threads, affinities and settings of CPUs that go offline are moved or lost: " +
		"pinned programs may need a restart. on brings back also CPUs that somebody had taken offline by hand; hostlab remembers those. " +
		"forceoff is never offered, because it cannot be undone.",
	Source:  "kernel documentation, ABI/testing/sysfs-devices-system-cpu (smt/control)",
	Values:  "on or off",
	objects: single(smtControl, "this kernel cannot switch SMT"),
	levels: func(sys *System, o Object) ([]string, error) {
		now, err := sys.text(o.Path)
		if err != nil {
			return nil, err
		}
		if why := smtWhy[now]; why != "" {
			return []string{}, errors.New(why)
		}
		return []string{"on", "off"}, nil
	},
	parse: func(sys *System, o Object, v string) (string, error) {
		if v == "forceoff" {
			return "", errors.New(`"forceoff": cannot be undone before a reboot; off can`)
		}
		now, err := sys.text(o.Path)
		w, bad := onOff(v)
		if bad != nil {
			return "", bad
		}
		if why := smtWhy[now]; err == nil && why != "" {
			return "", unsettable{errors.New(why)}
		}
		return map[string]string{"1": "on", "0": "off"}[w], nil
	},
	note: func(sys *System, o Object) string {
		now, _ := sys.text(o.Path)
		return smtWhy[now]
	},
	disturbs: func(sys *System, _ Object, _ string) (list []Side, err error) {
		cpus, _ := cpuOnline.objects(sys)
		for _, o := range cpus {
			list = append(list, Side{Setting: "cpu_online", Object: o, Becomes: []string{"0", "1"}})
		}
		return list, nil
	},
	refused: func(_ *System, _ Object, _ string, err error) string {
		if errors.Is(err, syscall.EPERM) {
			return "SMT was switched off for good (forceoff)"
		}
		return ""
	},
}

var cpuOnline = Setting{
	Name: "cpu_online", Title: "CPUs that are online", Order: rankCPU,
	About: "Takes single CPUs offline and back. What runs on a CPU that goes offline is moved; programs pinned to it alone lose their affinity. " +
		"Some files below a CPU's folder vanish while it is offline. CPU 0 can often not be taken away and then has no such file.",
	Source:  "kernel documentation, core-api/cpu_hotplug.rst",
	Values:  "on or off; name the CPU: cpu_online@cpu3=off",
	objects: perCPU("online", "no CPU can be taken offline here"),
	levels:  fixed("1", "0"),
	parse:   func(_ *System, _ Object, v string) (string, error) { return onOff(v) },
	against: siblingWithoutSMT,
	absent: func(sys *System, name string) string {
		if !slices.Contains(sys.numbered(cpuDir, "cpu"), name) {
			return ""
		}
		return name + " cannot go offline here"
	},
	show: func(_ Object, v string) string {
		switch v {
		case "1":
			return "on"
		case "0":
			return "off"
		}
		return v
	},
	refused: func(_ *System, _ Object, _ string, err error) string {
		switch {
		case errors.Is(err, syscall.EPERM):
			return "it is a sibling, and SMT is off: set smt=on first"
		case errors.Is(err, syscall.EBUSY):
			return "the last CPU of its kind, or one that the kernel needs, stays online"
		}
		return ""
	},
}

// siblingWithoutSMT refuses to bring a sibling online while SMT is off, or is to be, as the kernel
// would. Who its siblings are an offline CPU does not tell: then the kernel is asked.
func siblingWithoutSMT(sys *System, step Step, all steps) error {
	control, both := all.value("smt", "")
	if !both {
		control, _ = sys.text(smtControl)
	}
	if step.To != "1" || control != "off" || !both && step.From == step.To {
		return nil
	}
	cpu := step.Object.Name
	first := firstSibling(sys, cpu)
	if first == "" || first == cpu {
		return nil
	}
	if both {
		return fmt.Errorf("smt=off and %s=on exclude each other: %s is a sibling of %s, which smt=off takes offline; set one of them", "cpu_online@"+cpu, cpu, first)
	}
	return fmt.Errorf("%s cannot be on: it is a sibling of %s, and SMT is off; set smt=on with it", label("cpu_online", cpu), first)
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
