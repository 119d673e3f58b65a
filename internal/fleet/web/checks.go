package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

// titleOf is what a check looks at; "" for one that this hostlab does not know.
func titleOf(id string) string {
	if c, err := check.Find(id); err == nil {
		return c.Title
	}
	return "not known to this version"
}

func oneCheck(ctx context.Context, r *request) (*document.Document, error) {
	id := r.PathValue("id")
	list, err := r.Store.Check(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, notThere("check in any document")
	}
	fleet.AcceptHeld(list, r.Exceptions, r.now)
	// Findings first, and those of hosts that are not known behind all others: they say what was.
	stale := func(h fleet.Held) bool {
		x := r.fleet.by[h.Host]
		return x == nil || x.Stale(r.now, r.Stale)
	}
	order := func(h fleet.Held) int {
		n := slices.Index([]check.Status{check.Finding, check.Unknown, check.Accepted, check.OK}, h.Status)
		if n < 0 {
			n = 3
		}
		if stale(h) {
			n += 10
		}
		return n
	}
	slices.SortStableFunc(list, func(a, b fleet.Held) int { return cmp.Or(order(a)-order(b), strings.Compare(a.Host, b.Host)) })
	t := &document.Table{Columns: []document.Column{{Head: "host"}, {Head: "status"}, {Head: "severity"}, {Head: "role"}, {Head: "since", Whole: true}, {Head: "what was read"}}}
	found, known := 0, 0
	for _, h := range list {
		if !stale(h) {
			known++
			if h.Status == check.Finding {
				found++
			}
		}
	}
	d := &document.Document{Name: "fleet"}
	if r.whole {
		d = fleet.CheckDocument(id, list)
	}
	from, to, err := r.window(t, len(list), "host")
	if err != nil {
		return nil, err
	}
	for _, h := range list[from:to] {
		status := document.Text(strings.ReplaceAll(string(h.Status), "_", " "))
		switch {
		case stale(h):
			status = document.Cell{Text: "not known; was " + status.Text, Tone: document.Quiet}
		case h.Status == check.Finding:
			status.Tone = document.Caution
		case h.Status == check.OK:
			status.Tone = document.Good
		}
		t.Add(document.Cell{Text: h.Host, Link: "/hosts/" + segment(h.Host)}, status, severityCell(h.Severity), document.Text(string(h.Role)), document.Text(h.Since.Format(time.DateOnly)),
			said(h.Detail))
	}
	d.Title = strings.TrimSuffix(id+": "+titleOf(id), ": ")
	d.Answer = []document.Line{{Text: fmt.Sprintf("%s is a finding on %d of %s that are known.", id, found, screen.Count(known, "host"))}}
	d.Sections = []document.Section{document.Titled("Hosts", t)}
	if c, err := check.Find(id); err == nil {
		d.Sections = append(d.Sections, check.Explain(c).Sections...)
	}
	return d, nil
}
