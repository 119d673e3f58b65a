package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

// outliers is the page of hosts that measure unlike their peers. All measurements of a fleet take seconds to compare. So
// one reader at a time begins that, it goes on without the reader, and all see the last answer until the next is there.
type outliers struct {
	mu      sync.Mutex
	made    time.Time
	kept    *document.Document
	failed  error         // why the last comparison gave none
	running chan struct{} // closed when it has ended; nil: none is under way
}

func (o *outliers) page(ctx context.Context, r *request) (*document.Document, error) {
	o.mu.Lock()
	if o.running == nil && (o.kept == nil || r.now.Sub(o.made) >= whole) {
		o.running = make(chan struct{})
		go o.compare(context.WithoutCancel(ctx), r)
	}
	running, kept := o.running, o.kept
	o.mu.Unlock()
	if kept == nil {
		select {
		case <-running:
		case <-time.After(patience / 2):
			return nil, &answer{http.StatusServiceUnavailable, "The hosts are being compared for the first time, which takes a minute at most. Load this page again."}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept == nil {
		return nil, o.failed
	}
	d := *o.kept
	d.About = []string{"Compared at " + o.made.UTC().Format(minutes) + " UTC; anew every " + screen.Lasting(whole) + "."}
	d.Sections = slices.Clone(d.Sections)
	for i, s := range d.Sections {
		if t := section(&d, s.Title); t != nil { // the kept one stays as it is
			own := *t
			own.Rows = slices.Clone(t.Rows)
			for k := range own.Rows {
				own.Rows[k].Cells = slices.Clone(own.Rows[k].Cells)
			}
			lead(&own, "/hosts/")
			if err := r.paged(&own, "row"); err != nil {
				return nil, err
			}
			d.Sections[i].Blocks = []document.Block{&own}
		}
	}
	return &d, nil
}

// compare makes the page anew.
func (o *outliers) compare(ctx context.Context, r *request) {
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	d, err := r.Peers(ctx, r.Store, r.now, r.Stale)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed = err; err == nil {
		o.kept, o.made = d, r.now
	} else {
		slog.Error("fleet serve: hosts were not compared", "error", err)
	}
	close(o.running)
	o.running = nil
}

func exceptionPage(_ context.Context, r *request) (*document.Document, error) {
	d := fleet.ExceptionsDocument(r.fleet.hosts, r.Exceptions, r.now)
	if t := section(d, "Exceptions"); t != nil {
		for i := range t.Rows {
			if c := &t.Rows[i].Cells[0]; !strings.ContainsAny(c.Text, "*?[") {
				c.Link = "/checks/" + segment(c.Text)
			}
		}
	}
	accepted := &document.Table{Columns: document.Headings("host"), Lead: "Findings that are accepted, by an exception of the fleet or by the host's own."}
	for _, head := range []string{"check", "severity", "until", "reason"} {
		accepted.Columns = append(accepted.Columns, document.Column{Head: head})
	}
	for _, h := range r.known() {
		for _, f := range h.Accepted {
			until, reason := "", ""
			if f.Exception != nil {
				until, reason = f.Exception.Until, f.Exception.Reason
			}
			accepted.Add(document.Cell{Text: h.Name, Link: "/hosts/" + segment(h.Name)}, document.Cell{Text: f.Check, Link: "/checks/" + segment(f.Check)},
				document.Text(f.Severity), none(until), none(reason))
		}
	}
	if err := r.paged(accepted, "finding"); err != nil {
		return nil, err
	}
	if len(r.Exceptions) == 0 {
		d.Answer = []document.Line{{Text: fmt.Sprintf("This server has no exceptions of the fleet; --exceptions names their file. Hosts accept %s of their own.",
			screen.Count(len(accepted.Rows), "finding"))}}
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
	if names == nil {
		names = []string{}
	}
	answer := "No report of an experiment is here yet: 'hostlab report --format json' writes one."
	if len(names) > 0 {
		answer = screen.Plural(len(names), "study was", "studies were") + " run on hosts. Each page joins one over hosts, and says what to expect of the next."
	}
	return &document.Document{Name: "fleet", Title: "Studies", Answer: []document.Line{{Text: answer}}, Sections: []document.Section{document.Titled("Studies", t)},
		Data: struct {
			Schema  int      `json:"schema"`
			Studies []string `json:"studies"`
		}{fleet.Schema, names}}, nil
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
