// Package cpus chooses CPUs: by sets as people type them, such as affinity masks and
// lists; by words that mean the same on every host, such as one thread of each core;
// and by what they share with another CPU. It changes nothing.
package cpus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/thread"
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

// Placed is embedded by workloads with parameters that say which CPUs, by the name cpus, and
// how many threads.
type Placed struct{}

// Offers implements workload.Offering.
func (Placed) Offers(_ workload.Config, param string, levels []string, m workload.Machine) map[string]string {
	if param == "cpus" {
		return Of(m).Offers(levels)
	}
	return Of(m).alike(levels, Threads, Cores)
}

// Machine implements workload.Offering.
func (Placed) Machine(_ workload.Config, m workload.Machine) result.Machine {
	here := Of(m)
	return result.Machine{CPUs: len(here.ids), Cores: len(here.Cores())}
}

// Of is the machine of a workload's levels. What was measured counts only as a hint:
// nothing measures again before a run.
func Of(w workload.Machine) *Machine {
	m := New(w.Topology, w.Allowed, nil)
	m.hidden = !m.SMT() && len(w.Measured) > 0
	return m
}

// Here is the choice on this host, as it is now: a setting may have switched CPUs
// off since it was asked last.
func Here(ctx context.Context) (*Machine, error) {
	allowed, err := thread.Allowed()
	if err != nil {
		return nil, err
	}
	return Of(workload.Machine{Topology: host.CPUs(ctx), Allowed: allowed}), nil
}

// Unusable puts an error of a worker that could not use a CPU in a study's words, and
// leaves any other as it is.
func Unusable(param string, err error) error {
	if errors.Is(err, thread.ErrNoCPU) {
		return workload.Wrong(param, err.Error(), facts)
	}
	return err
}

const facts = "'hostlab facts' lists those that are there"

// SMT reports whether a core has two threads that this process may use.
func (m *Machine) SMT() bool { return len(m.Cores()) < len(m.ids) }

// Choose is the CPUs of a parameter's text, ascending. The error is a
// *workload.ParamError.
func (m *Machine) Choose(param, text string) ([]int, error) {
	switch text {
	case All:
		return slices.Clone(m.ids), nil
	case OnePerCore:
		var first []int
		for _, core := range m.Cores() {
			first = append(first, core[0])
		}
		return first, nil
	}
	list, err := List(param, text)
	if err != nil {
		return nil, err
	}
	if gone := m.missing(list); gone != "" {
		return nil, workload.Wrong(param, gone, facts)
	}
	return list, nil
}

func (m *Machine) missing(list []int) string {
	for _, c := range list {
		if !m.Has(c) {
			return fmt.Sprintf("CPU %d: offline, or not among the CPUs this process may use", c)
		}
	}
	return ""
}

// Count is the number of threads of a parameter's text, at least 1. The error is a
// *workload.ParamError.
func (m *Machine) Count(param, text string) (int, error) {
	switch text {
	case Threads:
		return max(1, len(m.ids)), nil
	case Cores:
		return max(1, len(m.Cores())), nil
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
	wrong := func(text, hint string) error { return workload.Wrong(param, text, hint) }
	list, err := host.ParseList(text)
	if err != nil {
		if near := screen.Meant(text, []string{All, OnePerCore}); near != "" {
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
		if near := screen.Meant(text, []string{Threads, Cores}); near != "" {
			hint = "did you mean " + near + "?"
		}
		return 0, workload.Wrong(param, fmt.Sprintf("%q is no number of threads", text), hint)
	}
	if n < 1 || n > Most {
		return 0, workload.Wrong(param, fmt.Sprintf("%d is outside of 1 to %d", n, Most), "")
	}
	return n, nil
}

// NoSMT is why a level that needs two threads of a core cannot be had, in a phrase,
// or "".
func (m *Machine) NoSMT() string {
	switch {
	case m.SMT():
		return ""
	case m.hidden:
		return "this system reports no two CPUs of one core, though a measurement says that some are; list CPUs to choose them"
	case len(m.reported) == 0:
		return "this system does not say which CPUs share a core"
	}
	return "no core has two threads here"
}

// Offers says of levels of a parameter that says which CPUs why they cannot be had:
// see workload.Offering. Without SMT the levels all and one-per-core are one: it
// leaves the first of the two.
func (m *Machine) Offers(levels []string) map[string]string {
	out := m.alike(levels, All, OnePerCore)
	for _, l := range levels {
		if list, err := List("cpus", l); err == nil {
			if gone := m.missing(list); gone != "" {
				out[l] = gone
			}
		}
	}
	return out
}

// alike has the later of two levels that differ by SMT alone, where there is none.
func (m *Machine) alike(levels []string, a, b string) map[string]string {
	out := map[string]string{}
	why, first := m.NoSMT(), ""
	for _, l := range levels {
		if why == "" || l != a && l != b {
			continue
		}
		if first != "" {
			out[l] = why
		}
		first = l
	}
	return out
}

// Notes are warnings about words that say less here than they seem to: of which CPUs, and of the degree.
func (m *Machine) Notes(which, degree string) (out []string) {
	why := m.NoSMT()
	if why != "" && which == OnePerCore {
		out = append(out, "cpus one-per-core is the same as all: "+why)
	}
	if why != "" && degree == Cores {
		out = append(out, "degree cores is the same as threads: "+why)
	}
	return out
}
