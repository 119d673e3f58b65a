package picture

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"slices"
)

//go:embed web
var web embed.FS

// Page is what the page of every report has: its title, its style sheet and
// script, its data, and the policy that allows them by their hashes and nothing
// else, no connection either.
type Page struct {
	Title  string
	Policy string
	css    []byte
	js     []byte
	data   []byte // JSON, with <, > and & as escapes
	// Style and Script are addresses of what a server sends apart; "": the page holds both. The server sends the
	// policy too.
	Style, Script string
}

// Files are the style sheet with more rules behind it, and the script, for a server that sends them apart.
func Files(style []byte) (css, js []byte, err error) {
	if css, err = web.ReadFile("web/page.css"); err != nil {
		return nil, nil, err
	}
	js, err = web.ReadFile("web/page.js")
	return slices.Concat(css, style), js, err
}

// NewPage makes a page with the common style sheet and more rules behind it. data
// is a JSON document as json.Marshal writes it, so that no text in it can end its
// script element.
func NewPage(title string, style, data []byte) (Page, error) {
	css, js, err := Files(style)
	if err != nil {
		return Page{}, err
	}
	if len(data) > dataInline {
		if data, err = packed(data); err != nil {
			return Page{}, err
		}
	}
	return Page{Title: title, css: css, js: js, data: data,
		Policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
			digest(css), digest(js))}, nil
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

// Figure is a picture with its heading and what it shows in a sentence or two.
type Figure struct {
	Title, Note string
	SVG         HTML
	Wide, Tall  bool
	Table       *Table // the same in figures; nil where the page has it elsewhere
}

// Table is a plain table. The first column names its rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}
