package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/result"
)

// report is what a host's page takes of the documents that the host wrote last.
type report struct {
	sections []document.Section
	remedies map[string]string // by check
}

// lastReport reads a host's newest assessment, and the remedies of its newest document that has some.
func lastReport(ctx context.Context, r *request, h *fleet.Host) (report, error) {
	out := report{remedies: map[string]string{}}
	for _, kind := range []fleet.Kind{fleet.Checked, fleet.Assessment} {
		kept, err := r.Store.Of(ctx, h.Name, kind, 1)
		if err != nil {
			return out, err
		}
		if len(kept) == 0 || !kept[0].Whole {
			continue
		}
		body, err := r.Store.Body(ctx, kept[0].Hash)
		if err != nil {
			return out, err
		}
		d, err := fleet.Read(body, h.Name, kept[0].Received)
		if err != nil { // another hostlab kept it; the page has the rest
			continue
		}
		for _, f := range d.Findings {
			if f.Remedy != "" {
				out.remedies[f.Check] = f.Remedy
			}
		}
		if kind == fleet.Assessment {
			out.sections = append(out.sections, timeSection(body), measuredSection(d), warningSection(body))
			for i := range out.sections {
				out.sections[i].Title += ", in the assessment of " + kept[0].Started.Format(minutes)
			}
		}
	}
	return out, nil
}

// timeSection shows where the service's time went. An older assessment may say it in other words: then it is left out.
func timeSection(body []byte) document.Section {
	var a struct {
		Time *assess.Time `json:"time"`
	}
	s := document.Section{Title: "Where its time went"}
	if err := json.Unmarshal(body, &a); err != nil || a.Time == nil || a.Time.Active <= 0 {
		return s
	}
	var all document.Bar
	t := &document.Table{Columns: document.Headings("part", "share", "95 % interval").Names("source")}
	for _, p := range a.Time.Parts {
		interval := "counted"
		if p.Interval != nil {
			interval = result.Estimate{Value: p.Share, Low: p.Interval[0], High: p.Interval[1]}.Percent().Interval()
		}
		t.Row(p.Name.Title(), document.Number(p.Share, result.Share(p.Share)), interval, p.Source)
		all.Segments = append(all.Segments, document.Segment{Class: p.Name.Class(), Name: p.Name.Title(), Value: p.Share,
			Text: result.Share(p.Share)})
	}
	s.Blocks = []document.Block{&document.Bars{Rows: []document.Bar{all}, Table: t,
		Lead: fmt.Sprintf("%s of active time in %s.", result.Format(a.Time.Active, "s"), result.Format(a.Time.Wall, "s"))}}
	return s
}

// measuredSection shows what the probes measured.
func measuredSection(d *fleet.Document) document.Section {
	t := &document.Table{Columns: document.Headings("measurement", "value", "n", "noise floor").Names("evidence")}
	for _, m := range d.Measured {
		if m.Value == nil {
			continue
		}
		e := result.Estimate{Value: *m.Value, Low: result.Unknown().Low, High: result.Unknown().High, N: m.N, Unit: m.Unit}
		value := document.Number(*m.Value, e.Text())
		if m.Low != nil && m.High != nil {
			e.Low, e.High = *m.Low, *m.High
			value.More = []string{e.Interval()}
		}
		floor := "unknown"
		if m.Noise != nil {
			floor = "±" + result.Share(*m.Noise) // of the value, as Read makes it
		}
		t.Row(cmp.Or(m.Title, m.Name), value, m.N, floor, none(m.Evidence))
	}
	return document.Titled("Measured", t).Closed()
}

// warningSection shows what the assessment itself says against relying on it.
func warningSection(body []byte) document.Section {
	var a struct {
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return document.Section{}
	}
	return document.Titled("Before you rely on it", document.Caution.Points(a.Warnings...))
}
