package picture

import (
	"bytes"
	"io"
	"net/url"
	"slices"
	"strings"

	"hostlab/internal/screen"
)

// HTML is markup that a function of the program has made and escaped.
type HTML string

// Fixed is markup that stands in the program's source: a constant. No text of a variable becomes one by itself.
type Fixed string

// Markup is a page in the making: all that is no constant is escaped. It is in place of html/template, which calls methods
// by names that the linker does not know, so that it keeps every method of every type in the program.
type Markup struct{ b bytes.Buffer }

// escaper escapes what may end a text or an attribute in quotes. + could begin UTF-7 in browsers of old.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "\x00",
	"\uFFFD")

// Raw writes constants.
func (m *Markup) Raw(s Fixed) { m.b.WriteString(string(s)) }

// If writes a constant where a condition holds.
func (m *Markup) If(condition bool, s Fixed) {
	if condition {
		m.Raw(s)
	}
}

// Text writes a text, or a part of an attribute's value.
func (m *Markup) Text(s string) { _, _ = escaper.WriteString(&m.b, s) } // a buffer takes all

// In writes a text with what stands around it.
func (m *Markup) In(before Fixed, s string, behind Fixed) {
	m.Raw(before)
	m.Text(screen.Clean(s))
	m.Raw(behind)
}

// Maybe is In for a text that may be missing: then it writes nothing.
func (m *Markup) Maybe(before Fixed, s string, behind Fixed) {
	if s != "" {
		m.In(before, s, behind)
	}
}

// Address writes the value of an attribute that a browser follows.
func (m *Markup) Address(s string) { m.Text(address(s)) }

// Own writes markup that the program has made.
func (m *Markup) Own(s HTML) { m.b.WriteString(string(s)) }

// WriteTo writes the page whole, without what steers a terminal or the direction of text.
func (m *Markup) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(screen.CleanPage(m.b.Bytes()))
	return int64(n), err
}

// kept are the characters of an address beside letters and digits; % begins one that is escaped already.
const kept = "-._~!#$&*+,/:;=?@[]%"

// address is an address that runs no script, without characters that an address cannot have.
func address(s string) string {
	if scheme, _, found := strings.Cut(s, ":"); found && !strings.ContainsAny(scheme, "/?#") &&
		!slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(scheme)) {
		return "#"
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(kept, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(escaped(c))
		}
	}
	return b.String()
}

const hexadecimal = "0123456789abcdef"

func escaped(c byte) string { return string([]byte{'%', hexadecimal[c>>4], hexadecimal[c&15]}) }

// Anchor is a place in this page, for Address.
func Anchor(name string) string { return "#" + url.QueryEscape(name) }

// Head begins a page.
func (m *Markup) Head(p Page) {
	m.Raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	if p.Style == "" {
		m.Raw(`<meta http-equiv="Content-Security-Policy" content="`)
		m.Text(p.Policy)
		m.Raw("\">\n")
	}
	m.Raw(`<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>`)
	m.Text(p.Title)
	m.Raw("</title>\n")
	before := Fixed("verdict")
	if p.Style != "" {
		before = "answer"
		m.Raw(`<link rel="stylesheet" href="`)
		m.Address(p.Style)
		m.Raw("\">\n<script src=\"")
		m.Address(p.Script)
		m.Raw(`" defer></script>`)
	} else {
		m.Raw("<style>")
		m.b.Write(p.css)
		m.Raw("</style>")
	}
	m.Raw("\n</head>\n<body>\n<a class=\"skip\" href=\"#verdict\">To the ")
	m.Raw(before)
	m.Raw("</a>")
}

// Tail ends a page.
func (m *Markup) Tail(p Page) {
	m.Raw(`<p id="status" class="quiet" role="status" aria-live="polite"></p>` + "\n")
	if p.Style == "" {
		m.Raw(`<script type="application/json" id="data">`)
		m.b.Write(p.data)
		m.Raw("</script>\n<script>")
		m.b.Write(p.js)
		m.Raw("</script>\n")
	}
	m.Raw("</body>\n</html>\n")
}

// Figure shows a picture.
func (m *Markup) Figure(f Figure) {
	m.Raw("<figure")
	m.If(f.Wide, ` class="wide"`)
	m.If(f.Tall && !f.Wide, ` class="tall"`)
	m.Raw("><h3>")
	m.Text(f.Title)
	m.Raw(`</h3><div class="canvas"`)
	if f.Wide {
		m.Raw(` role="group" aria-label="`)
		m.Text(f.Title)
		m.Raw(`" tabindex="0"`)
	}
	m.Raw(">")
	m.Own(f.SVG)
	m.Raw("</div><figcaption>")
	m.Text(f.Note)
	m.Raw("</figcaption>")
	if f.Table != nil {
		m.table(f.Table)
	}
	m.Raw("</figure>")
}

func (m *Markup) table(t *Table) {
	m.Raw(`<details><summary>As a table</summary><div class="scroll" role="region" aria-label="`)
	m.Text(t.Caption)
	m.Raw(`" tabindex="0"><table><caption class="quiet">`)
	m.Text(t.Caption)
	m.Raw("</caption><thead><tr>")
	for _, h := range t.Head {
		m.Raw(`<th scope="col">`)
		m.Text(h)
		m.Raw("</th>")
	}
	m.Raw("</tr></thead><tbody>")
	for _, row := range t.Rows {
		m.Raw("<tr>")
		for i, c := range row {
			begin, end := Fixed(`<td class="num">`), Fixed("</td>")
			if i == 0 {
				begin, end = `<th scope="row">`, "</th>"
			}
			m.Raw(begin)
			m.Text(c)
			m.Raw(end)
		}
		m.Raw("</tr>")
	}
	m.Raw("</tbody></table></div></details>")
}
