package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/lazyre"
)

// Value is a fact of a host, for comparison and for people.
type Value struct {
	Text  string
	Unit  string
	State string // ok, absent, denied, error
}

// readFacts takes apart the facts of a document that say how the host is set up. A list's elements count together:
// "none x3, mq-deadline".
func (d *Document) readFacts(tree map[string]any) {
	if tree == nil {
		return
	}
	if id, ok := tree["identity"].(map[string]any); ok {
		d.Host = cmp.Or(d.Host, textOf(id["hostname"]))
	}
	seen := map[string][]Value{}
	leaves("", tree, seen)
	d.Facts = make(map[string]Value, len(seen))
	for path, values := range seen {
		d.Facts[path] = together(values)
	}
	d.Stratum = Stratum(d.Facts)
}

// textOf is a fact's text; "" where it is not known.
func textOf(v any) string {
	if m, ok := v.(map[string]any); ok && m["state"] == "ok" {
		if s, ok := m["value"].(string); ok {
			return s
		}
	}
	return ""
}

func leaves(path string, v any, into map[string][]Value) {
	switch v := v.(type) {
	case map[string]any:
		state, isState := v["state"].(string)
		value, isFact := v["value"]
		if isState && isFact {
			unit, _ := v["unit"].(string)
			into[path] = append(into[path], Value{written(value), unit, state})
			return
		}
		for key, inner := range v {
			key = strings.TrimPrefix(path+"."+key, ".")
			// Beside the facts a document has its own head. Of a newer version's facts nobody knows that they pass.
			if says, known := host.SetUp()[key]; says || !known && path != "" {
				leaves(key, inner, into)
			}
		}
	case []any:
		for _, inner := range v {
			leaves(path+"[]", inner, into)
		}
	case nil:
	default:
		into[path] = append(into[path], Value{written(v), "", "ok"})
	}
}

// written is a value in one line. Of a choice, what is active.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case map[string]any:
		if active, ok := v["active"].(string); ok {
			return active
		}
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// together counts a list's elements.
func together(values []Value) Value {
	if len(values) == 1 {
		return values[0]
	}
	type counted struct {
		Value
		n int
	}
	var kinds []counted
	for _, v := range values {
		i := slices.IndexFunc(kinds, func(k counted) bool { return k.Value == v })
		if i < 0 {
			kinds = append(kinds, counted{v, 1})
		} else {
			kinds[i].n++
		}
	}
	if len(kinds) == 1 {
		return kinds[0].Value
	}
	slices.SortStableFunc(kinds, func(a, b counted) int { return b.n - a.n })
	var words []string
	for _, k := range kinds[:min(len(kinds), most)] {
		text := k.Text
		if k.State != "ok" {
			text = k.State
		}
		if k.n > 1 {
			text = fmt.Sprintf("%s x%d", text, k.n)
		}
		words = append(words, text)
	}
	if n := len(kinds) - most; n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	return Value{strings.Join(words, ", "), values[0].Unit, "ok"}
}

// most is how many kinds of a list's elements are named.
const most = 8

// Condition is what a fact of a host is compared with.
type Condition struct {
	Path, Sign, Value string
	number            float64 // of Value, for < and >
}

var condition = lazyre.New(`^([a-z][a-zA-Z0-9_.\[\]]*)\s*(!=|<=|>=|=|<|>)\s*(.*)$`)

// ParseCondition reads KEY=VALUE, KEY!=VALUE, or KEY with <, <=, > or >= and a number in base units.
func ParseCondition(text string) (Condition, error) {
	m := condition.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("expected a fact and a value, such as memory.swappiness=60 or memory.total<8e9")
	}
	c := Condition{Path: m[1], Sign: m[2], Value: strings.TrimSpace(m[3])}
	if strings.ContainsAny(c.Sign, "<>") {
		var err error
		if c.number, err = strconv.ParseFloat(c.Value, 64); err != nil {
			return Condition{}, fmt.Errorf("%s takes a number in base units, not %q", c.Sign, c.Value)
		}
	}
	return c, nil
}

// Holds reports whether a host's fact is so. What is not known of a host is neither equal nor unequal to anything.
func (c Condition) Holds(v Value, known bool) bool {
	if !known || v.State != "ok" {
		return false
	}
	switch c.Sign {
	case "=":
		return v.Text == c.Value || sameNumber(v.Text, c.Value)
	case "!=":
		return v.Text != c.Value && !sameNumber(v.Text, c.Value)
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil {
		return false
	}
	switch c.Sign {
	case "<":
		return n < c.number
	case "<=":
		return n <= c.number
	case ">":
		return n > c.number
	}
	return n >= c.number
}

func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && x == y
}
