package store

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"hostlab/internal/result"
)

// decodeRun decodes a line of runs.jsonl. encoding/json takes 13 µs for a line and
// 35 µs for one with a distribution (Go 1.26), which for 100,000 runs is more than
// a whole report may take. This reads what Append writes, in a fifth of that, and
// leaves every line that is unusual in any way to encoding/json, so that both give
// the same: FuzzDecodeRun holds that.
func decodeRun(line []byte, r *result.Run, names *interner) error {
	c := cursor{rest: line, names: names}
	if c.run(r) && (len(c.rest) == 0 || string(c.rest) == "\n") {
		return nil
	}
	*r = result.Run{}
	return json.Unmarshal(line, r)
}

// interner keeps one copy of texts that recur in thousands of runs.
type interner map[string]string

func (in interner) get(b []byte) string {
	if s, ok := in[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(in) < 4096 {
		in[s] = s
	}
	return s
}

// cursor reads JSON without white space, escapes or null. Each method reports
// whether it found what it reads.
type cursor struct {
	rest  []byte
	names *interner
}

func (c *cursor) byte(b byte) bool {
	if len(c.rest) == 0 || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// raw reads a text of plain ASCII.
func (c *cursor) raw() ([]byte, bool) {
	if !c.byte('"') {
		return nil, false
	}
	for i, b := range c.rest {
		if b == '"' {
			text := c.rest[:i]
			c.rest = c.rest[i+1:]
			return text, true
		}
		if b == '\\' || b < ' ' || b >= 0x7f {
			return nil, false
		}
	}
	return nil, false
}

func (c *cursor) text(s *string) bool {
	b, ok := c.raw()
	if ok {
		*s = c.names.get(b)
	}
	return ok
}

// number reads the text of a number as RFC 8259 has it; strconv allows more.
func (c *cursor) number() ([]byte, bool) {
	i := 0
	at := func(b byte) bool { return i < len(c.rest) && c.rest[i] == b }
	digits := func() bool {
		from := i
		for i < len(c.rest) && c.rest[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if at('-') {
		i++
	}
	if at('0') {
		i++
	} else if !digits() {
		return nil, false
	}
	if at('.') {
		if i++; !digits() {
			return nil, false
		}
	}
	if at('e') || at('E') {
		if i++; at('+') || at('-') {
			i++
		}
		if !digits() {
			return nil, false
		}
	}
	text := c.rest[:i]
	c.rest = c.rest[i:]
	return text, true
}

func (c *cursor) float(f *float64) bool {
	text, ok := c.number()
	if !ok {
		return false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*f = v
	return err == nil
}

func (c *cursor) int64(n *int64) bool {
	text, ok := c.number()
	if !ok {
		return false
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	*n = v
	return err == nil
}

func (c *cursor) int(n *int) bool {
	var v int64
	ok := c.int64(&v)
	*n = int(v)
	return ok && int64(*n) == v
}

func (c *cursor) time(t *time.Time) bool {
	b, ok := c.raw()
	return ok && t.UnmarshalText(b) == nil
}

// list reads items between brackets.
func (c *cursor) list(begin, end byte, item func() bool) bool {
	if !c.byte(begin) {
		return false
	}
	if c.byte(end) {
		return true
	}
	for item() {
		if c.byte(end) {
			return true
		}
		if !c.byte(',') {
			return false
		}
	}
	return false
}

// object reads names with their values. A name that comes twice is unusual.
func (c *cursor) object(value func(name []byte) bool) bool {
	return c.list('{', '}', func() bool {
		name, ok := c.raw()
		return ok && c.byte(':') && value(name)
	})
}

func readMap[V any](c *cursor, m *map[string]V, value func(*V) bool) bool {
	if *m != nil {
		return false
	}
	*m = make(map[string]V, 4)
	return c.object(func(name []byte) bool {
		var v V
		key := c.names.get(name)
		if _, twice := (*m)[key]; twice || !value(&v) {
			return false
		}
		(*m)[key] = v
		return true
	})
}

func readSlice[V any](c *cursor, s *[]V, value func(*V) bool) bool {
	if *s != nil {
		return false
	}
	*s = make([]V, 0, bytes.Count(c.rest[:max(0, bytes.IndexByte(c.rest, ']'))], []byte(","))+1)
	return c.list('[', ']', func() bool {
		var v V
		if !value(&v) {
			return false
		}
		*s = append(*s, v)
		return true
	})
}

func (c *cursor) run(r *result.Run) bool {
	var status string
	ok := c.object(func(name []byte) bool {
		switch string(name) {
		case "seq":
			return c.int(&r.Seq)
		case "block":
			return c.int(&r.Block)
		case "plot":
			return c.int(&r.Plot)
		case "slot":
			return c.int(&r.Slot)
		case "cell":
			return c.int(&r.Cell)
		case "attempt":
			return c.int(&r.Attempt)
		case "status":
			return c.text(&status)
		case "reason":
			return c.text(&r.Reason)
		case "start":
			return c.time(&r.Start)
		case "seconds":
			return c.float(&r.Seconds)
		case "boot":
			return c.text(&r.Boot)
		case "values":
			return readMap(c, &r.Values, c.float)
		case "missing":
			return readMap(c, &r.Missing, c.text)
		case "operations":
			return c.int64(&r.Operations)
		case "latency":
			if r.Latency != nil {
				return false
			}
			r.Latency = &result.Distribution{}
			return c.distribution(r.Latency)
		case "waits":
			if r.Waits != nil {
				return false
			}
			r.Waits = &result.Waits{}
			return c.waits(r.Waits)
		case "before":
			return readMap(c, &r.Before, c.text)
		case "after":
			return readMap(c, &r.After, c.text)
		case "conditions":
			return readMap(c, &r.Conditions, c.float)
		case "warnings":
			return readSlice(c, &r.Warnings, c.text)
		}
		return false
	})
	r.Status = result.Status(status)
	return ok
}

func (c *cursor) waits(w *result.Waits) bool {
	return c.object(func(name []byte) bool {
		switch string(name) {
		case "looks":
			return c.int(&w.Looks)
		case "events":
			return readSlice(c, &w.Events, c.wait)
		}
		return false
	})
}

func (c *cursor) wait(w *result.Wait) bool {
	return c.object(func(name []byte) bool {
		switch string(name) {
		case "name":
			return c.text(&w.Name)
		case "part":
			return c.text(&w.Part)
		case "seconds":
			return c.float(&w.Seconds)
		}
		return false
	})
}

func (c *cursor) distribution(d *result.Distribution) bool {
	return c.object(func(name []byte) bool {
		switch string(name) {
		case "name":
			return c.text(&d.Name)
		case "title":
			return c.text(&d.Title)
		case "unit":
			return c.text(&d.Unit)
		case "edges":
			return readSlice(c, &d.Edge, c.float)
		case "counts":
			return readSlice(c, &d.Count, c.int)
		}
		return false
	})
}
