package host

import (
	"fmt"
	"syscall"

	"github.com/prometheus/procfs"
)

func readKernel(t Tree) Kernel {
	k := Kernel{
		Mitigations: readMitigations(t),
		Sem:         Convert(t.Text("/proc/sys/kernel/sem"), "", parseSem),
		PressureCPU: readPressure(t, "cpu"),
		PressureIO:  readPressure(t, "io"),
	}
	fill(t, "", &k)
	return k
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
	sem, err := parseInts(s)
	if err != nil || len(sem) != 4 {
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
