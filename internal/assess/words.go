package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// The lengths of a verdict, in words.
const (
	mostWords     = 60
	sentenceWords = 25
)

// does is what a service does in a part of its time, for a sentence.
var does = map[explain.PartName]string{
	explain.DatabaseCPU: "computes for %s of its active time", explain.RunQueue: "waits %s of its active time for a CPU",
	explain.LogWait: "waits %s of its active time for the log", explain.DataReads: "waits %s of its active time for data reads",
	explain.Locks: "waits %s of its active time for locks", explain.OtherWaits: "has other waits for %s of its active time",
	explain.Application: "waits %s of its active time for the application", explain.Unexplained: "spends %s of its active time unexplained",
}

// Verdict is the answer in at most 60 words: where the time goes, what could be gained, and
// the first thing to type.
func (m *Minute) Verdict(levers []Lever) string {
	if m.Report.Busy <= 0 {
		return sentence(m.name()+" did nothing while it was watched") + " Watch it again while it works."
	}
	parts := m.largest()
	said := []string{sentence(m.name() + " " + fmt.Sprintf(does[parts[0].Name], share(parts[0].of)) + rest(parts[1:]))}
	said = append(said, m.gains(levers)...)
	return cut(said)
}

// name is the service as a sentence begins with it.
func (m *Minute) name() string { return cmp.Or(m.Service.Name, m.Report.Vendor) }

type part struct {
	Name explain.PartName
	of   float64 // of active time
}

// largest are the parts that take a twentieth of the active time or more, at most three.
func (m *Minute) largest() (out []part) {
	for _, name := range explain.PartNames {
		if name != explain.Idle {
			out = append(out, part{name, m.share(name).Value})
		}
	}
	slices.SortStableFunc(out, func(a, b part) int { return cmp.Compare(b.of, a.of) })
	n := 1
	for n < min(3, len(out)) && out[n].of >= Margin {
		n++
	}
	return out[:n]
}

func rest(parts []part) string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Name.Title()+" "+share(p.of))
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

// gains says what levers could give.
func (m *Minute) gains(levers []Lever) (out []string) {
	by := map[Verdict][]Lever{}
	for _, l := range levers {
		if l.Likely == nil && (l.Verdict == Worthwhile || l.Verdict == Possible || l.Verdict == Negligible) {
			continue // of checks, which know no share of the service's time
		}
		by[l.Verdict] = append(by[l.Verdict], l)
	}
	could := func(l Lever, n string) string {
		return fmt.Sprintf("%s could save %s of it, at most %s", upper(n), share(*l.Likely), share(*l.AtMost))
	}
	first := slices.Concat(by[Worthwhile], by[Possible])
	switch {
	case len(by[Worthwhile]) > 0:
		l := by[Worthwhile][0]
		out = append(out, sentence(could(l, change[l.Name])))
	case len(by[Possible]) > 0:
		l := by[Possible][0]
		out = append(out, sentence(could(l, change[l.Name])+"; that is not decided"))
	case len(by[Negligible]) > 0:
		out = append(out, sentence("No lever that was measured here can save "+share(Margin)+" of it"))
	default:
		out = append(out, "No lever could be measured here.")
	}
	if len(first) > 0 && first[0].Command != "" {
		l := first[0]
		if len(strings.Fields(l.Command)) <= 12 && !strings.Contains(l.Command, "\n") {
			out = append(out, `First: "`+l.Command+`".`)
		} else {
			out = append(out, sentence("First: the command stands under "+l.Title()))
		}
	}
	if n := by[Negligible]; len(n) > 0 && len(first) > 0 {
		most := 0.0
		for _, l := range n {
			most = max(most, *l.AtMost)
		}
		out = append(out, sentence(fmt.Sprintf("At most %s each: %s", share(most), names(n))))
	}
	if u := slices.Concat(by[NotHere], by[Undecided]); len(u) > 0 {
		out = append(out, sentence("Not known: "+names(u)))
	}
	return out
}

// change names what would be done with a lever.
var change = map[string]string{
	Clock: "a faster clock", Idle: "shallower idle states", SMT: "cores of its own", CPUs: "more CPUs", Log: "a faster log device", Data: "faster data disks",
	Network: "fewer round trips", Memory: "larger pages",
}

func names(levers []Lever) string {
	var out []string
	for _, l := range levers {
		out = append(out, l.Title())
	}
	return strings.Join(out, ", ")
}

// cut keeps the sentences, in order, that there is room for.
func cut(said []string) string {
	var out []string
	left := mostWords
	for _, s := range said {
		if n := len(strings.Fields(s)); n <= min(left, sentenceWords) {
			out, left = append(out, s), left-n
		}
	}
	return strings.Join(out, " ")
}

func sentence(s string) string { return upper(strings.TrimSuffix(s, ".")) + "." }

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func share(v float64) string {
	switch p := 100 * v; {
	case p == 0:
		return "0 %"
	case p < 0.05:
		return "<0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// each is a part of a transaction where those are known, else of a second.
func (m *Minute) each(seconds float64) string {
	if n := m.Report.Transactions; n > 0 {
		return result.Format(seconds/float64(n), "s")
	}
	if m.Report.Wall <= 0 {
		return "unknown"
	}
	return result.Format(seconds/m.Report.Wall, "s")
}
