package xmlquery

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Kind is what a Scanner found.
type Kind uint8

// The kinds of events. Comments and processing instructions are passed over.
const (
	Invalid Kind = iota // the document is malformed; see Err
	EOF                 // the end, with all elements closed
	Start               // a start tag; attributes follow by Attr
	End                 // an end tag, or the end of an empty-element tag
	Text                // character data or a CDATA section
)

// Scanner pulls events from a document in memory without allocating. Names and
// values are slices of the document, valid as long as it is. encoding/xml
// allocates several objects a tag, so that timing it would time the garbage
// collector (see BenchmarkParsers).
//
// It reads XML 1.0 without a document type declaration: as databases do for XML
// columns, and since entity declarations are how parsers are attacked. It does not
// check what a query does not depend on, such as characters that XML forbids.
type Scanner struct {
	src   []byte
	pos   int
	begin int // where the last event starts
	name  []byte
	value []byte
	attr  int    // where the next attribute of the current tag may start
	last  int    // where its attributes end
	empty bool   // an empty-element tag whose End is due
	raw   bool   // value is from a CDATA section: no entities
	depth int    // open elements
	stack []byte // their names, each ended by '<', which no name holds
	err   error
}

// Reset starts on another document and keeps what was allocated.
func (s *Scanner) Reset(src []byte) {
	*s = Scanner{src: src, stack: s.stack[:0]}
}

// Err says what is wrong after Invalid.
func (s *Scanner) Err() error { return s.err }

// Name is that of the tag last returned, with its prefix.
func (s *Scanner) Name() []byte { return s.name }

// Depth is how many elements are open.
func (s *Scanner) Depth() int { return s.depth }

// Span is where the last event starts and where the scanner stands behind it.
func (s *Scanner) Span() (begin, end int) { return s.begin, s.pos }

var (
	errTag       = errors.New("malformed tag")
	errEnd       = errors.New("end tag without its start tag")
	errOpen      = errors.New("document ends within an element")
	errComment   = errors.New("comment or section is not closed")
	errDirective = errors.New("document type declarations are not read")
	errEntity    = errors.New("unknown or malformed entity")
)

func (s *Scanner) fail(err error) Kind {
	s.err = err
	s.pos = len(s.src)
	return Invalid
}

// Next returns the next event. After Invalid and EOF it returns the same again.
func (s *Scanner) Next() Kind {
	if s.err != nil {
		return Invalid
	}
	if s.empty {
		s.empty = false
		s.begin = s.pos
		return s.pop()
	}
	for s.pos < len(s.src) {
		s.begin = s.pos
		if s.src[s.pos] != '<' {
			end := bytes.IndexByte(s.src[s.pos:], '<')
			if end < 0 {
				end = len(s.src) - s.pos
			}
			s.value, s.raw = s.src[s.pos:s.pos+end], false
			s.pos += end
			return Text
		}
		rest := s.src[s.pos+1:]
		switch {
		case len(rest) == 0:
			return s.fail(errTag)
		case rest[0] == '/':
			return s.endTag()
		case rest[0] == '?':
			if !s.skip(2, "?>") {
				return s.fail(errComment)
			}
		case rest[0] != '!':
			return s.startTag()
		case bytes.HasPrefix(rest, []byte("!--")):
			if !s.skip(4, "-->") {
				return s.fail(errComment)
			}
		case bytes.HasPrefix(rest, []byte("![CDATA[")):
			const open = len("<![CDATA[")
			if !s.skip(open, "]]>") {
				return s.fail(errComment)
			}
			s.value, s.raw = s.src[s.begin+open:s.pos-len("]]>")], true
			return Text
		default:
			return s.fail(errDirective)
		}
	}
	s.begin = s.pos
	if s.depth > 0 {
		return s.fail(errOpen)
	}
	return EOF
}

// skip moves behind the next closer, which starts at least n bytes on.
func (s *Scanner) skip(n int, closer string) bool {
	i := bytes.Index(s.src[s.pos+n:], []byte(closer))
	if i >= 0 {
		s.pos += n + i + len(closer)
	}
	return i >= 0
}

func (s *Scanner) startTag() Kind {
	p := s.pos + 1
	end := nameEnd(s.src, p)
	if end == p {
		return s.fail(errTag)
	}
	s.name = s.src[p:end]
	s.attr = end
	// Find the end of the tag; a quoted value may hold '>'.
	for p = end; p < len(s.src); p++ {
		switch c := s.src[p]; c {
		case '>':
			s.last, s.empty = p, s.src[p-1] == '/' && p > end
			if s.empty {
				s.last--
			}
			s.pos = p + 1
			s.depth++
			s.stack = append(append(s.stack, s.name...), '<')
			return Start
		case '"', '\'':
			i := bytes.IndexByte(s.src[p+1:], c)
			if i < 0 {
				return s.fail(errTag)
			}
			p += 1 + i
		case '<':
			return s.fail(errTag)
		}
	}
	return s.fail(errTag)
}

func (s *Scanner) endTag() Kind {
	p := s.pos + 2
	end := nameEnd(s.src, p)
	name := s.src[p:end]
	end = spaceEnd(s.src, end)
	if len(name) == 0 || end >= len(s.src) || s.src[end] != '>' {
		return s.fail(errTag)
	}
	top := len(s.stack) - 1 - len(name)
	if top < 0 || !bytes.Equal(s.stack[top:len(s.stack)-1], name) || top > 0 && s.stack[top-1] != '<' {
		return s.fail(errEnd)
	}
	s.pos = end + 1
	s.name = name
	return s.pop()
}

// pop closes the innermost element, whose name is s.name.
func (s *Scanner) pop() Kind {
	s.depth--
	s.stack = s.stack[:len(s.stack)-1-len(s.name)]
	s.attr, s.last = 0, 0
	return End
}

// Attr returns the next attribute of the start tag last returned. Its value may
// hold entities; see Unescape. ok is false when there are no more, or when they
// are malformed, which Err tells.
func (s *Scanner) Attr() (name, value []byte, ok bool) {
	p := spaceEnd(s.src, s.attr)
	if p >= s.last {
		return nil, nil, false
	}
	end := nameEnd(s.src[:s.last], p)
	name = s.src[p:end]
	if p = spaceEnd(s.src, end); end == s.attr || len(name) == 0 || p >= s.last || s.src[p] != '=' {
		s.fail(errTag)
		return nil, nil, false
	}
	p = spaceEnd(s.src, p+1)
	if p >= s.last || s.src[p] != '"' && s.src[p] != '\'' {
		s.fail(errTag)
		return nil, nil, false
	}
	i := bytes.IndexByte(s.src[p+1:s.last], s.src[p])
	if i < 0 {
		s.fail(errTag)
		return nil, nil, false
	}
	s.attr = p + 1 + i + 1
	return name, s.src[p+1 : p+1+i], true
}

// Value is the text of the last Text event, with entities replaced. It is a slice
// of the document where that is possible, else of *scratch, which it may grow.
func (s *Scanner) Value(scratch *[]byte) ([]byte, error) {
	return expand(s.value, s.raw, scratch)
}

// Unescape replaces the entities in an attribute's value; see Value.
func Unescape(v []byte, scratch *[]byte) ([]byte, error) { return expand(v, false, scratch) }

// expand also turns line ends into \n, which XML asks for (section 2.11).
func expand(v []byte, raw bool, scratch *[]byte) ([]byte, error) {
	if (raw || bytes.IndexByte(v, '&') < 0) && bytes.IndexByte(v, '\r') < 0 {
		return v, nil
	}
	out := (*scratch)[:0]
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '\r':
			if i+1 < len(v) && v[i+1] == '\n' {
				i++
			}
			out = append(out, '\n')
		case c == '&' && !raw:
			end := bytes.IndexByte(v[i:], ';')
			if end < 0 {
				return nil, errEntity
			}
			r, ok := entity(v[i+1 : i+end])
			if !ok {
				return nil, errEntity
			}
			out = utf8.AppendRune(out, r)
			i += end
		default:
			out = append(out, c)
		}
	}
	*scratch = out
	return out, nil
}

// entity returns the character of a predefined entity or a character reference.
func entity(name []byte) (rune, bool) {
	switch string(name) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := name[1:], 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	if len(digits) == 0 || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), base, 32)
	if err != nil || n > utf8.MaxRune {
		return 0, false
	}
	return rune(n), true
}

// inName holds the bytes of names: those of ASCII, and all of other characters,
// which are treated alike.
var inName = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '_' || c == ':' || c == '-' || c == '.' || c >= utf8.RuneSelf
	}
	return t
}()

func nameEnd(b []byte, p int) int {
	for p < len(b) && inName[b[p]] {
		p++
	}
	return p
}

func spaceEnd(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\n' || b[p] == '\t' || b[p] == '\r') {
		p++
	}
	return p
}
