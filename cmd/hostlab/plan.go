package main

import (
	"hostlab/internal/document"
	"hostlab/internal/experiment"
)

// planDocument shows what studies do.
func planDocument(plans ...experiment.Outline) *document.Document {
	d := &document.Document{Name: "study", Title: "Plan", Data: struct {
		document.Head
		Plans []experiment.Outline `json:"plans"`
	}{document.Head{Kind: "plans", Schema: listSchema}, plans}}
	for _, p := range plans {
		head, title := p.Study, "Plan"
		if p.Title != p.Study {
			head += ": " + p.Title
		}
		d.Answer = append(d.Answer, document.Line{Text: head})
		if len(plans) > 1 {
			title += " of " + p.Study
		}
		var pairs document.Pairs
		for _, r := range p.Text {
			pairs = append(pairs, document.Pair{Name: r.Label, Value: r.Text})
		}
		d.Sections = append(d.Sections, document.Titled(title, pairs))
	}
	d.Rows = document.PairRows(d.Sections)
	return d
}
