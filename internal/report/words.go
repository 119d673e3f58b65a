package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// verdictWords are the verdicts as people read them.
var verdictWords = map[lever.Verdict]string{
	lever.Worthwhile:  "worthwhile",
	lever.NoEffect:    "no effect",
	lever.Unresolved:  "not decided",
	lever.Recommended: "recommended",
	lever.Settled:     "settled",
	lever.Untestable:  "not testable",
	lever.NotForRole:  "not for role",
	lever.NotHere:     "not here",
}

func verdictWord(v lever.Verdict) string {
	if w, ok := verdictWords[v]; ok {
		return w
	}
	return string(v)
}

// severities in falling order.
var severities = []string{"high", "medium", "low", "info"}

func severityRank(s string) int {
	if i := slices.Index(severities, strings.ToLower(s)); i >= 0 {
		return len(severities) - i
	}
	return 0
}

// findings are the results that found something, worst first.
func findings(results []check.Result) []check.Result {
	var out []check.Result
	for _, r := range results {
		if r.Status == check.Finding {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b check.Result) int {
		return cmp.Or(cmp.Compare(severityRank(b.Severity), severityRank(a.Severity)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// tally counts the answers: "41 checks: 5 found something, 20 passed, ...".
func tally(results []check.Result) string {
	if len(results) == 0 {
		return "no checks ran"
	}
	n := map[check.Status]int{}
	for _, r := range results {
		n[r.Status]++
	}
	return fmt.Sprintf("%s: %d found something, %d passed, %d could not look, %d do not apply here",
		screen.Count(len(results), "check"), n[check.Finding], n[check.OK], n[check.Unknown], n[check.NotApplicable])
}

// hostLines describe the machine in three lines: processor, system, storage.
func hostLines(a *Assessment) []string {
	f := a.Facts
	if f == nil {
		return []string{"nothing is known of this host"}
	}
	t := f.Topology
	cpu := orUnknown(f.Identity.CPUModel, "processor model")
	var parts []string
	for _, p := range []struct {
		n    host.Fact[int]
		noun string
	}{{t.Sockets, "socket"}, {t.Cores, "core"}, {t.Threads, "thread"}} {
		if v, ok := p.n.Get(); ok {
			parts = append(parts, screen.Count(v, p.noun))
		}
	}
	if n := len(t.NUMA); n > 1 {
		parts = append(parts, screen.Count(n, "NUMA node"))
	}
	if v, ok := f.Memory.Total.Get(); ok {
		parts = append(parts, result.Format(float64(v), "B"))
	}
	if len(parts) > 0 {
		cpu += ": " + strings.Join(parts, ", ")
	}
	system := orUnknown(f.Identity.OS, "operating system")
	if k, ok := f.Identity.Kernel.Get(); ok {
		system += ", kernel " + k
	}
	if hv, ok := f.Virt.Hypervisor.Get(); ok && hv != "none" && hv != "" {
		system += ", " + hv + " guest"
	}
	if c, ok := f.Virt.Container.Get(); ok && c != "none" && c != "" {
		system += ", in a " + c + " container"
	}
	if q, ok := f.Limits.CPUQuota.Get(); ok {
		system += fmt.Sprintf(", limited to %g CPUs", q)
	}
	return []string{cpu, system, storageLine(a)}
}

func storageLine(a *Assessment) string {
	if len(a.Facts.Storage) == 0 {
		return "no log directory was looked at"
	}
	s := a.Facts.Storage[0]
	line := s.Purpose + " " + s.Path
	if fs, ok := s.FSType.Get(); ok {
		line += ": " + fs
	}
	if d, ok := s.Device.Get(); ok {
		line += " on " + d
	}
	if c, ok := s.Class.Get(); ok {
		line += ", " + c
	}
	if a.LogDirWhy != "" {
		line += "; " + a.LogDirWhy
	}
	return line
}

func orUnknown(f host.Fact[string], what string) string {
	if v, ok := f.Get(); ok && v != "" {
		return v
	}
	return what + " unknown"
}

// valueText prints a known estimate in a lever's row, where no title says what a speed-up
// is divided by.
func valueText(m *result.Measurement) string {
	text := result.Format(m.Estimate.Value, m.Unit)
	if m.Probe == "degree" {
		text += " per CPU"
	}
	return text
}

// interval prints "[low, high]".
func interval(m *result.Measurement) string {
	if m == nil || !m.Known() {
		return ""
	}
	if !m.Estimate.HasInterval() {
		return "no interval"
	}
	return "[" + result.Format(m.Estimate.Low, m.Unit) + ", " + result.Format(m.Estimate.High, m.Unit) + "]"
}

// floorText prints a noise floor.
func floorText(m *result.Measurement) string {
	switch {
	case math.IsNaN(m.NoiseFloor):
		return "none"
	case m.Unit == "ratio":
		return fmt.Sprintf("±%.1f %%", 100*m.NoiseFloor)
	default:
		return "±" + result.Format(m.NoiseFloor, m.Unit)
	}
}

// boundText prints what a lever can give at most.
func boundText(l *lever.Lever) string {
	if l.Bound == nil {
		return "unknown"
	}
	return lever.Percent(*l.Bound)
}

// foreignBound reports whether a lever's bound belongs to another change than the
// one that its verdict recommends.
func foreignBound(l *lever.Lever) bool {
	return l.Bound != nil && l.BoundBy != "" && l.Verdict == lever.Recommended
}

// boundOf says what a bound is a share of, what would give it, and, where it was
// not measured, how it is known.
func boundOf(l *lever.Lever) string {
	s := l.BoundOf
	if l.BoundBy != "" {
		s += ", by " + l.BoundBy
	}
	if l.BoundFrom != "" && l.BoundFrom != lever.BoundMeasured {
		s += " (" + l.BoundFrom + ")"
	}
	return s
}

// countText is the n of a table: "24", or "122 of 5000" where the real count of
// operations is larger than the number of independent ones that they are worth.
func countText(m *result.Measurement) string {
	if all := m.Labels["commits"]; all != "" && all != fmt.Sprint(m.Estimate.N) {
		return fmt.Sprintf("%d of %s", m.Estimate.N, all)
	}
	return fmt.Sprint(m.Estimate.N)
}

// splitNext parts "command   # note" into its two halves.
func splitNext(next string) (command, note string) {
	if n, ok := strings.CutPrefix(next, "# "); ok {
		return "", n
	}
	command, note, _ = strings.Cut(next, "   # ")
	return strings.TrimSpace(command), note
}

// headlines are a probe's figures for a summary: the worst wake-up penalties, the
// commits' mean and quantiles, the speed-up at the highest degree, and for a probe that this
// code does not know its first two.
func headlines(o *probe.Outcome, all []result.Measurement) []result.Measurement {
	var own []result.Measurement
	for _, m := range all {
		if m.Probe == o.Probe {
			own = append(own, m)
		}
	}
	pick := func(prefix string) (best *result.Measurement) {
		for i := range own {
			m := &own[i]
			if strings.HasPrefix(m.Name, prefix) && m.Known() && (best == nil || m.Estimate.Value > best.Estimate.Value) {
				best = m
			}
		}
		return best
	}
	var out []result.Measurement
	for _, prefix := range []string{"wakeup.alu.", "wakeup.mixed.", "wakeup.cold.", "wakeup.latency.p50.", "siblings.slowdown.", "siblings.harm.sibling", "siblings.harm.other",
		"commit.overwritten.mean", "commit.overwritten.p99", "commit.overwritten.p50", "commit.mean", "commit.p99", "commit.memory.mean", "commit.drift", "degree.speedup."} {
		if m := pick(prefix); m != nil && (prefix != "commit.drift" || m.Labels["drift"] != "") {
			out = append(out, *m)
		}
	}
	if len(out) == 0 {
		for _, m := range own {
			if len(out) < 2 {
				out = append(out, m)
			}
		}
	}
	return out
}

// label is a measurement's title, or its name where it has none.
func label(m *result.Measurement) string { return cmp.Or(m.Title, m.Name) }
