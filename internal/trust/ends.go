package trust

import (
	"fmt"
	"slices"
	"sync"
)

// Ends keeps the first and the last Keep bytes of what is written to it, so that a flood
// fills neither memory nor disk. It may be used by several at once.
type Ends struct {
	Keep int

	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring goes on
	total int64
}

// Write implements io.Writer. It never fails.
func (e *Ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += int64(n)
	fill := func(to *[]byte) {
		k := min(e.Keep-len(*to), len(p))
		*to, p = append(*to, p[:k]...), p[k:]
	}
	fill(&e.head)
	p = p[max(0, len(p)-e.Keep):]
	fill(&e.tail)
	for len(p) > 0 {
		k := copy(e.tail[e.at:], p)
		e.at = (e.at + k) % len(e.tail)
		p = p[k:]
	}
	return n, nil
}

// Kept returns what was kept so far.
func (e *Ends) Kept() Kept {
	e.mu.Lock()
	defer e.mu.Unlock()
	head, tail := slices.Clone(e.head), slices.Concat(e.tail[e.at:], e.tail[:e.at])
	if e.total > int64(len(head)+len(tail)) {
		return Kept{[][]byte{head, tail}, e.total}
	}
	return Kept{[][]byte{append(head, tail...)}, e.total}
}

// Kept is what was kept.
type Kept struct {
	Parts [][]byte // all of it, or its beginning and its end
	Total int64    // bytes that were written
}

// Cut reports whether a part is missing.
func (k Kept) Cut() bool { return len(k.Parts) > 1 }

// Bytes is what was kept in one piece, with a mark where the rest was.
func (k Kept) Bytes() []byte {
	if !k.Cut() {
		return k.Parts[0]
	}
	gap := k.Total - int64(len(k.Parts[0])+len(k.Parts[1]))
	return slices.Concat(k.Parts[0], fmt.Appendf(nil, "\n[%d bytes left out]\n", gap), k.Parts[1])
}
