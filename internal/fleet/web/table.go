package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/screen"
)

// pageRows is how many rows of a long table a page shows: about 60 kB of them.
const pageRows = 100

// tables are all tables of a document, in the order of the page.
func tables(d *document.Document) (out []*document.Table) {
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			switch b := b.(type) {
			case *document.Table:
				if b != nil && len(b.Rows) > 0 {
					out = append(out, b)
				}
			case *document.Bars:
				if b != nil && len(b.Rows) > 0 && b.Table != nil {
					out = append(out, b.Table)
				}
			}
		}
	}
	return out
}

// chosen is the table that a program asks for: the first, or table=N.
func chosen(d *document.Document, number string) (*document.Table, error) {
	n, err := strconv.Atoi(cmp.Or(number, "1"))
	all := tables(d)
	switch {
	case err != nil || n < 1:
		return nil, unusable("table takes a number from 1 on.")
	case len(all) == 0 && n == 1:
		return &document.Table{}, nil
	case n > len(all):
		return nil, notThere("table: this page has " + screen.Count(len(all), "table"))
	}
	return all[n-1], nil
}

// offer links to a page's tables as CSV, and to all of it as JSON.
func (r *request) offer(d *document.Document) {
	all := tables(d)
	for i, t := range all {
		t.Links.Label = cmp.Or(t.Links.Label, "Table "+strconv.Itoa(i+1))
		q := r.URL.Query()
		for _, k := range []string{"page", "format"} {
			q.Del(k)
		}
		q.Set("format", "csv")
		if i > 0 {
			q.Set("table", strconv.Itoa(i+1))
		}
		t.Links.List = append(t.Links.List, document.Link{Text: "CSV", URL: r.URL.EscapedPath() + "?" + q.Encode()})
		if q.Del("table"); i == len(all)-1 {
			q.Set("format", "json")
			t.Links.List = append(t.Links.List, document.Link{Text: "Page as JSON", URL: r.URL.EscapedPath() + "?" + q.Encode()})
		}
	}
}

// sorted sorts rows by the column that the query names, or by the first of keys that says so: "-high" is by high,
// the largest first. Each column has a key; "" is not sorted by.
func (r *request) sorted(t *document.Table, first string, keys ...string) error {
	by := cmp.Or(r.URL.Query().Get("sort"), first)
	key, down := strings.CutPrefix(by, "-")
	column := slices.Index(keys, key)
	if column < 0 || key == "" {
		return unusable("sort takes %s, with - before it for the largest first.",
			strings.Join(slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "" }), ", "))
	}
	for i, k := range keys {
		if k == "" {
			continue
		}
		next := k
		if t.Columns[i].Right { // of figures the largest are asked for first
			next = "-" + k
		}
		if i == column {
			t.Columns[i].Sorted, next = "ascending", "-"+k
			if down {
				t.Columns[i].Sorted, next = "descending", k
			}
		}
		t.Columns[i].Link = r.with("page", "", "sort", next)
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int {
		n := compareCells(a.Cells[column], b.Cells[column], t.Columns[column].Right)
		if down {
			return -n
		}
		return n
	})
	return nil
}

// compareCells compares figures by their values and other cells by their texts.
func compareCells(a, b document.Cell, figures bool) int {
	if figures {
		return cmp.Compare(a.Sort, b.Sort)
	}
	return strings.Compare(a.Text, b.Text)
}

// paged leaves the rows of the page that the query asks for, unless a program wants all.
func (r *request) paged(t *document.Table, what string) error {
	from, to, err := r.window(t, len(t.Rows), what)
	if err == nil {
		t.Rows = t.Rows[from:to]
	}
	return err
}

// window says which of so many rows the page has, and links a table to the others.
func (r *request) window(t *document.Table, all int, what string) (from, to int, err error) {
	if r.whole || all <= pageRows {
		return 0, all, nil
	}
	n, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("page"), "1"))
	last := (all + pageRows - 1) / pageRows
	if err != nil || n < 1 || n > last {
		return 0, 0, unusable("page takes a number from 1 to %d.", last)
	}
	t.Lead = strings.TrimSpace(t.Lead + " " + screen.Count(all, what) + "; page " + strconv.Itoa(n) + " of " +
		strconv.Itoa(last) + ".")
	t.Links.Label = "Pages of " + what + "s"
	for _, l := range []struct {
		text string
		to   int
	}{{"First page", 1}, {"Previous page", n - 1}, {"Next page", n + 1}, {"Last page", last}} {
		if l.to >= 1 && l.to <= last && l.to != n {
			t.Links.List = append(t.Links.List, document.Link{Text: l.text, URL: r.with("page", strconv.Itoa(l.to))})
		}
	}
	return (n - 1) * pageRows, min(n*pageRows, all), nil
}

// brief leaves the first rows of a table and links to the page that has all.
func (r *request) brief(t *document.Table, most int, text, url string) {
	if r.whole || len(t.Rows) <= most {
		return
	}
	text += " (" + strconv.Itoa(len(t.Rows)) + ")"
	t.Rows = t.Rows[:most]
	t.Links.List = append(t.Links.List, document.Link{Text: text, URL: url})
}

// leadHosts links the hosts that begin the rows of a table to their pages.
func leadHosts(t *document.Table) {
	if t.Columns[0].Head == "host" {
		lead(t, "/hosts/")
	}
}

// lead links the first cell of each row to a page: prefix and its text.
func lead(t *document.Table, prefix string) {
	for i := range t.Rows {
		c := &t.Rows[i].Cells[0]
		c.Link = prefix + segment(c.Text)
	}
}
