package document

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

//go:embed web
var web embed.FS

var page = picture.Template(web, "document.html", template.FuncMap{
	"clean": screen.Clean,
	"kind": func(b Block) string {
		switch b.(type) {
		case Line:
			return "line"
		case List:
			return "list"
		case Pairs:
			return "pairs"
		case Commands:
			return "commands"
		case Figure:
			return "figure"
		case *Bars:
			return "bars"
		case Links:
			return "links"
		case Form:
			return "form"
		}
		return "table"
	},
	"sort": func(c Cell) template.HTMLAttr {
		if !c.sortable() {
			return ""
		}
		return template.HTMLAttr(fmt.Sprintf(` data-sort="%g"`, c.Sort))
	},
	"table": func(id, section string, t *Table) any {
		return struct {
			ID, Section string
			*Table
		}{id, section, t}
	},
	"linked": func(t *Table) bool {
		return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Link != "" })
	},
	"rest": func(columns []Column) int { return len(columns) - 1 },
	"last": func(i int, blocks []Block) bool {
		if i+1 < len(blocks) {
			_, ok := blocks[i+1].(Figure)
			return !ok
		}
		return true
	},
	"first": func(i int, blocks []Block) bool {
		if i > 0 {
			_, ok := blocks[i-1].(Figure)
			return !ok
		}
		return true
	},
})

// view is what the template shows.
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
	return picture.Render(w, page, &view{d, shell, d.shown(Page), nil})
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
