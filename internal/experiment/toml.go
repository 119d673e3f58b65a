package experiment

import (
	"bytes"
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// place is where something stands in a study file, or, without a line, what on
// the command line said it.
type place struct {
	source string // the file, or a flag as it was typed
	line   int
	column int // in characters, from 1
}

// value is a TOML value with its place. go-toml decodes into Go types without
// places, which checks of meaning need as well as those of form; its parser gives
// the ranges of bytes from which this tree is made.
type value struct {
	at     place
	kind   unstable.Kind // a scalar's, Array or InlineTable (any table)
	text   string        // of a scalar, unquoted
	list   []*value
	keys   []*entry // of a table, in order
	byName map[string]*entry
}

// entry is a key of a table.
type entry struct {
	name  string
	at    place
	value *value
}

// where is the place of the value, or of its key.
func (e *entry) where() place {
	if e.value.at.line > 0 {
		return e.value.at
	}
	return e.at
}

func (v *value) get(name string) *entry {
	return v.byName[name]
}

// drop removes a key, so that later checks do not see it.
func (v *value) drop(name string) {
	v.keys = slices.DeleteFunc(v.keys, func(e *entry) bool { return e.name == name })
	delete(v.byName, name)
}

// put sets a key, in place of what was there.
func (v *value) put(e *entry) {
	if v.get(e.name) != nil {
		v.drop(e.name)
	}
	if v.byName == nil {
		v.byName = map[string]*entry{}
	}
	v.keys = append(v.keys, e)
	v.byName[e.name] = e
}

// document turns offsets into places.
type document struct {
	file  string
	data  []byte
	lines []int // offsets of their starts
	// The place asked for last: columns are counted on from it, since counting from the
	// line's start would take hours in a file of one long line.
	last   place
	offset int
}

func newDocument(file string, data []byte) *document {
	d := &document{file: file, data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

func (d *document) place(offset int) place {
	offset = min(max(offset, 0), len(d.data))
	line := sort.SearchInts(d.lines, offset+1) // of the last start at or before offset, from 1
	start, column := d.lines[line-1], 1
	if d.last.line == line && d.offset <= offset {
		start, column = d.offset, d.last.column
	}
	d.last, d.offset = place{d.file, line, column + utf8.RuneCount(d.data[start:offset])}, offset
	return d.last
}

// parseTOML reads a document into a tree. Of what is no TOML only the first error
// is reported, since all that follows may come from it.
func parseTOML(file string, data []byte) (*value, *Problem) {
	d := newDocument(file, data)
	// The decoder finds also what the parser does not: keys and tables that are
	// there twice, and numbers that are too large.
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		at := place{source: file}
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := e.Position() // which counts bytes
			at = d.place(d.lines[min(max(row, 1), len(d.lines))-1] + column - 1)
		}
		return nil, &Problem{at.source, at.line, at.column, "not TOML: " + strings.TrimPrefix(err.Error(), "toml: "), ""}
	}
	b := builder{d: d}
	b.p.Reset(data)
	root := &value{at: d.place(0), kind: unstable.InlineTable}
	here := root
	for b.p.NextExpression() {
		switch e := b.p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			here = b.table(root, e)
		case unstable.KeyValue:
			b.pair(here, e)
		}
	}
	if err := b.p.Error(); err != nil { // Unmarshal saw none, so this is not expected
		return nil, &Problem{File: file, Text: "not TOML: " + err.Error()}
	}
	return root, nil
}

type builder struct {
	d *document
	p unstable.Parser
}

func (b *builder) place(n *unstable.Node) place { return b.d.place(int(n.Raw.Offset)) }

// table opens the table that a header names.
func (b *builder) table(root *value, e *unstable.Node) *value {
	here := root
	for it := e.Key(); it.Next(); {
		n := it.Node()
		at := b.place(n)
		last := it.IsLast()
		have := here.get(string(n.Data))
		switch {
		case last && e.Kind == unstable.ArrayTable:
			if have == nil {
				have = &entry{string(n.Data), at, &value{at: at, kind: unstable.Array}}
				here.put(have)
			}
			next := &value{at: at, kind: unstable.InlineTable}
			have.value.list = append(have.value.list, next)
			here = next
		case have == nil:
			have = &entry{string(n.Data), at, &value{at: at, kind: unstable.InlineTable}}
			here.put(have)
			here = have.value
		case have.value.kind == unstable.Array && len(have.value.list) > 0:
			here = have.value.list[len(have.value.list)-1]
		default:
			here = have.value
		}
	}
	return here
}

// pair adds a key, dotted or not, to a table.
func (b *builder) pair(here *value, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		name, at := string(n.Data), b.place(n)
		if it.IsLast() {
			here.put(&entry{name, at, b.value(e.Value(), at)})
			return
		}
		have := here.get(name)
		if have == nil {
			have = &entry{name, at, &value{at: at, kind: unstable.InlineTable}}
			here.put(have)
		}
		here = have.value
	}
}

// value converts one; key is the place of its key, since the parser gives no place
// to arrays.
func (b *builder) value(n *unstable.Node, key place) *value {
	v := &value{kind: n.Kind, at: key}
	if n.Raw.Length > 0 {
		v.at = b.place(n)
	}
	switch n.Kind {
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			v.list = append(v.list, b.value(it.Node(), key))
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			b.pair(v, it.Node())
		}
	default:
		v.text = string(bytes.Clone(n.Data))
	}
	return v
}
