package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Site is what surrounds a document that a server shows among others: links to the others, and the addresses of the
// style sheet and the script, which a file of its own holds itself.
type Site struct {
	Home  string // the address that the brand leads to
	Links Links  // to the main pages
	files map[string][]byte
}

// NewSite makes a site whose style sheet has more rules behind the common ones.
func NewSite(home string, links []Link, style []byte) (*Site, error) {
	css, js, err := files(style)
	if err != nil {
		return nil, err
	}
	s := &Site{Home: home, Links: Links{Label: "Pages", List: links}, files: map[string][]byte{}}
	for ending, text := range map[string][]byte{".css": css, ".js": js} {
		sum := sha256.Sum256(text)
		s.files["/web/"+hex.EncodeToString(sum[:8])+ending] = text
	}
	return s, nil
}

// Files are the style sheet and the script by their addresses, which change with what is in them.
func (s *Site) Files() map[string][]byte { return s.files }

// File is the address of the file with an ending, as ".css".
func (s *Site) File(ending string) string {
	for name := range s.files {
		if strings.HasSuffix(name, ending) {
			return name
		}
	}
	return ""
}

// WritePage prints a document as a page of a site. here is the address of the main page that it belongs to. The page
// runs no script but the site's, loads nothing from elsewhere, and does not hold the document's JSON.
func (s *Site) WritePage(w io.Writer, d *Document, here string) error {
	site := *s
	site.Links.List = make([]Link, len(s.Links.List))
	for i, l := range s.Links.List {
		l.Here = l.URL == here
		site.Links.List[i] = l
	}
	link := fmt.Sprintf(`<link rel="stylesheet" href="%s">`+"\n"+`<script src="%s" defer></script>`, s.File(".css"),
		s.File(".js"))
	return (&view{Document: d, Site: &site, Style: template.HTML(link)}).write(w) //nolint:gosec // names of our own
}

// Link leads to another page of a site.
type Link struct {
	Text, URL string
	Here      bool // the reader is there
}

// Links stand beside each other. Only a page of a site has them.
type Links struct {
	Label string // what they are, for who does not see them
	List  []Link
}

// Form asks what a page of a site is to show: its answers become the page's query. Only a page of a site has it.
type Form struct {
	Action string // the page's address
	Button string
	Fields []Field
}

// Field is a question of a form.
type Field struct {
	Name, Label, Value string
	Choices            []Choice // one of them; none: any text
	Suggest            []string // what to offer for a text
}

// Choice is an answer.
type Choice struct{ Value, Text string }

func (Links) block() {}
func (Form) block()  {}
