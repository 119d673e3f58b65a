package document

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

//go:embed web
var web embed.FS

// pages is the template of all pages, parsed when the first is written.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(template.FuncMap{"class": class,
		"pieces": pieces, "unbroken": unbroken}).ParseFS(web, "web/page.html"))
})

// class is a class and a tone; either may be missing.
func class(name string, tone Tone) string {
	if tone != "" {
		name += " t-" + string(tone)
	}
	return strings.TrimSpace(name)
}

// view is what a page shows.
type view struct {
	*Document
	Site           *Site  // nil: the page is a file of its own
	Policy         string // "": the server sends it
	Style, Scripts template.HTML
	Sections       []section
	Long           bool // it has a list of its contents
}

// longPage is from how many sections on a page is long.
const longPage = 4

// Day is when the page's host was looked at.
func (v *view) Day() string {
	switch {
	case v.When.IsZero():
		return ""
	case v.When.Location() == time.UTC:
		return v.When.Format("2006-01-02 15:04 UTC")
	}
	return v.When.Format("2006-01-02 15:04 -07:00")
}

// Tab is the page's name among others.
func (v *view) Tab() string {
	name := v.Title
	if day := v.Day(); day != "" {
		name += ", " + day
	}
	if strings.HasPrefix(name, "hostlab ") {
		return name
	}
	return name + " · hostlab " + v.Name
}

// piece is a part of a sentence.
type piece struct {
	Text    string
	Command bool // to be typed
	Whole   bool // not to be broken
}

// quoted is a command of ours in a sentence that only looks. A page cannot know who wrote a sentence: a process, a host
// or a statement may have any name. So one that changes something, runs a file or has an option or a path that is not
// known is text.
var quoted = lazyre.New(
	"[\"'`](hostlab (?:assess|check|facts|predict|report|settings|study (?:list|show)|verify|watch|" +
		"fleet (?:changes|hosts|status))(?: (?:--(?:all|explain|format|outliers|probe|quick|service|show)|[A-Za-z0-9][A-Za-z0-9=:@_-]*))*)[\"'`]")

// pieces parts a sentence at the commands that it quotes.
func pieces(text string) (out []piece) {
	for {
		m := quoted.FindStringSubmatchIndex(text)
		if m == nil {
			return append(out, piece{Text: text})
		}
		said := text[m[2]:m[3]]
		if text[m[0]] != text[m[3]] { // another mark than at the beginning
			out, text = append(out, piece{Text: text[:m[2]]}), text[m[2]:]
			continue
		}
		out, text = append(out, piece{Text: text[:m[0]]}, piece{Text: said, Command: true}), text[m[1]:]
	}
}

// option is one in a sentence, and hyphened a word of a command with a hyphen. A longer one may be broken: a narrow page
// has no room for it.
var option, hyphened = lazyre.New("(?:^|[\\s(\"'`])(--?[A-Za-z][A-Za-z0-9-]{0,22})"),
	lazyre.New(`(?:^|\s)([^\s-]{0,14}-[^\s]{1,15})(?:\s|$)`)

// unbroken parts a text at the options in it, and a command at its words that have a hyphen: a browser would break them
// there, and then nobody can tell how they are typed.
func unbroken(text string, command bool) (out []piece) {
	words, at := option, 0
	if command {
		words = hyphened
	}
	for {
		m := words.FindStringSubmatchIndex(text[at:])
		if m == nil {
			return append(out, piece{Text: text[at:]})
		}
		out = append(out, piece{Text: text[at : at+m[2]]}, piece{Text: text[at+m[2] : at+m[3]], Whole: true})
		at += m[3]
	}
}

type section struct {
	Section
	ID     string // of its heading
	Blocks []block
}

type block struct {
	Block
	Kind, ID    string
	Name        string // of its table, unlike that of any other on the page
	First, Last bool   // of figures that stand side by side
}

type table struct {
	*Table
	ID, Caption string
	Sortable    bool
	Across      int // columns behind the first
}

func (b block) TableOf(t *Table) table {
	sorted := slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Link != "" })
	return table{t, b.ID, b.Name, !sorted, len(t.Columns) - 1}
}

// WriteHTML prints a document as one page that loads nothing from anywhere. The page holds
// the document's JSON, so that its reader can save it.
func WriteHTML(w io.Writer, d *Document) error {
	data, err := result.JSON(cmp.Or(d.PageData, d.Data), jsontext.EscapeForHTML(true)) // no text in it can end its element
	if err != nil {
		return err
	}
	if len(data) > dataInline {
		if data, err = packed(data); err != nil {
			return err
		}
	}
	css, js, err := files(d.Style)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; "+
		"form-action 'none'", digest(css), digest(js))
	return (&view{Document: d, Policy: policy, Style: element("style", "", css),
		Scripts: element("script", ` type="application/json" id="data"`, data) + "\n" + element("script", "", js)}).write(w)
}

// element is one of a page whose content is the program's own, or escaped JSON.
func element(name, attributes string, content []byte) template.HTML {
	return template.HTML("<" + name + attributes + ">" + string(content) + "</" + name + ">") //nolint:gosec // see above
}

// files are the style sheet with more rules behind it, and the script.
func files(style []byte) (css, js []byte, err error) {
	page, err := web.ReadFile("web/page.css")
	if err != nil {
		return nil, nil, err
	}
	own, err := web.ReadFile("web/document.css")
	if err != nil {
		return nil, nil, err
	}
	js, err = web.ReadFile("web/page.js")
	return slices.Concat(page, own, style), js, err
}

// dataInline is the size in bytes up to which a page holds its data as they are. Beyond it,
// as the facts of hundreds of CPUs are, they go in gzip and base64, about a thirtieth of the
// size; the page's download puts them back.
const dataInline = 256 << 10

func packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"gzip":"%s"}`, base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.StdEncoding.EncodeToString(sum[:])
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

// tableNames are those in use, for readers who go from table to table by name.
type tableNames map[string]int

func (n tableNames) of(section string, b Block) string {
	t, _ := b.(*Table)
	if bars, ok := b.(*Bars); ok {
		t = bars.Table
	}
	if t == nil {
		return ""
	}
	name := section
	if t.Title != "" && t.Title != section {
		name += ": " + t.Title
	}
	if n[name]++; n[name] > 1 {
		name += fmt.Sprint(" ", n[name])
	}
	return name
}

// write writes the page whole, without what steers a terminal or the direction of text.
func (v *view) write(w io.Writer) error {
	names := tableNames{}
	for i, s := range v.shown(Page) {
		shown := section{Section: s, ID: fmt.Sprint("h", i)}
		figure := func(j int) bool {
			if j < 0 || j >= len(s.Blocks) {
				return false
			}
			_, ok := s.Blocks[j].(Figure)
			return ok
		}
		for j, b := range s.Blocks {
			kind := fmt.Sprintf("%T", b)
			shown.Blocks = append(shown.Blocks, block{b, kind[strings.LastIndexByte(kind, '.')+1:], fmt.Sprintf("h%d-%d", i, j),
				names.of(s.Title, b), !figure(j - 1), !figure(j + 1)})
		}
		v.Sections = append(v.Sections, shown)
	}
	v.Long = len(v.Sections) >= longPage
	var page bytes.Buffer
	if err := pages().Execute(&page, v); err != nil {
		return err
	}
	_, err := w.Write(screen.CleanPage(page.Bytes()))
	return err
}
