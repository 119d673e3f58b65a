package xmlquery

import (
	"errors"
	"fmt"
)

// item is one row of the result: an order's line with the columns it shares with
// its order. Text is kept as a hash, and decimals in hundredths.
type item struct {
	order    int64
	line     int64
	sku      uint64
	desc     uint64
	unit     uint64
	quantity int64
	price    int64  // hundredths
	discount int64  // hundredths
	due      int64  // days since 1970-01-01
	hazard   int64  // 0: none
	customer uint64 // of the node /order/customer as XML
}

// check mixes all columns, so that swapped columns make another sum.
func (r *item) check() uint64 {
	h := uint64(offset64)
	for _, v := range [...]uint64{uint64(r.order), uint64(r.line), r.sku, r.desc, r.unit, uint64(r.quantity),
		uint64(r.price), uint64(r.discount), uint64(r.due), uint64(r.hazard), r.customer} {
		h = (h ^ v) * prime64
		h ^= h >> 29
	}
	return h
}

// FNV-1a, written out: hash/fnv would allocate.
const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func hash(b []byte) uint64 {
	h := uint64(offset64)
	for _, c := range b {
		h = (h ^ uint64(c)) * prime64
	}
	return h
}

// shredder shreds documents, one at a time.
type shredder struct {
	scan    Scanner
	scratch []byte
	row     item        // here rather than on the stack, which each would let it escape from
	each    func(*item) // for totals and tests
	// The bytes of the row's texts, and the order's customer, of which the row has hashes.
	sku, description, unit int
	customer               []byte
}

var errDocument = errors.New("not one order")

// shred returns how many items a document holds and their sum.
func (s *shredder) shred(doc []byte) (rows int64, check uint64, err error) {
	s.scan.Reset(doc)
	var order, note int64
	var customer uint64
	row := &s.row
	seen := false
	for {
		switch s.scan.Next() {
		case EOF:
			if !seen {
				return 0, 0, errDocument
			}
			return rows, check + uint64(note), nil
		case Invalid:
			return 0, 0, s.scan.Err()
		case Start:
			name := s.scan.Name()
			switch depth := s.scan.Depth(); {
			case depth == 1:
				if seen || string(name) != "order" {
					return 0, 0, errDocument
				}
				seen = true
				order, err = s.intAttr("id")
			case depth == 2 && string(name) == "customer":
				customer, err = s.node()
			case depth == 2 && string(name) == "note":
				var text []byte
				text, err = s.content()
				note += int64(hash(text) >> 1)
			case depth == 3 && string(name) == "item":
				*row = item{order: order, customer: customer}
				if err = s.item(row); err == nil {
					rows++
					check += row.check()
					if s.each != nil {
						s.each(row)
					}
				}
			}
			if err != nil {
				return 0, 0, err
			}
		}
	}
}

// item reads an item element whose start tag was just seen, to its end.
func (s *shredder) item(r *item) error {
	s.sku, s.description, s.unit = 0, 0, 0
	for {
		name, value, ok := s.scan.Attr()
		if !ok {
			break
		}
		var err error
		switch string(name) {
		case "line":
			r.line, err = parseInt(value)
		case "sku":
			value, err = Unescape(value, &s.scratch)
			r.sku, s.sku = hash(value), len(value)
		}
		if err != nil {
			return err
		}
	}
	for {
		switch s.scan.Next() {
		case Invalid:
			return s.scan.Err()
		case End:
			if s.scan.Depth() == 2 {
				return nil
			}
		case Start:
			if s.scan.Depth() != 4 {
				continue
			}
			var err error
			switch name := s.scan.Name(); string(name) {
			case "description":
				var text []byte
				text, err = s.content()
				r.desc, s.description = hash(text), len(text)
			case "quantity":
				var text []byte
				text, err = s.attribute("unit")
				r.unit, s.unit = hash(text), len(text)
				if err == nil {
					r.quantity, err = s.number(parseInt)
				}
			case "price":
				r.price, err = s.number(parseHundredths)
			case "discount":
				r.discount, err = s.number(parseHundredths)
			case "due":
				r.due, err = s.number(parseDate)
			case "hazard":
				r.hazard, err = s.intAttr("class")
			}
			if err != nil {
				return err
			}
		}
	}
}

// content is the text in the element whose start tag was just seen, to its end.
// Text of elements within it is part of it, as in XPath's string().
func (s *shredder) content() ([]byte, error) {
	depth := s.scan.Depth()
	var text []byte
	parts := 0
	for {
		switch s.scan.Next() {
		case Invalid:
			return nil, s.scan.Err()
		case EOF:
			return nil, errDocument
		case End:
			if s.scan.Depth() < depth {
				return text, nil
			}
		case Text:
			if parts++; parts == 1 {
				v, err := s.scan.Value(&s.scratch)
				if err != nil {
					return nil, err
				}
				text = v
				continue
			}
			// Rare: CDATA between text, or a comment within. May allocate.
			var more []byte
			v, err := s.scan.Value(&more)
			if err != nil {
				return nil, err
			}
			text = append(text[:len(text):len(text)], v...)
		}
	}
}

func (s *shredder) number(parse func([]byte) (int64, error)) (int64, error) {
	b, err := s.content()
	if err != nil {
		return 0, err
	}
	return parse(b)
}

// node hashes the element whose start tag was just seen as it stands in the document,
// from its start tag to its end tag.
func (s *shredder) node() (uint64, error) {
	begin, _ := s.scan.Span()
	depth := s.scan.Depth()
	for {
		switch s.scan.Next() {
		case Invalid:
			return 0, s.scan.Err()
		case EOF:
			return 0, errDocument
		case End:
			if s.scan.Depth() < depth {
				_, end := s.scan.Span()
				s.customer = s.scan.src[begin:end]
				return hash(s.customer), nil
			}
		}
	}
}

func (s *shredder) attribute(want string) ([]byte, error) {
	for {
		name, value, ok := s.scan.Attr()
		if !ok {
			return nil, s.scan.Err()
		}
		if string(name) == want {
			return Unescape(value, &s.scratch)
		}
	}
}

func (s *shredder) intAttr(name string) (int64, error) {
	v, err := s.attribute(name)
	if err != nil {
		return 0, err
	}
	return parseInt(v)
}

// The columns' types. strconv and time would take strings, and time.Parse a layout
// to interpret; a database's converters are compiled as well.

func parseInt(b []byte) (int64, error) {
	neg := len(b) > 0 && b[0] == '-'
	digits := b
	if neg {
		digits = b[1:]
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' || n > (1<<62)/10 {
			return 0, fmt.Errorf("not a whole number: %.20q", b)
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("not a whole number: %.20q", b)
	}
	if neg {
		n = -n
	}
	return n, nil
}

// parseHundredths reads a decimal of at most two places.
func parseHundredths(b []byte) (int64, error) {
	whole, places := b, []byte(nil)
	for i, c := range b {
		if c == '.' {
			whole, places = b[:i], b[i+1:]
			break
		}
	}
	n, err := parseInt(whole)
	if err != nil || len(places) > 2 || n > 1<<50 || n < -1<<50 {
		return 0, fmt.Errorf("not a decimal: %.20q", b)
	}
	var frac int64
	scale := int64(10)
	for _, c := range places {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("not a decimal: %.20q", b)
		}
		frac += int64(c-'0') * scale
		scale /= 10
	}
	if b[0] == '-' {
		frac = -frac
	}
	return n*100 + frac, nil
}

// parseDate reads yyyy-mm-dd into days since 1970-01-01, by the proleptic
// Gregorian calendar: years start in March, so that a leap day ends one (Hinnant,
// chrono-compatible low-level date algorithms, days_from_civil).
func parseDate(b []byte) (int64, error) {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return 0, fmt.Errorf("not a date: %.20q", b)
	}
	y, err1 := parseInt(b[:4])
	m, err2 := parseInt(b[5:7])
	d, err3 := parseInt(b[8:])
	if err1 != nil || err2 != nil || err3 != nil || y < 0 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, fmt.Errorf("not a date: %.20q", b)
	}
	if m <= 2 {
		y--
	}
	era := y / 400
	if y < 0 {
		era = -1
	}
	yoe := y - era*400
	doy := (153*((m+9)%12)+2)/5 + d - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468, nil
}
