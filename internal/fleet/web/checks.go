package web

import (
	"context"
	"fmt"
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
	fleet.AcceptHeld(list, r.fleet.exceptions, r.fleet.hosts, r.now, r.Stale)
	t := &document.Table{Columns: document.Headings("host").Names("status", "severity",
		"role").Wholes("since").Names("what was read")}
	found, known := fleet.CountHeld(list)
	d := &document.Document{Name: "fleet"}
	if r.whole {
		d = fleet.CheckDocument(id, list)
	}
	from, to, err := r.window(t, len(list), "host")
	if err != nil {
		return nil, err
	}
	for _, h := range list[from:to] {
		severity := document.Text(h.Severity) // of a finding alone it stands out: elsewhere it says what a finding would be
		if h.Status == check.Finding && !h.Stale {
			severity = severityCell(h.Severity)
		}
		t.Row(hostCell(h.Host), h.StatusCell(), severity, string(h.Role), h.Since.Format(time.DateOnly), said(h.Detail))
	}
	d.Title = id + ": " + fleet.CheckTitle(id)
	d.Answer = []document.Line{{Text: fmt.Sprintf("%s is a finding on %d of %s that are known.", id, found,
		screen.Count(known, "host"))}}
	d.Sections = nil                                          // what to do, and why, stand before a row for each host
	if h := r.fleet.by[list[0].Host]; found > 0 && h != nil { // findings come first
		last, err := lastReport(ctx, r, h)
		if err != nil {
			return nil, err
		}
		if remedy := last.remedies[id]; remedy != "" {
			d.Sections = append(d.Sections, document.Titled("Remedy", document.Commands{{
				Why: "on " + h.Name + "; the page of each host has its own", Line: remedy}}))
		}
	}
	if c, err := check.Find(id); err == nil {
		why := check.Explain(c).Sections
		d.Sections = append(append(d.Sections, why[0], document.Titled("Hosts", t)), why[1:]...)
	} else {
		d.Sections = append(d.Sections, document.Titled("Hosts", t))
	}
	return d, nil
}
