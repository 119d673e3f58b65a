package setting

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

const (
	irqDir  = host.IRQDir + "/"
	irqList = "smp_affinity_list"
)

// interrupts holds the setting of the CPUs that serve devices. Those of disks are not in it: the drivers of NVMe and
// virtio leave theirs to the kernel, which refuses to move them.
var interrupts = []Setting{
	{
		Name: "irq_affinity", Title: "CPUs that serve network cards' interrupts", Order: rankBlock,
		About: "At which CPUs the interrupts of network cards may arrive, one object for each interrupt. The CPU that takes " +
			"one also does the work for its packets, and a service on that CPU waits meanwhile. Caches are warm where both " +
			"are on CPUs of one node. irqbalance moves interrupts every ten seconds, so that nothing is set while it runs. The kernel " +
			"itself keeps those that it manages, as of NVMe disks.",
		Source: "kernel documentation, core-api/irq/irq-affinity.rst and networking/scaling.rst",
		Values: "a list of CPUs, such as 0-3; name an interrupt: irq_affinity@24=0",
		File:   irqDir + "*/" + irqList,
		Absent: "no network card has an interrupt that shows here, as in a container's own network or on Hyper-V",
		Takes:  cpuList{}, against: irqbalance,
		refusals: []refusal{
			{syscall.EIO, managed}, {syscall.EPERM, managed},
			{syscall.EINVAL, "none of these CPUs can take it"},
			{syscall.ENOSPC, "these CPUs have no vector left for it"},
		},
	},
}

// managed is what the kernel means by EIO, and newer ones by EPERM (kernel/irq/proc.c, write_irq_affinity).
const managed = "the kernel keeps this interrupt where it is, since it manages it or its hardware cannot move it"

// cards are the names of directories below irqDir whose interrupts are of network cards.
func cards(sys *System) (names []string) {
	for _, i := range host.Interrupts(func(dir string) []string {
		list, _ := sys.FS.ReadDir(dir)
		return list
	}) {
		names = append(names, strconv.Itoa(i.Number))
	}
	return names
}

// irqbalance refuses what irqbalance would undo within its ten seconds.
func irqbalance(sys *System, step Step, all steps) error {
	changed := func(s Step) bool { return s.Setting == step.Setting && s.From != s.To }
	if i := slices.IndexFunc(all, changed); i < 0 || all[i].Path != step.Path { // one look is enough for all
		return nil
	}
	for _, pid := range sys.numbered("/proc", "") {
		if name, err := sys.text("/proc/" + pid + "/comm"); err == nil && name == "irqbalance" && sys.ofRoot(pid) {
			return fmt.Errorf("%s would not stay: irqbalance (PID %s) moves interrupts every ten seconds; stop it meanwhile: "+
				"sudo systemctl stop irqbalance", step.Setting, pid)
		}
	}
	return nil
}

// ofRoot reports a process that acts as root. Anybody may call a process as they like, and only root's moves
// interrupts.
func (sys *System) ofRoot(pid string) bool {
	status, _ := sys.text("/proc/" + pid + "/status")
	return host.EffectiveUser(status) == "0"
}

// cpuList is some CPUs, as the kernel writes them.
type cpuList struct{ anything }

func (k cpuList) parse(sys *System, _ Object, v string) (string, error) {
	to, err := k.spell(v)
	if err != nil {
		return "", err
	}
	online, err := sys.text(cpuDir + "/online")
	there, unread := host.ParseList(online)
	if err != nil || unread != nil {
		return "", unsettable{errors.New("the CPUs that are online cannot be read")}
	}
	asked, _ := host.ParseList(to)
	for _, cpu := range asked {
		if !slices.Contains(there, cpu) {
			return "", fmt.Errorf("%q: CPU %d is not online; those are %s", screen.Short(v), cpu, host.FormatList(there))
		}
	}
	return to, nil
}

func (k cpuList) spell(v string) (string, error) {
	list, err := host.ParseList(strings.TrimSpace(v))
	if err != nil || len(list) == 0 {
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), k.describe())
	}
	slices.Sort(list)
	return host.FormatList(slices.Compact(list)), nil
}

// inFile refuses profiles: they are for later boots.
func (cpuList) inFile(string, string) (string, error) {
	return "", errors.New("interrupts have other numbers after a boot")
}

func (cpuList) describe() string { return "a list of CPUs, such as 0-3" }
