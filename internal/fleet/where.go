package fleet

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

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
