package client

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

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

// key is that of a row.
type key struct{ doc, item string }

// last is that of the last row.
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
