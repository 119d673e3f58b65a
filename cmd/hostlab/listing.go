package main

import (
	"fmt"

	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/workload/all"
)

// listSchema is the version of the JSON of lists, of plans and files of studies, and of what 'workload' prints.
const listSchema = 1

// named is a member of a list.
type named struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// listing is the document of a list.
func listing(command, title, answer string, list []named, data any) *document.Document {
	t := &document.Table{Columns: []document.Column{{Head: "name"}, {Head: "title"}}}
	for _, x := range list {
		t.Add(document.Texts(x.Name, x.Title)...)
	}
	return &document.Document{Name: command, Title: title, Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled(title, t)}, Data: data}
}

func workloadList() *document.Document {
	var list []named
	for _, x := range all.Workloads() {
		d := x.Describe()
		list = append(list, named{d.Name, d.Title})
	}
	return listing("workload", "Workloads", fmt.Sprintf("hostlab has %d workloads.", len(list)), list, struct {
		document.Head
		Workloads []named `json:"workloads"`
	}{document.Head{Kind: "workloads", Schema: listSchema}, list})
}

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
