package web

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// hostJSON is all that a host's page says.
type hostJSON struct {
	document.Head
	Name      string            `json:"name"`
	First     time.Time         `json:"first"`
	Last      time.Time         `json:"last"`
	Stale     bool              `json:"stale"` // not known any more: all below is what it was then
	Service   string            `json:"service"`
	Verdict   string            `json:"verdict"`
	Same      []string          `json:"same_machine"` // other hosts with the same machine id
	Findings  []fleet.Held      `json:"findings"`
	Remedies  map[string]string `json:"remedies"` // by check
	Accepted  []fleet.Held      `json:"accepted"`
	Levers    []leverJSON       `json:"levers"`
	Changes   []fleet.Change    `json:"changes"`
	Documents []store.Kept      `json:"documents"`
}

// timeline and shownDocuments are how much of a host's history its page shows.
const (
	timeline       = 100
	shownDocuments = 30
)

func host(ctx context.Context, r *request) (*document.Document, error) {
	h := r.fleet.by[r.PathValue("name")]
	if h == nil {
		return nil, notThere("host")
	}
	changes, err := r.Store.Recent(ctx, h.Name, time.Unix(0, 0), timeline)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(changes, func(a, b fleet.Change) int { return b.At.Compare(a.At) })
	kept, err := r.Store.Of(ctx, h.Name, "", shownDocuments)
	if err != nil {
		return nil, err
	}
	last, err := lastReport(ctx, r, h)
	if err != nil {
		return nil, err
	}
	over, err := r.history(ctx, h)
	if err != nil {
		return nil, err
	}
	d := &document.Document{Name: "fleet", Title: h.Name, When: h.Last.UTC(),
		Answer: []document.Line{{Text: r.stateOf(h)}}}
	if h.Verdict != "" {
		d.Answer = append(d.Answer, document.Line{Text: h.Verdict})
		if !h.Stale(r.now, r.Stale) { // what is known comes first
			slices.Reverse(d.Answer)
		}
	}
	d.About = append(d.About, fmt.Sprintf("First document at %s UTC, last one at %s UTC.", h.First.Format(minutes),
		h.Last.Format(minutes)))
	if h.Service != "" {
		d.Title = h.Service + " on " + h.Name
		d.About = append(d.About, "Service: "+h.Service)
	}
	if h.Stratum != "" {
		d.About = append(d.About, "Hardware: "+h.Stratum)
	}
	data := hostJSON{Head: fleet.HeadOf("host"), Name: h.Name, First: h.First, Last: h.Last,
		Stale: h.Stale(r.now, r.Stale), Service: h.Service, Verdict: h.Verdict,
		Same: []string{}, Findings: h.Findings, Remedies: last.remedies, Accepted: h.Accepted, Levers: []leverJSON{},
		Changes: changes, Documents: kept}
	for _, name := range r.fleet.machines[h.Machine] {
		if h.Machine != "" && name != h.Name {
			data.Same = append(data.Same, name)
		}
	}
	slices.Sort(data.Same)
	if len(data.Same) > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s has the same machine-id: one is a clone, or the host was renamed.",
			strings.Join(data.Same[:min(3, len(data.Same))], ", ")))
	}
	accepted := &document.Table{Columns: document.Headings("check").Names("severity", "until", "reason")}
	for _, f := range h.Accepted {
		if e := f.Exception; e != nil {
			accepted.Row(checkCell(f.Check), f.Severity, e.Until, none(e.Reason))
		}
	}
	levers := leverTable()
	for _, l := range byVerdict(h.Levers) {
		data.Levers = append(data.Levers, leverJSON{Host: h.Name, Lever: l, SecondsPerDay: l.SecondsPerDay})
		addLever(levers, leverCell(l.Name), &l)
	}
	d.Data = data
	findings := findingTable(h)
	d.Sections = append(d.Sections, document.Titled("Findings", findings),
		document.Titled("Remedies", remedyBlocks(findings, last.remedies)), document.Titled("Accepted", accepted),
		document.Titled("Levers", levers), over)
	d.Sections = append(d.Sections, last.sections...)
	d.Sections = append(d.Sections, document.Titled("What changed", changeTable(changes, false)),
		document.Titled("Documents", documentTable(kept)),
		document.Titled("Compare", document.Form{Action: "/compare", Button: "Compare", Fields: []document.Field{
			{Name: "a", Label: "Host", Value: h.Name}, {Name: "b", Label: "With", Suggest: r.names()}}}))
	return d, nil
}

// stateOf is a host in a sentence or two. One that is not known is never called well.
func (r *request) stateOf(h *fleet.Host) string {
	n := h.BySeverity()
	var counts []string
	for _, s := range slices.Backward(check.Severities) {
		if n[s] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	found := "no findings"
	if notes := n[check.Info.String()]; notes > 0 && len(counts) == 1 {
		found = screen.Count(notes, "note") + " and no graver finding"
	} else if len(counts) > 0 {
		found = screen.Count(len(h.Findings), "finding") + ": " + strings.Join(counts, ", ")
	}
	age := screen.Lasting(max(r.now.Sub(h.Last), 0))
	if h.Stale(r.now, r.Stale) {
		return fmt.Sprintf("%s has sent no document for %s. This page shows its last known state, with %s.", h.Name, age,
			found)
	}
	return fmt.Sprintf("%s sent its last document %s ago and has %s.", h.Name, age, found)
}

// byVerdict has levers that ask for action first, and of those the ones that may save most.
func byVerdict(list []fleet.Lever) []fleet.Lever {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b fleet.Lever) int {
		saves := func(l fleet.Lever) float64 {
			if l.SecondsPerDay == nil {
				return -1
			}
			return *l.SecondsPerDay
		}
		return cmp.Or(slices.Index(lever.Verdicts, a.Verdict)-slices.Index(lever.Verdicts, b.Verdict),
			cmp.Compare(saves(b), saves(a)))
	})
	return list
}

// findingTable has a host's findings, the worst first.
func findingTable(h *fleet.Host) *document.Table {
	t := &document.Table{Columns: document.Headings("check").Names("problem", "severity",
		"role").Wholes("since").Names("what it says")}
	list := slices.Clone(h.Findings)
	slices.SortStableFunc(list, func(a, b fleet.Held) int { return rank(b.Severity) - rank(a.Severity) })
	for _, f := range list {
		t.Row(checkCell(f.Check), fleet.CheckTitle(f.Check), severityCell(f.Severity), string(f.Role),
			f.Since.Format(time.DateOnly), said(f.Detail))
	}
	return t
}

// looks are lines of remedies that only look, and change nothing.
var looks = regexp.MustCompile(`(?m)^(hostlab assess|grep)\b.*\n?`)

// remedyBlocks are what to do about a host's findings, in the order of their table.
func remedyBlocks(t *document.Table, remedies map[string]string) (out document.Commands) {
	seen := map[string]bool{}
	for _, r := range t.Rows {
		id := r.Cells[0].Text
		if line := looks.ReplaceAllString(remedies[id], ""); line != "" && !seen[id] {
			seen[id] = true
			out = append(out, document.Command{Why: id + ", " + r.Cells[1].Text, Line: line})
		}
	}
	return out
}

func rank(severity string) int { return slices.Index(check.Severities, severity) }

func severityCell(s string) document.Cell {
	c := document.Cell{Text: s, Sort: float64(rank(s) + 1)}
	if s == check.High.String() {
		c.Tone = document.Caution
	}
	return c
}

func documentTable(kept []store.Kept) *document.Table {
	t := &document.Table{Lead: "The newest, byte for byte as they came.",
		Columns: document.Columns{}.Wholes("SHA-256").Names("kind").Wholes("written", "received").Names("by", "came by")}
	for _, k := range kept {
		hash := document.Text(k.Hash[:min(12, len(k.Hash))])
		if k.Whole {
			hash.Link = "/documents/" + k.Hash
		}
		t.Row(hash, string(k.Kind), k.Started.Format(minutes), k.Received.Format(minutes),
			none(strings.TrimSpace("hostlab "+k.Version)), none(k.Source))
	}
	return t
}

// names are those that a form offers; of many hosts none, since a page would hold little else.
func (r *request) names() (out []string) {
	if len(r.fleet.hosts) <= 300 {
		for _, h := range r.fleet.hosts {
			out = append(out, h.Name)
		}
	}
	return out
}

func hosts(_ context.Context, r *request) (*document.Document, error) {
	q := r.URL.Query()
	text, state := strings.TrimSpace(q.Get("q")), q.Get("state")
	list := r.fleet.hosts
	choices := []document.Choice{{Value: "", Text: "any state"}}
	filter := func(*request, *fleet.Host) bool { return true }
	for _, s := range states {
		choices = append(choices, document.Choice{Value: s.name, Text: s.text})
		if s.name == state {
			filter = s.is
		}
	}
	if !slices.ContainsFunc(choices, func(c document.Choice) bool { return c.Value == state }) {
		return nil, unusable("There is no state of that name. Choose one on the page of hosts.")
	}
	if text != "" || state != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(h *fleet.Host) bool {
			return !filter(r, h) || !strings.Contains(strings.ToLower(h.Name), strings.ToLower(text)) &&
				!strings.Contains(strings.ToLower(h.Service), strings.ToLower(text))
		})
	}
	d := &document.Document{Name: "fleet", Answer: fleet.HostsAnswer(list, r.now, r.Stale)}
	if r.whole {
		d = fleet.HostsDocument(list, r.now, r.Stale)
	}
	t := r.hostTable(list)
	if err := r.sorted(t, "-saves", "name", "heard", "service", "high", "medium", "low", "changed", "lever",
		"saves"); err != nil {
		return nil, err
	}
	if err := r.paged(t, "host"); err != nil {
		return nil, err
	}
	form := document.Form{Action: "/hosts", Button: "Show", Fields: []document.Field{
		{Name: "q", Label: "Name or service contains", Value: text},
		{Name: "state", Label: "State", Value: state, Choices: choices}}}
	d.Title = "Hosts"
	if len(list) == 0 && len(r.fleet.hosts) > 0 {
		d.Answer = []document.Line{{Text: fmt.Sprintf("None of %s matches.", screen.Count(len(r.fleet.hosts), "host"))}}
	}
	d.Sections = []document.Section{document.Titled("Hosts", form, t)}
	return d, nil
}

// hostTable has a row a host. Of one that is not known any more it says what was found then.
func (r *request) hostTable(list []*fleet.Host) *document.Table {
	t := &document.Table{Columns: []document.Column{{Head: "host"}, {Head: "last document", Right: true, Unit: "s ago"},
		{Head: "service"}, {Head: "high", Right: true}, {Head: "medium", Right: true}, {Head: "low", Right: true},
		{Head: "changed in 7 days", Right: true},
		{Head: "first lever"}, {Head: "may save", Right: true, Unit: "s a day"}}}
	for _, h := range list {
		stale := h.Stale(r.now, r.Stale)
		cells, count := []document.Cell{hostCell(h.Name), r.heard(h), none(h.Service)}, h.BySeverity()
		for _, severity := range []check.Severity{check.High, check.Medium, check.Low} {
			n := count[severity.String()]
			c := document.Number(float64(n), strconv.Itoa(n))
			switch {
			case stale:
				c = document.Number(float64(n), "was "+strconv.Itoa(n))
			case n > 0 && severity == check.High:
				c.Tone = document.Caution
			}
			cells = append(cells, c)
		}
		n := r.fleet.drift(h.Name, r.now.Add(-week))
		cells = append(cells, document.Number(float64(n), strconv.Itoa(n)))
		lever, saves := none(""), document.Text("")
		if l := h.FirstLever(); l != nil {
			lever = leverCell(l.Name)
			saves = perDay(l.SecondsPerDay)
		} else if len(h.Levers) == 0 { // it has sent no assessment
			lever = document.Text("not measured")
		}
		t.Add(append(cells, lever, saves)...)
	}
	return t
}

// none is a text that may be missing.
func none(s string) document.Cell {
	if s == "" {
		return document.Text("none")
	}
	return document.Text(s)
}

// perDay is what a lever may save.
func perDay(v *float64) document.Cell {
	if v == nil {
		return document.Text("unknown")
	}
	return document.Number(*v, fleet.ADay(*v))
}
