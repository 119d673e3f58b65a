// Package cpus chooses CPUs: by sets as people type them, such as affinity masks and
// lists; by words that mean the same on every host, such as one thread of each core;
// and by what they share with another CPU. It changes nothing.
package cpus

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
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

// groupSize is how many CPUs a group has: those of a Windows processor group. On
// Linux group g is CPUs 64 g to 64 g + 63.
const groupSize = 64

// maxCPUs bounds the numbers of CPUs: Linux has at most 8192 (CONFIG_NR_CPUS on x86,
// 6.12), and Windows fewer.
const maxCPUs = 8192

// Syntax tells people how sets are written, in lines of at most 80 columns.
const Syntax = `Name CPUs in one of these ways, or join several with +:
  8, 0xff     a plain number is a mask, as in the program of 2005: 8 is CPU 3
  0-3,8       anything with - or , is a list of CPU numbers
  cpu:3       a list too, for a single CPU
  1:0xff      group:mask, for CPUs beyond 63: group 1 is CPUs 64 to 127`

// ParseSet reads a set and returns its CPUs, rising, none twice. Syntax says how they
// are written. An error says what is wrong, and does not repeat the whole text.
func ParseSet(text string) ([]int, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty; is a variable unset?")
	}
	var out []int
	for part := range strings.SplitSeq(text, "+") {
		cpus, err := parsePart(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, cpus...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parsePart(part string) ([]int, error) {
	if list, ok := strings.CutPrefix(part, "cpu:"); ok {
		return parseList(list)
	}
	if group, mask, ok := strings.Cut(part, ":"); ok {
		g, err := strconv.ParseUint(group, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q: expected group:mask, such as 1:0xff, or cpu:list", screen.Short(part))
		}
		if g >= maxCPUs/groupSize {
			return nil, fmt.Errorf("group %d: there are at most %d groups, of %d CPUs each", g, maxCPUs/groupSize, groupSize)
		}
		return parseMask(mask, int(g))
	}
	if strings.ContainsAny(part, "-,") {
		return parseList(part)
	}
	return parseMask(part, 0)
}

func parseList(text string) ([]int, error) {
	// The kernel's own lists may also have steps, as in 0-10:2/4. Their colon would
	// make it hard to see what is a group.
	cpus, err := host.ParseList(text)
	if err != nil || len(cpus) == 0 || strings.Contains(text, ":") {
		return nil, fmt.Errorf("%q: expected CPU numbers such as 0-3,8", screen.Short(text))
	}
	if most := slices.Max(cpus); most >= maxCPUs {
		return nil, fmt.Errorf("CPU %d: CPUs are numbered from 0 to at most %d", most, maxCPUs-1)
	}
	return cpus, nil
}

func parseMask(text string, group int) ([]int, error) {
	digits, base := text, 10
	if len(text) > 1 && (text[:2] == "0x" || text[:2] == "0X") {
		digits, base = text[2:], 16
	}
	mask, err := strconv.ParseUint(digits, base, groupSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, fmt.Errorf("%q: a mask has %d CPUs; for those beyond write a list such as 64-71, or group:mask",
			screen.Short(text), groupSize)
	case err != nil:
		if _, hex := strconv.ParseUint(text, 16, groupSize); hex == nil {
			return nil, fmt.Errorf("%q: a mask in hexadecimal begins with 0x", screen.Short(text))
		}
		return nil, fmt.Errorf("%q: expected a mask such as 8 or 0xff, a list such as 0-3, or group:mask", screen.Short(text))
	case mask == 0:
		return nil, fmt.Errorf("mask %s has no CPU in it; a plain number is a mask, and CPU 0 by its number is cpu:0",
			screen.Short(text))
	}
	var cpus []int
	for ; mask != 0; mask &= mask - 1 {
		cpus = append(cpus, group*groupSize+bits.TrailingZeros64(mask))
	}
	return cpus, nil
}

// Affinity writes the mask of one CPU as the program of 2005 prints it: eight
// hexadecimal digits or more, with the group in front where that is not 0.
func Affinity(cpu int) string {
	mask := fmt.Sprintf("%08X", uint64(1)<<(cpu%groupSize))
	if g := cpu / groupSize; g > 0 {
		return fmt.Sprintf("%d:%s", g, mask)
	}
	return mask
}

// Named writes a rising set for a sentence: CPU 3, or CPUs 0-3,8.
func Named(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	return "CPUs " + host.FormatList(cpus)
}
