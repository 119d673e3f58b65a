package lever

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// Figure prints an estimate with its interval and n: "1.42x [1.31, 1.55], n 24".
// An unknown one gives its reason.
func Figure(m *result.Measurement) string {
	if m == nil {
		return "not measured"
	}
	if m.Estimate == nil {
		return "unknown: " + m.Reason
	}
	return short(m) + ", " + Count(m)
}

// short is a known estimate with its interval.
func short(m *result.Measurement) string {
	e := *m.Estimate
	if e.Unit = m.Unit; !e.HasInterval() {
		return e.Text() + " (no interval)"
	}
	return e.Brief()
}

// Count prints how much an estimate rests on: "n 24". Where single operations
// were counted that resemble their neighbours, n is the number of independent
// ones that tell as much, and the real count stands before it: "5000 commits in
// 4 s, n 122 independent".
func Count(m *result.Measurement) string {
	if m.Labels.Commits == 0 || m.Estimate == nil {
		return fmt.Sprintf("n %d", n(m))
	}
	s := fmt.Sprintf("%d commits", m.Labels.Commits)
	if span := m.Labels.Seconds; span > 0 {
		s += fmt.Sprintf(" in %.3g s", span)
	}
	return fmt.Sprintf("%s, n %d independent", s, n(m))
}

func n(m *result.Measurement) int {
	if m.Estimate == nil {
		return 0
	}
	return m.Estimate.N
}

// work names what a wake-up ratio was measured with, in a sentence.
func work(m *result.Measurement) string {
	if m.Kind == probe.WakeALU {
		return sliceWords(m) + " of arithmetic"
	}
	return "work with memory"
}

// sliceWords is the length of the work that a ratio was measured with.
func sliceWords(m *result.Measurement) string {
	if s := m.Labels.Slice; s > 0 {
		return fmt.Sprintf("%.3g ms", 1000*s)
	}
	return "a short burst"
}

// Percent prints a share, with a fraction where 0 % or 100 % would be wrong.
func Percent(share float64) string { return result.Percent(share, 0) }

// lowerFirst puts a title into the middle of a sentence, leaving names such as
// "EPP" and "C-states" as they are.
func lowerFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[size:])
	if !unicode.IsLower(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// Sentence makes a clause begin with a capital letter and end with a full stop.
func Sentence(s string) string {
	s = strings.TrimRight(upperFirst(s), ". ")
	return s + "."
}

// why says in a clause why a family is undecided; "" where it is not.
func (r reading) why() string {
	switch r.reason {
	case Spoilt:
		return r.disturbed
	case Inverted:
		return fmt.Sprintf(
			"faster after the pause (%s): the measurement is wrong, or the CPU was throttled while it was busy",
			short(r.m))
	case Evicted:
		return "other work ran on the CPU in the pauses and may have emptied the caches"
	case Diluted:
		return fmt.Sprintf("the CPU was idle in only %d of %d pauses: on a quiet host a pause may cost more",
			max(0, r.awake.Estimate.N-r.awake.Labels.Awake), r.awake.Estimate.N)
	case Slight:
		return fmt.Sprintf("the cost (%s) may be less than %.0f %%", short(r.m), 100*Margin)
	}
	return map[Reason]string{TooFew: "too few rounds for an interval",
		Unfloored:   "the probe has no noise floor to compare with",
		Rising:      "the CPU was still getting faster while it was busy, which hides part of a cost",
		WithinNoise: "the cost is within this host's noise",
		IncludesOne: "the 95 % confidence interval includes 1"}[r.reason]
}

// spread says in a clause which comparisons show a cost where others do not; "" else.
func (r reading) spread() string {
	if len(r.show) == 0 || len(r.silent) == 0 {
		return ""
	}
	longest, shortest := 0.0, math.Inf(1)
	for _, m := range r.show {
		longest = max(longest, m.Labels.Slice)
	}
	for _, m := range r.silent {
		shortest = min(shortest, m.Labels.Slice)
	}
	if longest > 0 && longest < shortest {
		return "longer bursts do not show it"
	}
	return fmt.Sprintf("%d of %d comparisons show it", len(r.show), len(r.show)+len(r.silent))
}

// Floor prints a noise floor.
func Floor(m *result.Measurement) string {
	switch {
	case math.IsNaN(m.NoiseFloor):
		return "unknown"
	case m.Unit == "ratio":
		return fmt.Sprintf("±%.1f %%", 100*m.NoiseFloor)
	}
	return "±" + result.Format(m.NoiseFloor, m.Unit)
}
