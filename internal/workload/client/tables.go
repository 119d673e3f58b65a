package client

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// The clients: the one that is there, and its copy.
const (
	source = "100"
	target = "200"
)

// column is one of a table, as an ERP system has them: text of fixed formats, and
// decimals.
type column struct {
	name string
	sql  string // its type, the same in PostgreSQL and MariaDB
}

// keys lead every table, behind mandt.
var keys = []column{{"docno", "varchar(10)"}, {"item", "varchar(6)"}}

// fields are what follows, again and again until a table is as wide as it is to be.
var fields = []column{
	{"budat", "varchar(8)"}, {"matnr", "varchar(18)"}, {"menge", "decimal(13,3)"}, {"netwr", "decimal(15,2)"},
	{"waers", "varchar(5)"},
	{"werks", "varchar(4)"}, {"ernam", "varchar(12)"}, {"kunnr", "varchar(10)"}, {"guid", "varchar(32)"},
	{"sgtxt", "varchar(50)"},
}

// widths are numbers of fields, and indexes the columns of secondary indexes behind
// mandt: of both, tables take what their number says.
var (
	widths  = []int{5, 15, 40}
	indexes = []string{"budat", "matnr", "waers, budat"}
)

// lines are how many rows a document has.
const lines = 5

// table is one of them. Columns start with the keys; mandt is not among them.
type table struct {
	name    string
	columns []column
	indexes []string
	rows    int // of a client
}

// layout has the rows spread over that many tables: few large ones and many small, as
// the tables of an ERP system are.
func layout(tables, rows int) []table {
	weights, sum := make([]float64, tables), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -0.8)
		sum += weights[i]
	}
	out := make([]table, tables)
	acc, given := 0.0, 0
	for i := range out {
		acc += weights[i]
		upTo := int(math.Round(float64(rows) * acc / sum))
		if i == tables-1 {
			upTo = rows
		}
		t := table{name: fmt.Sprintf("zclient%02d", i+1), rows: upTo - given, indexes: indexes[:(i+1)%(len(indexes)+1)]}
		given = upTo
		t.columns = append(t.columns, keys...)
		for n := range widths[i%len(widths)] {
			c := fields[n%len(fields)]
			if cycle := n / len(fields); cycle > 0 {
				c.name = fmt.Sprintf("%s%d", c.name, cycle+1)
			}
			t.columns = append(t.columns, c)
		}
		out[i] = t
	}
	return out
}

// names lists the columns, without mandt.
func (t *table) names() string {
	var list []string
	for _, c := range t.columns {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

// create is the table's definition, in a schema (empty: none).
func (t *table) create(schema string) []string {
	name := qualified(schema, t.name)
	parts := []string{"mandt varchar(3) NOT NULL"}
	for _, c := range t.columns {
		parts = append(parts, c.name+" "+c.sql+" NOT NULL")
	}
	parts = append(parts, "PRIMARY KEY (mandt, docno, item)")
	out := []string{"CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"}
	for i, columns := range t.indexes {
		out = append(out, fmt.Sprintf("CREATE INDEX %s_%d ON %s (mandt, %s)", t.name, i+1, name, columns))
	}
	return out
}

func qualified(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + "." + name
}

// statements are those of a table, in the words that both servers take. A package goes
// on behind the last row of the one before: rows are compared column by column, since
// MariaDB finds no range for (docno, item) > (?, ?). mark gives the nth parameter.
type statements struct {
	read   string // docno, docno, item of the last row; then so many rows
	keys   string // the same, of the target
	remove string // docno, docno, item of the last row; docno, docno, item of the new last row
}

func (t *table) statements(schema string, limit int, mark func(n int) string) statements {
	name, from := qualified(schema, t.name), "mandt = '"+source+"'"
	to := "mandt = '" + target + "'"
	after := fmt.Sprintf("docno >= %s AND (docno > %s OR item > %s)", mark(1), mark(2), mark(3))
	order := fmt.Sprintf(" ORDER BY docno, item LIMIT %d", limit)
	return statements{
		read: "SELECT " + t.names() + " FROM " + name + " WHERE " + from + " AND " + after + order,
		keys: "SELECT docno, item FROM " + name + " WHERE " + to + " AND " + after + order,
		remove: "DELETE FROM " + name + " WHERE " + to + " AND " + after +
			fmt.Sprintf(" AND docno <= %s AND (docno < %s OR item <= %s)", mark(4), mark(5), mark(6)),
	}
}

// pkg is a package of rows: the text of their columns, one after the other.
type pkg struct {
	columns int
	text    []byte
	ends    []int // of each value in text
}

func (p *pkg) reset(columns int) { p.columns, p.text, p.ends = columns, p.text[:0], p.ends[:0] }
func (p *pkg) rows() int         { return len(p.ends) / p.columns }

func (p *pkg) add(b []byte) {
	p.text = append(p.text, b...)
	p.ends = append(p.ends, len(p.text))
}

// value is the nth of all.
func (p *pkg) value(n int) []byte {
	begin := 0
	if n > 0 {
		begin = p.ends[n-1]
	}
	return p.text[begin:p.ends[n]]
}

type key struct{ doc, item string }

func (p *pkg) last() key {
	n := len(p.ends) - p.columns
	return key{string(p.value(n)), string(p.value(n + 1))}
}

// sums tell whether a table is what it should be, in whatever order its rows come.
type sums struct {
	rows int
	hash uint64
}

func (s *sums) add(p *pkg) {
	s.rows += p.rows()
	for r := range p.rows() {
		h := uint64(offset)
		for c := range p.columns {
			h = hash(h, p.value(r*p.columns+c))
			h = (h ^ 0xff) * prime
		}
		s.hash += h
	}
}

const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// hash is FNV-1a over 8 bytes at a time.
func hash(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * prime
		h ^= h >> 32
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// process is the application's work on a value: so many rounds of hashing, each on top
// of the one before.
func process(b []byte, rounds int) uint64 {
	h := uint64(offset)
	for range rounds {
		h = hash(h, b)
	}
	return h
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var texts = []string{"delivered as agreed", "partial delivery, rest follows", "invoice corrected by the clerk",
	"discount of the framework contract"}

// generate gives a table's rows in packages. The same seed gives the same.
func generate(t *table, number int, seed uint64, each func(p *pkg) error) error {
	rng := rand.New(rand.NewPCG(seed, 0x6d616e6474<<16+uint64(number))) //nolint:gosec // data of a test
	const most = 500
	var p pkg
	var b []byte
	for from := 0; from < t.rows; from += most {
		p.reset(len(t.columns))
		for n := from; n < min(from+most, t.rows); n++ {
			for c := range t.columns {
				b = value(b[:0], rng, c, n)
				p.add(b)
			}
		}
		if err := each(&p); err != nil {
			return err
		}
	}
	return nil
}

// value appends column c of row n.
func value(b []byte, r *rand.Rand, c, n int) []byte {
	switch c {
	case 0:
		return fmt.Appendf(b, "%010d", 1+n/lines)
	case 1:
		return fmt.Appendf(b, "%06d", 10*(1+n%lines))
	}
	switch (c - len(keys)) % len(fields) {
	case 0:
		return fmt.Appendf(b, "20%02d%02d%02d", 10+r.IntN(16), 1+r.IntN(12), 1+r.IntN(28))
	case 1:
		return fmt.Appendf(b, "%c%c-%06d", letters[r.IntN(26)], letters[r.IntN(26)], r.IntN(1e6))
	case 2:
		return fmt.Appendf(b, "%d.%03d", r.IntN(1e4), r.IntN(1000))
	case 3:
		return fmt.Appendf(b, "%d.%02d", r.IntN(1e6), r.IntN(100))
	case 4:
		return append(b, []string{"EUR", "USD", "JPY"}[r.IntN(3)]...)
	case 5:
		return fmt.Appendf(b, "%04d", r.IntN(10000))
	case 6:
		return fmt.Appendf(b, "USER%04d", r.IntN(2000))
	case 7:
		return fmt.Appendf(b, "%010d", r.IntN(1e6))
	case 8:
		return fmt.Appendf(b, "%016x%016x", r.Uint64(), r.Uint64())
	}
	return fmt.Appendf(b, "%s %d", texts[r.IntN(len(texts))], r.IntN(1e6))
}
