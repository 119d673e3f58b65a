package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

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
	stale := func(h fleet.Held) bool {
		x := r.fleet.by[h.Host]
		return x == nil || x.Stale(r.now, r.Stale)
	}
	fleet.SortHeld(list, stale)
	t := &document.Table{Columns: []document.Column{{Head: "host"}, {Head: "status"}, {Head: "severity"}, {Head: "role"},
		{Head: "since", Whole: true}, {Head: "what was read"}}}
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
		// Of a finding alone the severity stands out: elsewhere it says what a finding would be.
		status, severity := document.Text(strings.ReplaceAll(string(h.Status), "_", " ")), document.Text(h.Severity)
		switch {
		case stale(h):
			status = document.Cell{Text: "not known; was " + status.Text, Tone: document.Quiet}
		case h.Status == check.Finding:
			status.Tone, severity = document.Caution, severityCell(h.Severity)
		case h.Status == check.OK:
			status.Tone = document.Good
		}
		t.Add(document.Cell{Text: h.Host, Link: "/hosts/" + segment(h.Host)}, status, severity, document.Text(string(h.Role)),
			document.Text(h.Since.Format(time.DateOnly)),
			said(h.Detail))
	}
	d.Title = id + ": " + fleet.CheckTitle(id)
	d.Answer = []document.Line{{Text: fmt.Sprintf("%s is a finding on %d of %s that are known.", id, found,
		screen.Count(known, "host"))}}
	d.Sections = []document.Section{document.Titled("Hosts", t)}
	if c, err := check.Find(id); err == nil {
		d.Sections = append(d.Sections, check.Explain(c).Sections...)
	}
	return d, nil
}
