package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
)

func changes(_ context.Context, r *request) (*document.Document, error) {
	command := "'" + screen.With("hostlab fleet changes", "--store", r.Address) + "'"
	q := r.URL.Query()
	since := cmp.Or(q.Get("since"), "7d")
	back, err := fleet.Days(since)
	if err != nil || back > lookBack {
		return nil, unusable("since takes up to 31 days, such as 7d or 36h; the command %s goes further back.", command)
	}
	list := r.fleet.since(r.now.Add(-back))
	text := strings.TrimSpace(q.Get("q"))
	if text != "" {
		list = slices.DeleteFunc(list, func(c fleet.Change) bool {
			return !strings.Contains(strings.ToLower(c.Host), strings.ToLower(text)) &&
				!strings.Contains(strings.ToLower(c.Subject), strings.ToLower(text))
		})
	}
	d := fleet.ChangesDocument(list, back)
	if says := &d.Answer[0].Text; text != "" {
		*says = fmt.Sprintf("%s, of what or whom the name contains %q.", strings.TrimSuffix(*says, "."), text)
	}
	if len(r.fleet.hosts) > 0 && r.fleet.full() {
		d.Warnings = []string{fmt.Sprintf("only the newest %d changes of facts, and of checks, are shown; %s has all",
			mostChanges, command)}
	}
	slower := d.Sections[0] // those that became slower
	groups := changeGroups(list)
	if !r.whole && len(groups.Rows) > 25 {
		groups.Lead = fmt.Sprintf("Those on most hosts, of %d different changes.", len(groups.Rows))
		groups.Rows = groups.Rows[:25]
	}
	t := changeTable(list, true)
	if err := r.paged(t, "change"); err != nil {
		return nil, err
	}
	form := document.Form{Action: "/changes", Button: "Show", Fields: []document.Field{
		{Name: "since", Label: "In the last", Value: since, Choices: periods(since)},
		{Name: "q", Label: "Host, fact or check contains", Value: text}}}
	if r.whole { // a program wants each change
		d.Sections = []document.Section{slower, document.Titled("One by one", t), document.Titled("Together", groups)}
		return d, nil
	}
	d.Sections = []document.Section{slower, document.Titled("Together", form, groups), document.Titled("One by one", t),
		document.Titled("Evidence", document.Commands{{Why: "every answer of every check with the hashes of its documents, " +
			"for an auditor", Line: screen.With("hostlab fleet report --format csv", "--store", r.Address)}})}
	return d, nil
}

// periods are the choices of a form, with the one that is shown.
func periods(now string) []document.Choice {
	out := []document.Choice{{Value: "1d", Text: "day"}, {Value: "7d", Text: "7 days"}, {Value: "31d", Text: "31 days"}}
	if !slices.ContainsFunc(out, func(c document.Choice) bool { return c.Value == now }) {
		out = append(out, document.Choice{Value: now, Text: now})
	}
	return out
}

// full reports that there may be more changes than a snapshot keeps.
func (f *snapshot) full() bool {
	n := 0
	for _, list := range f.changes {
		n += len(list)
	}
	return n >= mostChanges
}

// changeTable has a row a change.
func changeTable(list []fleet.Change, named bool) *document.Table {
	columns := document.Columns{}.Wholes("when (UTC)")
	if named {
		columns = columns.Names("host")
	}
	t := &document.Table{Columns: columns.Names("what", "before", "after")}
	for _, c := range list {
		cells := []document.Cell{document.Text(c.At.Format(minutes))}
		if named {
			cells = append(cells, hostCell(c.Host))
		}
		t.Add(append(cells, document.Text(c.Subject), said(c.Before), said(c.After))...)
	}
	return t
}

func compare(ctx context.Context, r *request) (*document.Document, error) {
	q := r.URL.Query()
	names := [2]string{strings.TrimSpace(q.Get("a")), strings.TrimSpace(q.Get("b"))}
	form := document.Form{Action: "/compare", Button: "Compare", Fields: []document.Field{
		{Name: "a", Label: "Host", Value: names[0], Suggest: r.names()},
		{Name: "b", Label: "With", Value: names[1], Suggest: r.names()}}}
	if names[0] == "" || names[1] == "" || names[0] == names[1] {
		return &document.Document{Name: "fleet", Title: "Compare two hosts",
			Answer: []document.Line{{Text: "Name two different hosts: this page says where measurements set them apart, and what is set " +
				"up differently."}}, Sections: []document.Section{document.Titled("Which hosts", form)}, Data: struct{}{}}, nil
	}
	for _, name := range names {
		if r.fleet.by[name] == nil {
			return nil, notThere("host: " + strconv.Quote(screen.Short(name)))
		}
	}
	d, err := r.Store.Diff(ctx, r.fleet.by[names[0]], r.fleet.by[names[1]], r.now, r.Stale)
	if err != nil {
		return nil, err
	}
	for _, t := range tables(d) {
		if err := r.paged(t, "row"); err != nil {
			return nil, err
		}
	}
	links := document.Links{Label: "The two hosts"}
	for _, name := range names {
		links.List = append(links.List, document.Link{Text: name, URL: "/hosts/" + segment(name)})
	}
	d.Sections = append(d.Sections, document.Titled("Other hosts", links, form))
	return d, nil
}

func checks(_ context.Context, r *request) (*document.Document, error) {
	sum := fleet.Status(r.fleet.hosts, r.fleet.documents, r.now, r.Stale)
	t := &document.Table{Columns: document.Headings("check").Names("problem", "severity").Figures("hosts")}
	for _, f := range sum.Findings {
		t.Row(checkCell(f.Check), fleet.CheckTitle(f.Check), severityCell(f.Severity), f.Hosts)
	}
	answer := "No check finds anything on a host that is known."
	if n := len(sum.Findings); n > 0 {
		answer = fmt.Sprintf("%s something on hosts that are known; the gravest is %s.",
			screen.Plural(n, "check finds", "checks find"), sum.Findings[0].Check)
	}
	if err := r.paged(t, "check"); err != nil {
		return nil, err
	}
	return &document.Document{Name: "fleet", Title: "Checks", Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled("Checks that find something", t)}, Data: struct {
			document.Head
			Findings []fleet.Tally `json:"findings"`
		}{fleet.HeadOf("checks"), sum.Findings}}, nil
}
