package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Seen is what a comparison takes of a host.
type Seen struct {
	*Host
	Facts    map[string]Value
	Measured map[string]Measurement
}

// HostRow is a host's row.
type HostRow struct {
	Name     string         `json:"name"`
	Last     time.Time      `json:"last"`
	Stale    bool           `json:"stale"`
	Service  string         `json:"service"`
	Findings map[string]int `json:"findings"` // by severity
	Lever    *string        `json:"lever"`    // worthwhile, and the one that would save most; null: none, or not measured
	Verdict  string         `json:"verdict"`
}

// HostsAnswer says how many hosts there are, and how many are known.
func HostsAnswer(hosts []*Host, now time.Time, limit time.Duration) []document.Line {
	return []document.Line{{Text: screen.Count(len(hosts), "host") + "; " + heard(silent(hosts, now, limit), limit) + "."}}
}

func HostsDocument(hosts []*Host, now time.Time, limit time.Duration) *document.Document {
	rows := []HostRow{}
	t := &document.Table{Columns: document.Headings("host", "last document", "high", "medium", "low").Names("first lever")}
	t.Columns[1].Unit = "s ago"
	for _, h := range hosts {
		row := HostRow{Name: h.Name, Last: h.Last, Stale: h.Stale(now, limit), Service: h.Service, Findings: h.BySeverity(),
			Verdict: h.Verdict}
		first := "none"
		if l := h.FirstLever(); l != nil {
			row.Lever, first = &l.Name, lever.Title(l.Name)
		} else if len(h.Levers) == 0 { // it has sent no assessment
			first = "not measured"
		}
		heard := document.Number(now.Sub(h.Last).Seconds(), ago(now.Sub(h.Last))+" ago")
		if row.Stale {
			heard = document.Cell{Text: "not known for " + ago(now.Sub(h.Last)), Tone: document.Caution, Sort: heard.Sort}
		}
		cells := []document.Cell{document.Text(h.Name), heard}
		for _, severity := range []string{"high", "medium", "low"} {
			cells = append(cells, document.Number(float64(row.Findings[severity]), fmt.Sprint(row.Findings[severity])))
		}
		t.Add(append(cells, document.Text(first))...)
		rows = append(rows, row)
	}
	return &document.Document{Name: "fleet", Title: "Hosts", Answer: HostsAnswer(hosts, now, limit),
		Sections: []document.Section{document.Titled("Hosts", t)}, Data: HostList{HeadOf("hosts"), rows}}
}

// DiffDocument says why two hosts differ. ran reads the experiments of a study, for what they say of hosts like these.
func DiffDocument(a, b Seen, now time.Time, limit time.Duration,
	ran func(study string) ([]Ran, error)) (*document.Document, error) {
	apart, differ := Diff(a.Host, b.Host, a.Facts, b.Facts, a.Measured, b.Measured)
	if err := proved(differ, a.Host, b.Host, ran); err != nil {
		return nil, err
	}
	found := append(foundAlone(a.Host, b.Host), foundAlone(b.Host, a.Host)...)
	if len(a.Facts) == 0 || len(b.Facts) == 0 {
		differ = nil
	}
	d := &document.Document{Name: "fleet", Title: a.Name + " and " + b.Name,
		Answer: []document.Line{{Text: diffAnswer(a, b, apart, len(differ), len(found))}}}
	gains := leversOf(a.Host, b.Host)
	if len(gains) > 0 { // the reason why a person compares them
		title := lever.Title(gains[0].Name)
		d.Answer[0].Text = fmt.Sprintf("%s%s: on %s %s; on %s %s. %s", strings.ToUpper(title[:1]), title[1:], a.Name,
			gains[0].A, b.Name, gains[0].B, d.Answer[0].Text)
	}
	if a.Machine != "" && a.Machine == b.Machine {
		d.Warnings = append(d.Warnings, "both have one machine-id: they are one host under two names, or clones")
	}
	for _, h := range []Seen{a, b} {
		if h.Stale(now, limit) {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s has sent no document for %s: this is its last known state", h.Name,
				ago(now.Sub(h.Last))))
		}
		if h.Verdict != "" {
			d.About = append(d.About, h.Name+": "+h.Verdict)
		}
	}
	could := &document.Table{Columns: document.Headings("lever").Names(a.Name, b.Name)}
	for _, l := range gains {
		could.Row(lever.Title(l.Name), l.A, l.B)
	}
	measured := &document.Table{Columns: document.Headings("measurement", a.Name, b.Name, "ratio")}
	for _, x := range apart {
		measured.Add(measurementCell(x.Name), estimate(x.A), estimate(x.B),
			document.Number(x.Ratio, fmt.Sprintf("%.2fx", x.Ratio)))
	}
	settings := &document.Table{Lead: "Facts whose lever could give most come first. A difference alone does not say what " +
		"it costs.", Columns: document.Headings("fact").Names(a.Name, b.Name, "lever").Figures("at most"), Most: 40}
	settings.Columns[4].Unit = "share"
	alone := &document.Table{Columns: document.Headings("check").Names("problem", "severity", "host",
		"what it says")}
	slices.SortStableFunc(found, func(x, y Held) int { return rank(y.Severity) - rank(x.Severity) })
	for _, f := range found {
		alone.Row(f.Check, CheckTitle(f.Check), f.Severity, f.Host, f.Detail)
	}
	told, proofs := document.Pairs{}, document.Commands{}
	for _, x := range differ {
		most := document.Text("unknown")
		if x.Gain != nil {
			most = document.Number(*x.Gain, result.Share(*x.Gain))
		}
		settings.Row(x.Path, x.A, x.B, cmp.Or(lever.Title(x.Lever), "none"), most)
		if x.Evidence != differs {
			told = append(told, document.Pair{Name: x.Path, Value: x.Evidence})
		} else if x.Command != "" {
			proofs = append(proofs, document.Command{Why: x.Path, Line: x.Command})
		}
	}
	d.Sections = []document.Section{document.Titled("What the services could gain", could),
		document.Titled("What is set up differently", settings),
		document.Titled("What checks find on one host only", alone), document.Titled("What measurements say", measured),
		document.Titled("What experiments say", told), document.Titled("What would prove it", proofs)}
	data := DiffReport{HeadOf("diff"), a.Name, b.Name, gains, apart, differ, found}
	d.Data, d.Rows = data, data.rows()
	return d, nil
}

// LeverPair is a lever that is worthwhile on one of two hosts, and what it says on each.
type LeverPair struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// leversOf are the levers that are worthwhile on one of two hosts. The one that gives the first host most comes first:
// that is what a reader came for.
func leversOf(a, b *Host) []LeverPair {
	var list []Lever
	for _, l := range slices.Concat(a.Levers, b.Levers) {
		if l.Verdict == lever.Worthwhile && !slices.ContainsFunc(list, func(x Lever) bool { return x.Name == l.Name }) {
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(x, y Lever) int { return cmp.Compare(value(&y), value(&x)) })
	out := []LeverPair{}
	for _, l := range list {
		out = append(out, LeverPair{l.Name, a.says(l.Name), b.says(l.Name)})
	}
	return out
}

// says is what a host's newest assessment says of a lever.
func (h *Host) says(name string) string {
	i := slices.IndexFunc(h.Levers, func(l Lever) bool { return l.Name == name })
	if i < 0 {
		return "not known"
	}
	l := &h.Levers[i]
	text := strings.ReplaceAll(string(l.Verdict), "_", " ")
	if l.Verdict != lever.Worthwhile {
		return text
	}
	switch {
	case l.SecondsPerDay != nil:
		text += ", may save " + ADay(*l.SecondsPerDay)
	case l.AtMost != nil:
		text += ", at most " + result.Share(*l.AtMost)
	}
	return text
}

// rows are the differences, one each, in base units.
func (r *DiffReport) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("of", "name", r.A, r.B, "unit").Figures("ratio")}
	for _, l := range r.Levers {
		t.Row("lever", l.Name, l.A, l.B, "", "")
	}
	for _, s := range r.Settings {
		t.Row("fact", s.Path, s.A, s.B, "", "")
	}
	for _, f := range r.Findings {
		said := map[bool]string{true: f.Severity}
		t.Row("check", f.Check, said[f.Host == r.A], said[f.Host == r.B], "", "")
	}
	for _, m := range r.Measured {
		t.Row("measurement", m.Name, *m.A.Value, *m.B.Value, m.A.Unit, m.Ratio)
	}
	return t
}

// diffAnswer says where two hosts differ, the largest difference first, and what to send where something of one is not
// known.
func diffAnswer(a, b Seen, apart []Apart, settings, found int) (answer string) {
	both := a.Name + " and " + b.Name
	lack := func(x, y int, what, command string) string {
		of := []string{a.Name, b.Name}
		switch {
		case x > 0 && y > 0:
			return ""
		case x > 0:
			of = of[1:]
		case y > 0:
			of = of[:1]
		}
		return fmt.Sprintf(" The store has no %s of %s: send what 'hostlab %s --format json' prints there.", what,
			strings.Join(of, " or "), command)
	}
	facts := lack(len(a.Facts), len(b.Facts), "facts", "facts")
	measured := lack(len(a.Measured), len(b.Measured), "measurements", "assess")
	answer = fmt.Sprintf("%s differ in %s and %s.", both, screen.Count(len(apart), "measurement"),
		screen.Count(settings, "setting"))
	switch {
	case facts == "" && measured == "" && settings == 0 && len(apart) > 0:
		answer = fmt.Sprintf("%s differ in %s; their settings are equal.", both, screen.Count(len(apart), "measurement"))
	case facts != "" && apart == nil:
		switch {
		case a.Role == "" || b.Role == "": // none has looked
			answer = fmt.Sprintf("The store has no results of checks of both %s.", both)
		case found == 0:
			answer = fmt.Sprintf("The checks find the same on %s.", both)
		default:
			answer = fmt.Sprintf("%s on one of %s alone.", screen.Plural(found, "check finds something", "checks find something"),
				both)
		}
	case facts != "":
		answer = fmt.Sprintf("%s differ in %s.", both, screen.Count(len(apart), "measurement"))
	case measured != "":
		answer = fmt.Sprintf("%s differ in %s.", both, screen.Count(settings, "setting"))
	}
	if len(apart) > 0 {
		x := apart[0]
		said := cmp.Or(MeasurementWords(x.Name), x.Name)
		more, less, times := b.Name+" ("+result.Format(*x.B.Value, x.B.Unit)+")",
			a.Name+" ("+result.Format(*x.A.Value, x.A.Unit)+")", x.Ratio
		if times < 1 {
			more, less, times = less, more, 1/times
		}
		answer = fmt.Sprintf("%s: %.3g times as much on %s as on %s. %s", strings.ToUpper(said[:1])+said[1:], times, more, less,
			answer)
	}
	return answer + cmp.Or(facts, measured)
}

// foundAlone are the findings of a host that another does not have: not every cause of one is a fact.
func foundAlone(of, other *Host) []Held {
	out := []Held{}
	for _, f := range of.Findings {
		if !slices.ContainsFunc(other.Findings, func(o Held) bool { return o.Check == f.Check }) {
			f.Host = of.Name
			out = append(out, f)
		}
	}
	return out
}

// proved gives differences the evidence of experiments on the hardware of one of the hosts.
func proved(differ []Difference, a, b *Host, ran func(study string) ([]Ran, error)) error {
	said := map[string]string{}
	for i := range differ {
		study := differ[i].study
		if study == "" {
			continue
		}
		if _, asked := said[study]; !asked {
			list, err := ran(study)
			if err != nil {
				return err
			}
			said[study] = differs
			for _, p := range PoolStudies(list) {
				if p.Mean != nil && (p.Stratum == a.Stratum || p.Stratum == b.Stratum) {
					said[study] = study + ", " + p.sentence()
					break
				}
			}
		}
		differ[i].Evidence = said[study]
	}
	return nil
}

// estimate is a measurement's value with its interval.
func estimate(m Measurement) document.Cell {
	e := result.Estimate{Value: *m.Value, Low: math.NaN(), High: math.NaN(), N: m.N, Unit: m.Unit}
	if m.Low != nil && m.High != nil {
		e.Low, e.High = *m.Low, *m.High
	}
	return document.Number(*m.Value, fmt.Sprint(e))
}

// sortHeld puts findings first, then what is not known, and what was said of hosts that are not known any more last.
func sortHeld(list []Held) {
	order := func(h Held) int {
		n := slices.Index([]check.Status{check.Finding, check.Unknown, check.Accepted, check.OK}, h.Status)
		if n < 0 {
			n = 4
		}
		if h.Stale {
			n += 10
		}
		return n
	}
	slices.SortStableFunc(list, func(a, b Held) int { return cmp.Or(order(a)-order(b), strings.Compare(a.Host, b.Host)) })
}

// CountHeld counts the hosts that are known, and those on which it is a finding.
func CountHeld(list []Held) (found, known int) {
	for _, h := range list {
		if !h.Stale {
			known++
			if h.Status == check.Finding {
				found++
			}
		}
	}
	return found, known
}

// StatusCell says what a check says of a host. Of one that is not known any more it never looks well.
func (h *Held) StatusCell() document.Cell {
	c := document.Text(strings.ReplaceAll(string(h.Status), "_", " "))
	switch {
	case h.Stale:
		return document.Cell{Text: "unknown; was " + c.Text, Tone: document.Quiet}
	case h.Status == check.Finding:
		c.Tone = document.Caution
	case h.Status == check.OK:
		c.Tone = document.Good
	}
	return c
}

// CheckDocument is one check over all hosts.
func CheckDocument(id string, list []Held) *document.Document {
	t := &document.Table{Columns: document.Headings("host").Names("status").Wholes("since").Names("what it says")}
	for _, h := range list {
		t.Row(h.Host, h.StatusCell(), h.Since.Format(time.DateOnly), h.Detail)
	}
	found, known := CountHeld(list)
	return &document.Document{Name: "fleet", Title: id,
		Answer: []document.Line{{Text: fmt.Sprintf(
			`%s is a finding on %d of %s. It looks for %q; 'hostlab check --explain %[1]s' gives the reason.`, id, found,
			screen.Count(known, "known host"), CheckTitle(id))}}, Sections: []document.Section{document.Titled("Hosts", t)},
		Data: CheckReport{HeadOf("check"), id, list}}
}

func ChangesDocument(list []Change, since time.Duration) *document.Document {
	t := &document.Table{Columns: document.Headings("when").Names("host", "what", "before", "after"), Most: 30}
	hosts, of := map[string]bool{}, map[string]map[string]bool{}
	var most string
	for _, c := range list {
		t.Row(c.At.Format("2006-01-02 15:04"), c.Host, c.Subject, c.Before, c.After)
		if hosts[c.Host] = true; of[c.Subject] == nil {
			of[c.Subject] = map[string]bool{}
		}
		if of[c.Subject][c.Host] = true; len(of[c.Subject]) > max(1, len(of[most])) {
			most = c.Subject
		}
	}
	answer := "Nothing changed"
	if len(list) > 0 {
		answer = screen.Count(len(list), "change") + " on " + screen.Count(len(hosts), "host")
	}
	answer += " in the last " + screen.Lasting(since)
	if n := len(of[most]); n > 0 {
		answer += fmt.Sprintf(", %s on %d of them", most, n)
	}
	slowed := SlowedIn(list)
	var says []string
	for i := range slowed {
		says = append(says, slowed[i].Text())
	}
	return &document.Document{Name: "fleet", Title: "Changes",
		Answer: []document.Line{{Text: answer + "."}},
		Sections: []document.Section{document.Titled(BecameSlower, document.Caution.Points(says...)),
			document.Titled("Changes", t)},
		Data: ChangeList{HeadOf("changes"), list, slowed}}
}

// BecameSlower is the title of the section that names services.
const BecameSlower = "Services that became slower"

// HostList is what fleet hosts says to programs.
type HostList struct {
	document.Head
	Hosts []HostRow `json:"hosts"`
}

// DiffReport is what fleet diff says to programs.
type DiffReport struct {
	document.Head
	A        string       `json:"a"`
	B        string       `json:"b"`
	Levers   []LeverPair  `json:"levers"` // worthwhile on one of the two
	Measured []Apart      `json:"measured"`
	Settings []Difference `json:"settings"`
	Findings []Held       `json:"findings"` // of one of the two alone
}

// CheckReport is what fleet check says to programs.
type CheckReport struct {
	document.Head
	Check string `json:"check"`
	Hosts []Held `json:"hosts"`
}

// ChangeList is what fleet changes says to programs.
type ChangeList struct {
	document.Head
	Changes []Change `json:"changes"`
	Slower  []Slowed `json:"slower"` // services that became slower than on other days, with what changed on their hosts
}
