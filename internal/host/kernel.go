package host

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

func readKernel(t Tree) Kernel {
	const clock = "/sys/devices/system/clocksource/clocksource0/"
	return Kernel{
		Cmdline:       t.Text("/proc/cmdline"),
		Clocksource:   notEmpty(t.Text(clock + "current_clocksource")),
		Clocksources:  notEmpty(t.Text(clock + "available_clocksource")),
		Mitigations:   readMitigations(t),
		Sem:           Convert(t.Text("/proc/sys/kernel/sem"), "", parseSem),
		PIDMax:        t.Int("/proc/sys/kernel/pid_max", "", 1),
		AIOMaxNr:      readUint(t, "/proc/sys/fs/aio-max-nr", ""),
		NVMeIOTimeout: readUint(t, "/sys/module/nvme_core/parameters/io_timeout", "s"),
		TunedProfile:  notEmpty(t.Text("/etc/tuned/active_profile")),
		PressureCPU:   readPressure(t, "cpu"),
		PressureIO:    readPressure(t, "io"),
	}
}

func readMitigations(t Tree) []Mitigation {
	const dir = "/sys/devices/system/cpu/vulnerabilities"
	names, _ := t.Dir(dir)
	list := make([]Mitigation, 0, len(names))
	for _, n := range names {
		list = append(list, Mitigation{Name: n, Text: t.Text(dir + "/" + n)})
	}
	return list
}

func parseSem(s string) ([]int, error) {
	words := strings.Fields(s)
	sem := make([]int, 0, 4)
	for _, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil {
			break
		}
		sem = append(sem, v)
	}
	if len(words) != 4 || len(sem) != 4 {
		return nil, fmt.Errorf("expected four numbers, found %s", clip(s))
	}
	return sem, nil
}

// readPressure reads the share of the last minute in which some task waited for
// a resource (Documentation/accounting/psi.rst).
func readPressure(t Tree, resource string) Fact[float64] {
	file := "/proc/pressure/" + resource
	f := unmask(t, procFact(t, file, func(p procfs.FS) (float64, error) {
		s, err := p.PSIStatsForResource(resource)
		if err != nil {
			return 0, err
		}
		if s.Some == nil || !(s.Some.Avg60 >= 0 && s.Some.Avg60 <= 100) {
			return 0, fmt.Errorf("no line some with a percentage")
		}
		return s.Some.Avg60 / 100, nil
	}))
	switch {
	case f.State != StateOK && f.Reason == syscall.EOPNOTSUPP.Error():
		// The files are there, but accounting was not switched on at boot.
		f.State, f.Reason = StateAbsent, "pressure accounting is off; the kernel option psi=1 turns it on"
	case f.State == StateAbsent:
		f.Reason = "the kernel does not account pressure (CONFIG_PSI)"
	}
	return f
}
