package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/fleet/store"
	"hostlab/internal/screen"
)

// shownRollouts are as many plans as the page lists: each takes what was verified since.
const shownRollouts = 20

// planRow is a plan in the list.
type planRow struct {
	Hash   string        `json:"sha256"`
	Change string        `json:"change"`
	Made   string        `json:"made"`
	Hosts  int           `json:"hosts"`
	Waves  int           `json:"waves"`
	State  string        `json:"state"`
	Plan   *rollout.Plan `json:"-"`
}

// rollouts lists plans. How far they are takes what was verified since, of all hosts.
func rollouts(ctx context.Context, r *request) (*document.Document, error) {
	// A list of fewer plans is not the last answer to this one: the one who has just made a plan looks for it.
	made, _, err := r.plans.of(strconv.FormatInt(r.fleet.plans, 10)).get(ctx, r,
		func(ctx context.Context) (*document.Document, error) {
			return planList(ctx, r.Store, r.Address)
		})
	if err != nil {
		return nil, err
	}
	return r.own(made, func(*document.Table) {})
}

func planList(ctx context.Context, s *store.Store, address string) (*document.Document, error) {
	plans, all, err := s.Plans(ctx, shownRollouts)
	if err != nil {
		return nil, err
	}
	t := &document.Table{Columns: document.Headings("what is set").Wholes("planned").Figures("hosts",
		"waves").Names("state")}
	rows := []planRow{}
	for _, d := range plans {
		course, err := s.Progress(ctx, d.Plan)
		if err != nil {
			return nil, err
		}
		row := planRow{Hash: d.Hash, Change: d.Plan.Change(), Made: d.Started.UTC().Format(minutes),
			Hosts: len(d.Plan.Hosts()), Waves: len(d.Plan.Waves), State: course.State()}
		t.Row(document.Cell{Text: row.Change, Link: "/rollouts/" + d.Hash}, row.Made, row.Hosts, row.Waves, row.State)
		rows = append(rows, row)
	}
	answer := "No roll-out is planned. '" + screen.With("hostlab fleet rollout plan", "--store", address) +
		"' makes a plan and keeps it here."
	if all > 0 {
		answer = screen.Plural(all, "roll-out is planned", "roll-outs are planned") +
			". Each page says which waves are done, and what the gates say."
	}
	if all > len(plans) {
		t.Lead = "The newest " + strconv.Itoa(len(plans)) + "."
	}
	return &document.Document{Name: "fleet", Title: "Roll-outs", Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled("Plans", t)}, Data: struct {
			document.Head
			Rollouts []planRow `json:"rollouts"`
		}{fleet.HeadOf("rollouts"), rows}}, nil
}

func oneRollout(ctx context.Context, r *request) (*document.Document, error) {
	hash := r.PathValue("hash")
	if known, err := r.Store.Known(ctx, hash); err != nil || !known {
		return nil, orNotThere(err, "roll-out")
	}
	made, at, err := r.plans.of(hash).get(ctx, r, func(ctx context.Context) (*document.Document, error) {
		return planPage(ctx, &r.Config, hash)
	})
	if err != nil {
		return nil, err
	}
	d, err := r.own(made, leadHosts)
	if err == nil {
		d.About = append(d.About, "as documents said at "+at.UTC().Format(minutes)+" UTC")
	}
	return d, err
}

// planPage follows a plan: of a large fleet it takes the better part of a second.
func planPage(ctx context.Context, c *Config, hash string) (*document.Document, error) {
	d, err := c.Store.Plan(ctx, hash)
	if err != nil {
		return nil, notThere("roll-out")
	}
	course, err := c.Store.Course(ctx, d.Plan)
	if err != nil {
		return nil, err
	}
	out, err := course.Document(rollout.Typed{Plan: "plan.json", Store: c.Address})
	if err != nil {
		return nil, err
	}
	out.Name = "fleet"
	out.Sections = append(out.Sections, document.Titled("The plan", document.Links{Label: "The plan",
		List: []document.Link{{Text: "plan.json (SHA-256 " + hash[:12] + ")", URL: "/documents/" + hash}}}))
	return out, nil
}

// orNotThere is an error of the store, or that there is no such thing.
func orNotThere(err error, what string) error {
	if err != nil {
		return err
	}
	return notThere(what)
}

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
