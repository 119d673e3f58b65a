package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// leverJSON is a lever of a host.
type leverJSON struct {
	Host string `json:"host"`
	fleet.Lever
	SecondsPerDay *float64 `json:"seconds_per_day"` // of active time that it may save; null: not known
}

func levers(_ context.Context, r *request) (*document.Document, error) {
	sum := fleet.Status(r.fleet.hosts, r.fleet.documents, r.now, r.Stale)
	d := &document.Document{Name: "fleet", Title: "Levers", Data: struct {
		document.Head
		Levers []fleet.LeverSum `json:"levers"`
	}{fleet.HeadOf("levers"), sum.Levers}}
	d.Answer = []document.Line{{Text: "No assessment of a host that is known calls a lever worthwhile."}}
	if len(sum.Levers) > 0 {
		l := sum.Levers[0]
		d.Answer[0].Text = fmt.Sprintf("The lever %q is worthwhile on %s; how much it would save is not known.",
			lever.Title(l.Name), screen.Count(l.Hosts, "host"))
		if l.Known > 0 {
			d.Answer[0].Text = fmt.Sprintf("The lever %q may save most: %s of services' active time, on %s.",
				lever.Title(l.Name), fleet.ADay(l.SecondsPerDay), screen.Count(l.Hosts, "host"))
		}
	}
	t := &document.Table{Columns: document.Headings("lever", "worthwhile on", "may save", "saving known on"),
		Lead: "Of hosts that are known. Savings are at the load that was watched."}
	t.Columns[2].Unit = "s a day"
	b := &document.Bars{Table: t, Lead: "What each lever may save, in services' active time a day."}
	for _, l := range sum.Levers {
		saves := document.Text("unknown")
		if l.Known > 0 {
			saves = document.Number(l.SecondsPerDay, fleet.ADay(l.SecondsPerDay))
			b.Rows = append(b.Rows, document.Bar{Name: lever.Title(l.Name),
				Segments: []document.Segment{{Class: "likely", Name: "likely", Value: l.SecondsPerDay, Text: saves.Text}},
				Ends:     []document.Cell{document.Text(saves.Text)}})
		}
		t.Add(leverCell(l.Name), document.Number(float64(l.Hosts), screen.Count(l.Hosts, "host")), saves,
			document.Number(float64(l.Known), screen.Count(l.Known, "host")))
	}
	// The table is what links to each lever, so that it stands open below the bars.
	d.Sections = []document.Section{document.Titled("Where one change pays most", t)}
	if len(b.Rows) > 1 {
		d.Sections = []document.Section{document.Titled("Where one change pays most",
			&document.Bars{Rows: b.Rows, Lead: b.Lead}, t)}
	}
	return d, nil
}

func oneLever(_ context.Context, r *request) (*document.Document, error) {
	name := r.PathValue("name")
	var list []leverJSON
	there, worth, saves := false, 0, 0.0
	for _, h := range r.known() {
		for _, l := range h.Levers {
			if l.Name != name {
				continue
			}
			there = true
			list = append(list, leverJSON{h.Name, l, l.SecondsPerDay})
			if l.Verdict == lever.Worthwhile {
				worth++
				if l.SecondsPerDay != nil {
					saves += *l.SecondsPerDay
				}
			}
		}
	}
	if !there {
		return nil, notThere("lever on a host that is known")
	}
	slices.SortStableFunc(list, func(a, b leverJSON) int {
		return cmp.Or(cmp.Compare(orNone(b.SecondsPerDay), orNone(a.SecondsPerDay)), strings.Compare(a.Host, b.Host))
	})
	t := leverTable()
	t.Columns[0].Head = "host"
	from, to, err := r.window(t, len(list), "host")
	if err != nil {
		return nil, err
	}
	for i := from; i < to; i++ { // a page of thousands is not made whole
		addLever(t, hostCell(list[i].Host), &list[i].Lever)
	}
	return &document.Document{Name: "fleet", Title: "Lever: " + lever.Title(name),
		Answer: []document.Line{{Text: fmt.Sprintf("The lever %q is worthwhile on %d of %s whose assessment judges it, and "+
			"may save %s there.", lever.Title(name), worth, screen.Count(len(list), "host"), fleet.ADay(saves))}},
		Sections: []document.Section{document.Titled("Hosts", t)}, Data: struct {
			document.Head
			Name  string      `json:"lever"`
			Hosts []leverJSON `json:"hosts"`
		}{fleet.HeadOf("lever"), name, list}}, nil
}

func orNone(v *float64) float64 {
	if v == nil {
		return math.Inf(-1)
	}
	return *v
}

// leverCell names a lever as assess does, and leads to its page.
func leverCell(name string) document.Cell {
	return document.Cell{Text: lever.Title(name), Link: "/levers/" + segment(name)}
}

// leverTable shows levers of one host, or one lever of hosts.
func leverTable() *document.Table {
	t := &document.Table{Columns: document.Headings("lever", "estimate", "at most", "may save").
		Names("verdict", "evidence", "what it rests on", "what to type"), Lead: "Shares are of the service's active time."}
	t.Columns[3].Unit = "s a day"
	return t
}

func addLever(t *document.Table, name document.Cell, l *fleet.Lever) {
	next := none(l.Next.Command)
	next.Command = l.Next.Command != ""
	share := func(v *float64) document.Cell {
		if v == nil {
			return document.Text("unknown")
		}
		return document.Number(*v, result.Share(*v))
	}
	saves := perDay(l.SecondsPerDay)
	t.Add(name, share(l.Estimate), l.Most(), saves, l.Verdict.Cell(), none(string(l.Kind())), none(l.Why()), next)
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
	fleet.AcceptHeld(list, r.fleet.exceptions, r.fleet.hosts, r.now, r.Stale)
	t := &document.Table{Columns: document.Headings("host").Names("status", "severity",
		"role").Wholes("since").Names("what it says")}
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
