package command

import (
	"fmt"
	"sync"

	"hostlab/internal/result"
)

// How much of a program's output is kept from its beginning and from its end. The
// rest is read and forgotten, so that a flood fills neither memory nor disk and
// does not stop the program either.
const (
	keepStdout = 4 << 20
	keepStderr = 256 << 10
)

// capture keeps the first and the last keep bytes of what is written to it.
type capture struct {
	keep int

	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring goes on
	total int64
}

// Write implements io.Writer. It never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	if room := c.keep - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > c.keep {
		p = p[len(p)-c.keep:]
	}
	if room := c.keep - len(c.tail); room > 0 {
		k := min(room, len(p))
		c.tail = append(c.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.at:], p)
		c.at = (c.at + k) % len(c.tail)
		p = p[k:]
	}
	return n, nil
}

// output is what was kept.
type output struct {
	parts [][]byte // all of it, or its beginning and its end
	total int64
}

func (c *capture) output() output {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := append(append([]byte{}, c.tail[c.at:]...), c.tail[:c.at]...)
	if c.total > int64(len(c.head)+len(tail)) {
		return output{[][]byte{append([]byte{}, c.head...), tail}, c.total}
	}
	return output{[][]byte{append(append([]byte{}, c.head...), tail...)}, c.total}
}

// cut reports whether a part is missing.
func (o output) cut() bool { return len(o.parts) > 1 }

// bytes is what was kept in one piece, with a mark where the rest was.
func (o output) bytes() []byte {
	if !o.cut() {
		return o.parts[0]
	}
	gap := o.total - int64(len(o.parts[0])+len(o.parts[1]))
	return append(append(append([]byte{}, o.parts[0]...), fmt.Sprintf("\n[... %s left out ...]\n", result.Format(float64(gap), "B"))...), o.parts[1]...)
}
