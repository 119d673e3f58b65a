package document

import (
	"cmp"
	"embed"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"hostlab/internal/picture"
	"hostlab/internal/result"
)

//go:embed web
var web embed.FS

// view is what a page shows.
type view struct {
	*Document
	Page  picture.Page
	Shown []Section
	Site  *Site // nil: the page is a file of its own
}

// WriteHTML prints a document as one page that loads nothing from anywhere. The page holds
// the document's JSON, so that its reader can save it.
func WriteHTML(w io.Writer, d *Document) error {
	css, err := web.ReadFile("web/document.css")
	if err != nil {
		return err
	}
	data, err := result.JSON(cmp.Or(d.PageData, d.Data), jsontext.EscapeForHTML(true))
	if err != nil {
		return err
	}
	shell, err := picture.NewPage(d.Title, append(css, d.Style...), data)
	if err != nil {
		return err
	}
	return (&view{d, shell, d.shown(Page), nil}).write(w)
}

// WriteJSON prints data as indented JSON.
func WriteJSON(w io.Writer, data any) error {
	text, err := result.JSON(data, result.Indented)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (v *view) write(w io.Writer) error {
	m := &page{}
	m.Head(v.Page)
	m.header(v)
	m.Raw("<main>\n")
	m.verdict(v)
	for i, s := range v.Shown {
		m.section(i, s)
	}
	m.Raw("\n")
	if v.Site == nil {
		m.Raw(`<p><button type="button" id="download" class="js" hidden>Download the figures (JSON)</button></p>
<noscript><p>The figures are in this file, in the script element with the id "data".</p></noscript>
`)
	}
	m.Raw("</main>\n<footer><p>")
	m.Maybe("", v.Footer, ` <span class="sep">·</span> `)
	what := picture.Fixed("file loads nothing from anywhere")
	if v.Site != nil {
		what = "page loads nothing from elsewhere"
	}
	m.Raw("this ")
	m.Raw(what)
	m.Raw("</p></footer>\n")
	m.Tail(v.Page)
	_, err := m.WriteTo(w)
	return err
}

// page is a document's page in the making.
type page struct{ picture.Markup }

func (m *page) header(v *view) {
	m.Raw("\n<header>\n  <div class=\"top\">\n    <p class=\"brand\">")
	if v.Site != nil {
		m.Raw(`<a href="`)
		m.Address(v.Site.Home)
		m.In(`">hostlab `, v.Name, "</a>")
	} else {
		m.In("hostlab ", v.Name, "")
	}
	m.Raw(`</p>
    <button type="button" id="theme" class="js" hidden>Dark theme</button>
  </div>
  `)
	if v.Site != nil {
		m.links(v.Site.Links)
		m.Raw("\n  ")
	}
	m.In("<h1>", v.Title, "</h1>\n  ")
	if len(v.About) > 0 {
		m.Raw(`<ul class="host">`)
		m.each("<li>", v.About, "</li>")
		m.Raw("</ul>")
	}
	m.Raw("\n</header>\n")
}

func (m *page) verdict(v *view) {
	m.Raw(`<section id="verdict" class="verdict" aria-labelledby="h-verdict">
  <h2 id="h-verdict">Answer</h2>
  `)
	for _, l := range v.Answer {
		m.Raw("<p")
		m.class("", l.Tone)
		m.In(">", l.Text, "</p>\n  ")
	}
	if len(v.Warnings) > 0 {
		m.Raw(`<div class="warn" role="note" aria-labelledby="h-warn"><h3 id="h-warn">Before you rely on it</h3><ul>`)
		m.each("<li>", v.Warnings, "</li>")
		m.Raw("</ul></div>")
	}
	m.Raw("\n</section>\n")
}

func (m *page) section(i int, s Section) {
	m.Raw("<section")
	m.id(s.Anchor)
	m.In(` aria-labelledby="`, fmt.Sprint("h", i), "\">\n  ")
	m.In(`<h2 id="`, fmt.Sprint("h", i), `">`)
	m.In("", s.Title, "</h2>\n  ")
	m.If(s.Folded, `<details class="block"><summary>Show</summary>`)
	m.Raw("\n  ")
	for j := range s.Blocks {
		m.block(fmt.Sprintf("h%d-%d", i, j), s, j)
		m.Raw("\n  ")
	}
	m.If(s.Folded, "</details>")
	m.Raw("\n</section>\n")
}

// block writes a section's block. id is for its heading.
func (m *page) block(id string, s Section, j int) {
	shown := func(i int) bool {
		if i < 0 || i >= len(s.Blocks) {
			return false
		}
		_, ok := s.Blocks[i].(Figure)
		return ok
	}
	switch b := s.Blocks[j].(type) {
	case Links:
		m.links(b)
	case Form:
		m.form(b)
	case Line:
		m.Raw("<p")
		m.class("block-lines", b.Tone)
		m.Raw(">")
		m.said(b)
		m.Raw("</p>")
	case List:
		m.Raw(`<ul class="plain">`)
		for _, l := range b {
			m.Raw("<li")
			m.class("", l.Tone)
			m.Raw(">")
			m.said(l)
			m.Raw("</li>")
		}
		m.Raw("</ul>")
	case Pairs:
		m.pairs(b)
	case Commands:
		for _, c := range b {
			m.Maybe(`<p class="note">`, c.Why, ":</p>")
			m.Raw(`<pre tabindex="0"><code>`)
			m.Text(c.Line)
			m.Raw("</code></pre>")
		}
	case *Bars:
		m.bars(b)
		if b.Table != nil {
			m.Raw(`<details class="block"><summary>In figures</summary>`)
			m.table(id, cmp.Or(b.Title, s.Title), b.Table)
			m.Raw("</details>")
		}
	case Figure:
		m.If(!shown(j-1), `<div class="pictures">`)
		m.Figure(b.Figure)
		m.If(!shown(j+1), "</div>")
	case *Table:
		m.table(id, s.Title, b)
	}
}

func (m *page) pairs(list Pairs) {
	m.Raw(`<dl class="pairs">`)
	for _, p := range list {
		m.In("<dt>", p.Name, "</dt><dd")
		m.class("", p.Tone)
		m.In(">", p.Value, "")
		m.Maybe(`<br><small class="dim"><code>`, p.Source, "</code></small>")
		m.each(`<br><small class="dim">`, p.More, "</small>")
		m.Raw("</dd>")
	}
	m.Raw("</dl>")
}

func (m *page) bars(b *Bars) {
	m.Maybe("<h3>", b.Title, "</h3>\n  ")
	m.Maybe(`<p class="lead">`, b.Lead, "</p>\n  ")
	m.Raw(`<div class="panel"><ul class="strips">`)
	for _, r := range b.Rows {
		m.Raw("<li>")
		m.Maybe("<span>", r.Name, "</span>")
		m.Own(b.Strip(r))
		if len(r.Ends) > 0 {
			m.Raw("<span>")
			for _, e := range r.Ends {
				m.Raw("<span")
				if e.Tone != "" {
					m.class("badge", e.Tone)
				}
				m.In(">", e.Text, "</span> ")
			}
			m.Raw("</span>")
		}
		m.Raw("</li>")
	}
	m.Raw("</ul>\n  <ul class=\"keys\">")
	for _, k := range b.Keys() {
		m.Raw("<li>")
		m.Own(b.Swatch(k))
		m.In(" ", k.Name, "")
		m.In(" ", k.Text, "</li>")
	}
	m.Raw("</ul></div>\n  ")
}

// linked is a text, as a link where there is an address.
func (m *page) linked(begin picture.Fixed, address, text string) {
	if address == "" {
		m.In("", text, "")
		return
	}
	m.Raw(begin)
	m.Address(address)
	m.In(`">`, text, "</a>")
}

// said is a line with links to its anchors.
func (m *page) said(l Line) {
	m.In("", l.Text, "")
	for _, s := range l.See {
		m.Raw(` <a href="`)
		m.Address(picture.Anchor(s))
		m.In(`">`, s, "</a>")
	}
}

func (m *page) links(l Links) {
	m.In(`<nav class="links" aria-label="`, l.Label, `"><ul>`)
	for _, x := range l.List {
		m.Raw(`<li><a href="`)
		m.Address(x.URL)
		m.Raw(`"`)
		m.If(x.Here, ` aria-current="page"`)
		m.In(">", x.Text, "</a></li>")
	}
	m.Raw("</ul></nav>")
}

func (m *page) form(f Form) {
	m.Raw(`<form class="ask" method="get" action="`)
	m.Address(f.Action)
	m.Raw(`">`)
	for _, q := range f.Fields {
		m.In("<label>", q.Label, " ")
		if len(q.Choices) > 0 {
			m.In(`<select name="`, q.Name, `">`)
			for _, c := range q.Choices {
				m.In(`<option value="`, c.Value, `"`)
				m.If(c.Value == q.Value, " selected")
				m.In(">", c.Text, "</option>")
			}
			m.Raw("</select>")
		} else {
			m.In(`<input type="text" name="`, q.Name, `"`)
			m.In(` value="`, q.Value, `" maxlength="253" autocomplete="off"`)
			if len(q.Suggest) > 0 {
				m.In(` list="suggest-`, q.Name, `"`)
			}
			m.Raw(">")
		}
		m.Raw("</label>")
		if len(q.Suggest) > 0 {
			m.In(`<datalist id="suggest-`, q.Name, `">`)
			m.each(`<option value="`, q.Suggest, `"></option>`)
			m.Raw("</datalist>")
		}
		m.Raw("\n  ")
	}
	m.In(`<button type="submit">`, f.Button, "</button></form>")
}

// each writes texts of one kind.
func (m *page) each(before picture.Fixed, list []string, behind picture.Fixed) {
	for _, s := range list {
		m.In(before, s, behind)
	}
}

// id is an attribute, where there is something to refer to.
func (m *page) id(anchor string) {
	if anchor != "" {
		m.Raw(` id="`)
		m.Text(anchor)
		m.Raw(`"`)
	}
}

// class is an attribute of a class and a tone; either may be missing.
func (m *page) class(name picture.Fixed, tone Tone) {
	if name == "" && tone == "" {
		return
	}
	m.Raw(` class="`)
	m.Raw(name)
	m.If(name != "" && tone != "", " ")
	if tone != "" {
		m.Raw("t-")
		m.Text(string(tone))
	}
	m.Raw(`"`)
}
