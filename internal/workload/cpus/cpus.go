// Package cpus chooses the CPUs that a workload's threads may use, and how many
// threads it has, by words that mean the same on every host: all CPUs or one thread
// of each core, as many threads as the host has or as it has cores. It changes
// nothing but the affinity of the workload's own threads, which takes no privilege.
package cpus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/placement"
	"hostlab/internal/spelling"
	"hostlab/internal/workload"
)

// The words of a parameter that says which CPUs.
const (
	All        = "all"          // that this process may use
	OnePerCore = "one-per-core" // the first of those, of each core
)

// The words of a parameter that says how many threads.
const (
	Threads = "threads" // as many as CPUs that this process may use
	Cores   = "cores"   // as many as those have cores
)

// Most is the most threads that a workload may have.
const Most = 4096

// Param is the parameter that says which CPUs.
func Param() workload.Param {
	return workload.Param{Name: "cpus", Kind: workload.String, Default: All,
		Help: "all that this process may use, one-per-core of these (one thread of each core), or a list such as 0-3,8"}
}

// CountParam is a parameter that says how many threads.
func CountParam(name, fallback, help string) workload.Param {
	return workload.Param{Name: name, Kind: workload.String, Default: fallback, Numbers: true,
		Help: help + ": a number, threads (as many as the CPUs that this process may use) or cores (one for each of their cores)"}
}

// Host is what there is to choose from.
type Host struct {
	Allowed  []int   // CPUs that this process may use, ascending
	Cores    [][]int // the same by core, in the order of their first; one each where Reported is false
	Reported bool    // the system says which CPUs share a core
	Measured bool    // it does not report that two of them do, but a measurement says so
	Places   *placement.Machine
}

// Of is the choice on a machine.
func Of(m workload.Machine) Host {
	h := Host{Allowed: m.Allowed, Places: placement.New(m.Topology, m.Allowed, nil)}
	siblings := map[int][]int{}
	if m.Topology != nil {
		for _, c := range m.Topology.CPUs {
			if l, ok := c.Siblings.Get(); ok {
				siblings[c.ID], h.Reported = l, true
			}
		}
	}
	core := map[int]int{} // CPU -> index in Cores
	for _, cpu := range m.Allowed {
		i, known := core[cpu]
		if !known {
			i = len(h.Cores)
			h.Cores = append(h.Cores, nil)
			for _, sibling := range siblings[cpu] {
				core[sibling] = i
			}
		}
		h.Cores[i] = append(h.Cores[i], cpu)
	}
	h.Measured = !h.SMT() && len(m.Measured) > 0
	return h
}

// SMT reports whether a core has two threads that this process may use.
func (h Host) SMT() bool { return len(h.Cores) < len(h.Allowed) }

// OnePerCore is the first CPU of each core.
func (h Host) OnePerCore() (out []int) {
	for _, c := range h.Cores {
		out = append(out, c[0])
	}
	return out
}

// Choose is the CPUs of a parameter's text, ascending. The error is a
// *workload.ParamError.
func (h Host) Choose(param, text string) ([]int, error) {
	switch text {
	case All:
		return slices.Clone(h.Allowed), nil
	case OnePerCore:
		return h.OnePerCore(), nil
	}
	list, err := List(param, text)
	if err != nil {
		return nil, err
	}
	if gone := h.missing(list); gone != "" {
		return nil, &workload.ParamError{Name: param, Text: gone, Hint: "`hostlab facts` lists those that are there"}
	}
	return list, nil
}

func (h Host) missing(list []int) string {
	for _, c := range list {
		if !slices.Contains(h.Allowed, c) {
			return fmt.Sprintf("CPU %d: offline, or not among the CPUs this process may use", c)
		}
	}
	return ""
}

// Count is the number of threads of a parameter's text, at least 1. The error is a
// *workload.ParamError.
func (h Host) Count(param, text string) (int, error) {
	switch text {
	case Threads:
		return max(1, len(h.Allowed)), nil
	case Cores:
		return max(1, len(h.Cores)), nil
	}
	return number(param, text)
}

// Check tells of a text for Choose what is known without a host. The error is a
// *workload.ParamError.
func Check(param, text string) error {
	if text == All || text == OnePerCore {
		return nil
	}
	_, err := List(param, text)
	return err
}

// CheckCount is Check for Count.
func CheckCount(param, text string) error {
	if text == Threads || text == Cores {
		return nil
	}
	_, err := number(param, text)
	return err
}

// List reads a list of CPUs, ascending. The error is a *workload.ParamError.
func List(param, text string) ([]int, error) {
	const hint = "write all, one-per-core, or a list such as 0-3,8"
	wrong := func(text, hint string) error { return &workload.ParamError{Name: param, Text: text, Hint: hint} }
	list, err := host.ParseList(text)
	if err != nil {
		if near := spelling.Meant(text, []string{All, OnePerCore}); near != "" {
			return nil, wrong(fmt.Sprintf("%q names no CPUs", text), "did you mean "+near+"?")
		}
		return nil, wrong(err.Error(), hint)
	}
	slices.Sort(list)
	for i, c := range list {
		if i > 0 && list[i-1] == c {
			return nil, wrong(fmt.Sprintf("CPU %d is there twice", c), hint)
		}
	}
	if len(list) == 0 || len(list) > Most {
		return nil, wrong(fmt.Sprintf("%q names %d CPUs, and it takes 1 to %d", text, len(list), Most), hint)
	}
	return list, nil
}

func number(param, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		hint := "write a number, threads or cores"
		if near := spelling.Meant(text, []string{Threads, Cores}); near != "" {
			hint = "did you mean " + near + "?"
		}
		return 0, &workload.ParamError{Name: param, Text: fmt.Sprintf("%q is no number of threads", text), Hint: hint}
	}
	if n < 1 || n > Most {
		return 0, &workload.ParamError{Name: param, Text: fmt.Sprintf("%d is outside of 1 to %d", n, Most)}
	}
	return n, nil
}
