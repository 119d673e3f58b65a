package main

import (
	"fmt"

	"hostlab/internal/document"
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
