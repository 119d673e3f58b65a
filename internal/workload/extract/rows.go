package extract

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// columns are those of the table, an ERP system's document lines, in the order of the
// file. Their text is the same in both engines.
var columns = []struct{ name, postgres, sqlite string }{
	{"docno", "bigint NOT NULL", "INTEGER NOT NULL"},
	{"item", "integer NOT NULL", "INTEGER NOT NULL"},
	{"posted", "date NOT NULL", "TEXT NOT NULL"},
	{"account", "char(10) NOT NULL", "TEXT NOT NULL"},
	{"material", "varchar(18) NOT NULL", "TEXT NOT NULL"},
	{"quantity", "integer NOT NULL", "INTEGER NOT NULL"},
	{"amount", "numeric(15,2) NOT NULL", "TEXT NOT NULL"}, // SQLite has no decimals
	{"currency", "char(3) NOT NULL", "TEXT NOT NULL"},
	{"plant", "char(4) NOT NULL", "TEXT NOT NULL"},
	{"note", "varchar(60) NOT NULL", "TEXT NOT NULL"},
}

// lines are how many rows a document has.
const lines = 5

// rowMaker makes the rows one after the other. The same seed makes the same.
type rowMaker struct {
	rng *rand.Rand
	n   int
}

func newRowMaker(seed uint64) *rowMaker {
	return &rowMaker{rng: rand.New(rand.NewPCG(seed, 0x65787472616374))}
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var notes = []string{"delivered as agreed", "partial delivery, rest follows", "invoice corrected by the clerk", "discount of the framework contract"}

// next appends a row as a line of the file: fields with tabs between and a line end.
func (m *rowMaker) next(b []byte) []byte {
	r := m.rng
	b = fmt.Appendf(b, "%d\t%d\t20%02d-%02d-%02d\t%010d\t%c%c-%06d\t%d\t%d.%02d\t%s\t%04d\t%s %d\n",
		1+m.n/lines, 1+m.n%lines, 10+r.IntN(16), 1+r.IntN(12), 1+r.IntN(28), r.IntN(1e9), letters[r.IntN(26)], letters[r.IntN(26)], r.IntN(1e6),
		1+r.IntN(999), r.IntN(1e6), r.IntN(100), []string{"EUR", "USD", "JPY"}[r.IntN(3)], r.IntN(10000), notes[r.IntN(len(notes))], r.IntN(1e6))
	m.n++
	return b
}

// table is CRC-32C, which processors compute in hardware.
var table = crc32.MakeTable(crc32.Castagnoli)

// File is what a correct file has.
type File struct {
	Rows  int64
	Bytes int64
	CRC   uint32 // of all of it, CRC-32C
}

func (f *File) add(b []byte, rows int) {
	f.Rows += int64(rows)
	f.Bytes += int64(len(b))
	f.CRC = crc32.Update(f.CRC, table, b)
}

// process is the application's work on a row: so many rounds of hashing its text
// (FNV-1a over 8 bytes at a time), each on top of the one before.
func process(row []byte, rounds int) (h uint64) {
	const prime = 1099511628211
	h = 14695981039346656037
	for range rounds {
		rest := row
		for ; len(rest) >= 8; rest = rest[8:] {
			h = (h ^ binary.LittleEndian.Uint64(rest)) * prime
			h ^= h >> 32
		}
		for _, c := range rest {
			h = (h ^ uint64(c)) * prime
		}
	}
	return h
}
