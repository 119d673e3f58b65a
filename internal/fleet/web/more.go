package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

// outliers is the page of hosts that measure unlike their peers: all measurements of a fleet take seconds to compare.
func outliers(ctx context.Context, r *request) (*document.Document, error) {
	made, at, err := r.peers.get(ctx, r, r.comparing)
	if err != nil {
		return nil, err
	}
	d, err := r.own(made, leadHosts)
	if err == nil {
		d.About = []string{"Compared at " + at.UTC().Format(minutes) + " UTC, with what had come until then."}
	}
	return d, err
}

// comparing compares hosts with their peers.
func (r *request) comparing(ctx context.Context) (*document.Document, error) {
	return r.Outliers(ctx, r.now, r.Stale)
}

// unlike counts the outliers that were found last, and names the first. A first page does not wait for them.
func (r *request) unlike(ctx context.Context) document.Cell {
	made := r.peers.peek(ctx, r, r.comparing)
	if made == nil {
		return document.Text("being compared")
	}
	var names []string
	for _, row := range section(made, "Outliers").Rows {
		if name := row.Cells[0].Text; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	c := document.Number(float64(len(names)), strconv.Itoa(len(names)))
	if n := len(names) - mostUnlike; n > 0 {
		names = append(names[:mostUnlike], strconv.Itoa(n)+" more")
	}
	if len(names) > 0 {
		c.More = []string{strings.Join(names, ", ")}
	}
	return c
}

// mostUnlike are as many outliers as the first page names.
const mostUnlike = 8

func exceptionPage(_ context.Context, r *request) (*document.Document, error) {
	d := fleet.ExceptionsDocument(r.fleet.hosts, r.fleet.exceptions, r.now)
	if t := section(d, "Exceptions"); t != nil {
		for i := range t.Rows {
			if c := &t.Rows[i].Cells[0]; !strings.ContainsAny(c.Text, "*?[") {
				c.Link = "/checks/" + segment(c.Text)
			}
		}
	}
	accepted := &document.Table{Columns: document.Headings("host").Names("check", "severity", "until", "reason"),
		Lead: "Findings that are accepted, by an exception of the fleet or by the host's own."}
	for _, h := range r.known() {
		for _, f := range h.Accepted {
			until, reason := "", ""
			if f.Exception != nil {
				until, reason = f.Exception.Until, f.Exception.Reason
			}
			accepted.Row(hostCell(h.Name), checkCell(f.Check), f.Severity, none(until), none(reason))
		}
	}
	if err := r.paged(accepted, "finding"); err != nil {
		return nil, err
	}
	if len(r.fleet.exceptions) == 0 {
		d.Answer = []document.Line{{Text: fmt.Sprintf("This server has no exceptions of the fleet; --exceptions names "+
			"their file. Hosts accept %s of their own.", screen.Count(len(accepted.Rows), "finding"))}}
	}
	d.Sections = append(d.Sections, document.Titled("Accepted findings", accepted))
	return d, nil
}

func studies(ctx context.Context, r *request) (*document.Document, error) {
	names, err := r.Store.Studies(ctx)
	if err != nil {
		return nil, err
	}
	t := &document.Table{Columns: document.Headings("study")}
	for _, n := range names {
		t.Add(document.Cell{Text: n, Link: "/studies/" + segment(n)})
	}
	answer := "No report of an experiment is here yet: 'hostlab report --format json' writes one."
	if len(names) > 0 {
		answer = screen.Plural(len(names), "study was", "studies were") +
			" run on hosts. Each page joins one over hosts, and says what to expect of the next."
	}
	return &document.Document{Name: "fleet", Title: "Studies", Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled("Studies", t)}, Data: struct {
			document.Head
			Studies []string `json:"studies"`
		}{fleet.HeadOf("studies"), names}}, nil
}

func oneStudy(ctx context.Context, r *request) (*document.Document, error) {
	name := r.PathValue("name")
	ran, err := r.Store.Ran(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(ran) == 0 {
		return nil, notThere("study in any document")
	}
	d := fleet.PoolDocument(name, fleet.PoolStudies(ran))
	for _, t := range tables(d) {
		for i := range t.Rows {
			if c := &t.Rows[i].Cells[0]; r.fleet.by[c.Text] != nil {
				c.Link = "/hosts/" + segment(c.Text)
			}
		}
		if err := r.paged(t, "row"); err != nil {
			return nil, err
		}
	}
	return d, nil
}
