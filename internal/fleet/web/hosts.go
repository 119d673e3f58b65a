package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

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
		{Head: "first lever"}, {Head: "likely saves", Right: true, Unit: "s a day"}}}
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

// perDay is what a lever would likely save.
func perDay(v *float64) document.Cell {
	if v == nil {
		return document.Text("unknown")
	}
	return document.Number(*v, fleet.ADay(*v))
}
