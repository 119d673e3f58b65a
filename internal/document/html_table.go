package document

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/picture"
)

func (m *page) table(id, section string, t *Table) {
	caption := cmp.Or(t.Title, section)
	if t.Title != "" {
		m.In(`<h3 id="`, id, `">`)
		m.In("", t.Title, "</h3>\n  ")
	}
	m.Maybe(`<p class="lead">`, t.Lead, "</p>\n")
	m.In(`<div class="scroll" role="region" aria-label="`, caption, ": table\" tabindex=\"0\">\n  <table class=\"cards")
	m.If(!slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Link != "" }), " sortable")
	m.In("\">\n    <caption class=\"quiet\">", caption, "</caption>\n    <thead><tr>")
	for _, c := range t.Columns {
		m.Raw(`<th scope="col"`)
		m.If(c.Right, ` class="num"`)
		m.Maybe(` aria-sort="`, c.Sorted, `"`)
		m.Raw(">")
		m.linked(`<a class="sort" href="`, c.Link, c.Head)
		m.Raw("</th>")
	}
	m.Raw("</tr></thead>\n    <tbody>")
	for _, r := range t.Rows {
		m.row(t.Columns, r)
	}
	m.Raw("</tbody>\n  </table></div>")
	if len(t.Links.List) > 0 {
		m.links(t.Links)
	}
}

func (m *page) row(columns []Column, r Row) {
	m.Raw("<tr")
	m.id(r.Anchor)
	m.Raw(">")
	for k, c := range r.Cells {
		if k == 0 {
			m.Raw(`<th scope="row"`)
			m.If(columns[0].Whole, ` class="whole"`)
			m.Raw(">")
			m.cell(c)
			for _, l := range r.Notes {
				m.Raw("<small")
				m.class("cell-notes", l.Tone)
				m.Raw(">")
				m.said(l)
				m.Raw("</small>")
			}
			m.Raw("</th>")
			continue
		}
		m.Raw("<td")
		m.If(columns[k].Right, ` class="num"`)
		m.In(` data-label="`, columns[k].Head, `"`)
		if c.sortable() {
			m.Raw(` data-sort="`)
			m.Own(picture.HTML(fmt.Sprintf("%g", c.Sort))) // a number
			m.Raw(`"`)
		}
		m.Raw("><span")
		m.If(columns[k].Whole, ` class="whole"`)
		m.Raw(">")
		m.figure(c, columns[k].Right)
		m.Raw("</span></td>")
	}
	if r.Across != "" {
		m.In(`<td class="across" colspan="`, fmt.Sprint(len(columns)-1), `">`)
		m.In("", r.Across, "</td>")
	}
	m.Raw("</tr>\n    ")
}

// figure is a cell behind the first.
func (m *page) figure(c Cell, right bool) {
	if c.Tone != "" {
		m.Raw("<span")
		m.class("badge", c.Tone)
		m.Raw(">")
		m.linked(`<a href="`, c.Link, c.Text)
		m.Raw("</span>")
		m.each("<small>", c.More, "</small>")
		return
	}
	m.If(right, "<strong>")
	m.linked(`<a href="`, c.Link, c.Text)
	m.If(right, "</strong>")
	m.each("<small>", c.More, "</small>")
}

func (m *page) cell(c Cell) {
	m.linked(`<a href="`, c.Link, c.Text)
	m.each("<small>", c.More, "</small>")
}
