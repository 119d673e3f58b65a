package web

import (
	"context"
	"strconv"

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
			return planList(ctx, r.Store)
		})
	if err != nil {
		return nil, err
	}
	return r.own(made, func(*document.Table) {})
}

func planList(ctx context.Context, s *store.Store) (*document.Document, error) {
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
	answer := "No roll-out is planned. 'hostlab fleet rollout plan' makes a plan and keeps it here."
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
		return planPage(ctx, r.Store, hash)
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
func planPage(ctx context.Context, s *store.Store, hash string) (*document.Document, error) {
	d, err := s.Plan(ctx, hash)
	if err != nil {
		return nil, notThere("roll-out")
	}
	course, err := s.Course(ctx, d.Plan)
	if err != nil {
		return nil, err
	}
	out, err := course.Document(rollout.Typed{Plan: "plan.json"})
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
