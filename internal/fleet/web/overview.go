package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

// segment is text as a part of an address.
func segment(text string) string { return url.PathEscape(text) }

// hostCell and checkCell lead to the page of a host and of a check.
func hostCell(name string) document.Cell {
	return document.Cell{Text: name, Link: "/hosts/" + segment(name)}
}
func checkCell(id string) document.Cell {
	return document.Cell{Text: id, Link: "/checks/" + segment(id)}
}

// week is how far back the first page and metrics look for changes.
const week = 7 * 24 * time.Hour

// section is a section by its title; nil: the document has none.
func section(d *document.Document, title string) *document.Table {
	for _, s := range d.Sections {
		if s.Title == title && len(s.Blocks) > 0 {
			t, _ := s.Blocks[0].(*document.Table)
			return t
		}
	}
	return nil
}

func overview(ctx context.Context, r *request) (*document.Document, error) {
	sum := fleet.Status(r.fleet.hosts, r.fleet.documents, r.now, r.Stale).In(r.Address)
	d := sum.Document()
	for title, page := range map[string]struct {
		prefix, all, url string
		most             int
	}{
		"Findings": {"/checks/", "All checks with findings", "/checks", 12}, "Levers": {"", "All levers", "/levers", 12},
		"Accepted":                     {"/checks/", "All accepted findings", "/exceptions", 12},
		"Exceptions that have expired": {"/checks/", "All exceptions", "/exceptions", 12},
		"State unknown":                {"/hosts/", "All hosts whose state is unknown", "/hosts?state=unknown", 12},
	} {
		if t := section(d, title); t != nil {
			if title == "Levers" {
				for i, l := range sum.Levers {
					t.Rows[i].Cells[0] = leverCell(l.Name)
				}
			} else {
				lead(t, page.prefix)
			}
			r.brief(t, page.most, page.all, page.url)
		}
	}
	changed := changeGroups(r.fleet.since(r.now.Add(-week)))
	r.brief(changed, 8, "All changes", "/changes")
	if w := sum.Worst; w != nil {
		d.Sections[0].Blocks = append(d.Sections[0].Blocks, document.Links{Label: fleet.Begin,
			List: []document.Link{{Text: "All about " + w.Host, URL: "/hosts/" + segment(w.Host)}}})
	}
	d.Sections = slices.Concat(d.Sections[:1], []document.Section{document.Titled("Hosts", r.tally(ctx))}, d.Sections[1:],
		[]document.Section{
			document.Titled("Findings by role", byRole(r.known())), document.Titled("Changed in the last 7 days", changed)})
	return d, nil
}

// known are the hosts that were heard of lately.
func (r *request) known() []*fleet.Host {
	return slices.DeleteFunc(slices.Clone(r.fleet.hosts), func(h *fleet.Host) bool { return h.Stale(r.now, r.Stale) })
}

// The states by which hosts are listed.
var states = []struct {
	name, text string
	is         func(r *request, h *fleet.Host) bool
}{
	{"unknown", "state unknown", func(r *request, h *fleet.Host) bool { return h.Stale(r.now, r.Stale) }},
	{"high", "known, with a finding of high severity", worst(check.High, check.High)},
	{"medium", "known, medium at worst", worst(check.Medium, check.Medium)},
	{"fine", "known, nothing above low", worst(-1, check.Low)},
	{"changed", "changed in the last 7 days", func(r *request, h *fleet.Host) bool {
		return r.fleet.drift(h.Name, r.now.Add(-week)) > 0
	}},
}

// worst finds hosts that are known, by the severity of their worst finding; -1: they have none.
func worst(least, most check.Severity) func(r *request, h *fleet.Host) bool {
	return func(r *request, h *fleet.Host) bool {
		w := check.Severity(-1)
		for _, f := range h.Findings {
			w = max(w, check.Severity(rank(f.Severity)))
		}
		return !h.Stale(r.now, r.Stale) && w >= least && w <= most
	}
}

// tally counts hosts by state.
func (r *request) tally(ctx context.Context) *document.Table {
	t := &document.Table{Columns: document.Headings("state", "hosts")}
	if len(r.fleet.hosts) == 0 {
		return t
	}
	for _, s := range states {
		n := 0
		for _, h := range r.fleet.hosts {
			if s.is(r, h) {
				n++
			}
		}
		state := document.Text(s.text)
		state.Link = at("/hosts", "state", s.name)
		t.Row(state, n)
	}
	t.Add(document.Cell{Text: "measure unlike their peers", Link: "/outliers"}, r.unlike(ctx))
	return t
}

// byRole counts findings by severity and role.
func byRole(hosts []*fleet.Host) *document.Table {
	count, roles := map[[2]string]int{}, map[string]bool{}
	for _, h := range hosts {
		for _, f := range h.Findings {
			count[[2]string{string(f.Role), f.Severity}]++
			roles[string(f.Role)] = true
		}
	}
	severities := slices.Clone(check.Severities)
	slices.Reverse(severities)
	t := &document.Table{Columns: document.Headings("role", severities...)}
	for role := range roles {
		cells := []document.Cell{document.Text(role)}
		for _, s := range severities {
			n := count[[2]string{role, s}]
			cells = append(cells, document.Number(float64(n), strconv.Itoa(n)))
		}
		t.Add(cells...)
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return strings.Compare(a.Cells[0].Text, b.Cells[0].Text) })
	return t
}

// changeGroups has a row for each change, however many hosts made it.
func changeGroups(list []fleet.Change) *document.Table {
	type group struct {
		fleet.Change
		hosts map[string]bool
	}
	groups := map[[3]string]*group{}
	for _, c := range list {
		key := [3]string{c.Subject, c.Before, c.After}
		g := groups[key]
		if g == nil {
			g = &group{c, map[string]bool{}}
			groups[key] = g
		}
		g.hosts[c.Host] = true
		if c.At.After(g.At) {
			g.At = c.At
		}
	}
	all := slices.SortedStableFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(len(b.hosts)-len(a.hosts), b.At.Compare(a.At), strings.Compare(a.Subject, b.Subject),
			strings.Compare(a.After, b.After))
	})
	t := &document.Table{Columns: document.Headings("what").Names("before", "after").Figures("hosts").Wholes("last")}
	for _, g := range all {
		subject := document.Text(g.Subject)
		subject.Link = at("/changes", "q", g.Subject)
		n := document.Number(float64(len(g.hosts)), strconv.Itoa(len(g.hosts)))
		if len(g.hosts) == 1 {
			n = hostCell(g.Host)
		}
		t.Row(subject, said(g.Before), said(g.After), n, g.At.Format(minutes))
	}
	return t
}

// minutes is how moments are written; all are UTC.
const minutes = "2006-01-02 15:04"

// said is a value in a cell. A fact that nobody may read has no text.
func said(s string) document.Cell {
	const most = 120
	if s == "" {
		return document.Text("none")
	}
	if r := []rune(s); len(r) > most {
		return document.Text(fmt.Sprintf("%s... (%s)", string(r[:most]), screen.Count(len(r), "character")))
	}
	return document.Text(s)
}

// heard says how long ago a host was heard of.
func (r *request) heard(h *fleet.Host) document.Cell {
	age := r.now.Sub(h.Last)
	if h.Stale(r.now, r.Stale) {
		return document.Cell{Text: "not known for " + screen.Lasting(age), Tone: document.Caution, Sort: age.Seconds()}
	}
	return document.Number(age.Seconds(), screen.Lasting(max(age, 0))+" ago")
}
