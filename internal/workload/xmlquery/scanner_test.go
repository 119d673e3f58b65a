package xmlquery

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// event is a token in the terms of both parsers; adjacent text is one.
type event struct {
	Kind  string
	Name  string
	Text  string
	Attrs []string
}

func merge(events []event, text string) []event {
	if n := len(events); n > 0 && events[n-1].Kind == "text" {
		events[n-1].Text += text
		return events
	}
	if text == "" {
		return events
	}
	return append(events, event{Kind: "text", Text: text})
}

func scanAll(doc []byte) ([]event, error) {
	var s Scanner
	var events []event
	var scratch []byte
	s.Reset(doc)
	for {
		switch s.Next() {
		case EOF:
			return events, nil
		case Invalid:
			return events, s.Err()
		case Text:
			v, err := s.Value(&scratch)
			if err != nil {
				return events, err
			}
			events = merge(events, string(v))
		case End:
			events = append(events, event{Kind: "end", Name: string(s.Name())})
		case Start:
			e := event{Kind: "start", Name: string(s.Name())}
			for {
				name, value, ok := s.Attr()
				if !ok {
					break
				}
				v, err := Unescape(value, &scratch)
				if err != nil {
					return events, err
				}
				e.Attrs = append(e.Attrs, string(name)+"="+string(v))
			}
			if s.Err() != nil {
				return events, s.Err()
			}
			events = append(events, e)
		}
	}
}

func fullName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// oracle is encoding/xml's view. RawToken leaves prefixes alone but does not match
// tags, so Token runs along and must accept the document as well. directive tells
// that there was a document type declaration.
func oracle(doc []byte) (events []event, directive bool, err error) {
	strict := xml.NewDecoder(bytes.NewReader(doc))
	for err == nil {
		_, err = strict.Token()
	}
	if !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	raw := xml.NewDecoder(bytes.NewReader(doc))
	for {
		t, err := raw.RawToken()
		if errors.Is(err, io.EOF) {
			return events, directive, nil
		}
		if err != nil {
			return nil, directive, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			e := event{Kind: "start", Name: fullName(t.Name)}
			for _, a := range t.Attr {
				e.Attrs = append(e.Attrs, fullName(a.Name)+"="+a.Value)
			}
			events = append(events, e)
		case xml.EndElement:
			events = append(events, event{Kind: "end", Name: fullName(t.Name)})
		case xml.CharData:
			events = merge(events, string(t))
		case xml.Directive:
			directive = true
		}
	}
}

var documents = map[string]string{
	"empty":             ``,
	"text only":         `a`,
	"self-closing":      `<a/>`,
	"self-closing attr": `<a b="1" c='x/y>"'/><d />`,
	"slash in value":    `<a b="/"></a>`,
	"entities":          `<a b="&lt;&amp;&quot;&#65;&#x42;">&gt;&apos;&#228;&#x20AC;z</a>`,
	"cdata":             `<a>1<![CDATA[<b>&amp;]]]]><![CDATA[>]]>2</a>`,
	"comments":          `<!-- a --><a>1<!-- <b> -->2</a><!---->`,
	"instructions":      `<?xml version="1.0"?><?x y="<"?><a/>`,
	"line ends":         "<a b='1\r\n2\r3'>4\r\n5\r6</a>",
	"line end in cdata": "<a><![CDATA[1\r\n2]]></a>",
	"spaces in tags":    "<a\n b = \"1\"\t></a \n>",
	"prefixes":          `<p:a xmlns:p="u" p:b="1"><p:c/></p:a>`,
	"unicode":           `<größe straße="ł">€</größe>`,
	"nesting":           `<a><a><b></b></a></a>`,
	"name is suffix":    `<ab><b></b></ab>`,
	"empty in same":     `<a><a/><a></a></a>`,
}

func TestScannerAgreesWithEncodingXML(t *testing.T) {
	for name, doc := range documents {
		t.Run(name, func(t *testing.T) {
			want, _, err := oracle([]byte(doc))
			if err != nil {
				t.Fatalf("encoding/xml: %v", err)
			}
			got := testkit.Must(scanAll([]byte(doc)))(t)
			testkit.Same(t, want, got, "-encoding/xml +scanner")
		})
	}
}

func TestScannerRefuses(t *testing.T) {
	for doc, want := range map[string]error{
		`<`:                         errTag,
		`<a`:                        errTag,
		`<a b="1>`:                  errTag,
		`< a/>`:                     errTag,
		`<a b=1/>`:                  errTag,
		`<a b/>`:                    errTag,
		`<a <b/>`:                   errTag,
		`</a>`:                      errEnd,
		`<a></b>`:                   errEnd,
		`<b><ab></b></ab>`:          errEnd,
		`<ab></b>`:                  errEnd,
		`<a><b></a></b>`:            errEnd,
		`<a></a`:                    errTag,
		`<a>`:                       errOpen,
		`<a><!-- x`:                 errComment,
		`<a><![CDATA[x]]</a>`:       errComment,
		`<?xml`:                     errComment,
		`<!DOCTYPE a [<!ENTITY b]>`: errDirective,
		`<a>&nbsp;</a>`:             errEntity,
		`<a>&amp</a>`:               errEntity,
		`<a>&#;</a>`:                errEntity,
		`<a>&#+65;</a>`:             errEntity,
		`<a>&#x110000;</a>`:         errEntity,
		`<a b="&"/>`:                errEntity,
	} {
		if _, err := scanAll([]byte(doc)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", doc, err, want)
		}
	}
}

// TestScannerOnRandomTrees checks documents that are well-formed by construction.
func TestScannerOnRandomTrees(t *testing.T) {
	name := rapid.StringMatching(`[a-c][a-z0-9.-]{0,3}`)
	text := rapid.StringMatching(`([ a-zé<>&"']|\r|\n){0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		var tree func(depth int)
		tree = func(depth int) {
			n := name.Draw(t, "name")
			b.WriteString("<" + n)
			for i := range rapid.IntRange(0, 2).Draw(t, "attributes") {
				b.WriteString(" k" + string(rune('0'+i)) + `="`)
				_ = xml.EscapeText(&b, []byte(text.Draw(t, "value")))
				b.WriteString(`"`)
			}
			if rapid.Bool().Draw(t, "empty") {
				b.WriteString("/>")
				return
			}
			b.WriteString(">")
			for range rapid.IntRange(0, 3).Draw(t, "children") {
				switch rapid.IntRange(0, 3).Draw(t, "child") {
				case 0:
					_ = xml.EscapeText(&b, []byte(text.Draw(t, "text")))
				case 1:
					b.WriteString("<![CDATA[" + text.Draw(t, "section") + "]]>")
				case 2:
					b.WriteString("<!-- x -->")
				default:
					if depth < 5 {
						tree(depth + 1)
					}
				}
			}
			b.WriteString("</" + n + ">")
		}
		tree(0)
		doc := []byte(b.String())
		want, _, err := oracle(doc)
		if err != nil {
			t.Fatalf("%s: encoding/xml: %v", doc, err)
		}
		got, err := scanAll(doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n-encoding/xml +scanner\n%s", doc, diff)
		}
	})
}

// FuzzScanner: no panic and an end on any input, and whatever encoding/xml accepts
// is read alike. The reverse does not hold: see Scanner on what it does not check.
func FuzzScanner(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Add(generate(f, 1, 1).Row(0))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := scanAll(doc)
		_, _, _ = new(shredder).shred(doc)
		want, directive, oracleErr := oracle(doc)
		if oracleErr != nil || directive {
			return
		}
		if err != nil {
			t.Fatalf("%q: encoding/xml accepts it: %v", doc, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q\n-encoding/xml +scanner\n%s", doc, diff)
		}
	})
}
