package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// Engine is a kind of server that a check speaks for, perhaps of some versions only.
type Engine struct {
	Kind  string `json:"kind"`            // as host names it
	From  string `json:"from,omitempty"`  // the first version; "": any
	Below string `json:"below,omitempty"` // the version from which on it does not hold; "": none
}

// String is an engine in a sentence: "MongoDB from 8.0".
func (e Engine) String() string {
	s := host.ProductOf(e.Kind)
	if e.From != "" {
		s += " from " + e.From
	}
	if e.Below != "" {
		s += " below " + e.Below
	}
	return s
}

// is says whether a server is of this engine. known is false where that takes a version that no
// file tells.
func (e Engine) is(d host.Database) (yes, known bool) {
	if d.Kind != e.Kind {
		return false, true
	}
	if e.From == "" && e.Below == "" {
		return true, true
	}
	v, ok := d.Version.Get()
	return ok && (e.From == "" || compareVersions(v, e.From) >= 0) && (e.Below == "" || compareVersions(v, e.Below) < 0),
		ok
}

// compareVersions compares numbers between dots: 10.2 is above 9.6, and 8 is 8.0.
func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var n, m int
		if i < len(x) {
			n, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			m, _ = strconv.Atoi(y[i])
		}
		if c := cmp.Compare(n, m); c != 0 {
			return c
		}
	}
	return 0
}

// engines makes a list of kinds, of any version.
func engines(kinds ...string) []Engine {
	list := make([]Engine, len(kinds))
	for i, k := range kinds {
		list[i].Kind = k
	}
	return list
}

// anyServer are all kinds: a check that judges a server's own process needs one, whichever it is.
var anyServer = engines(host.Kinds()...)

func servers(f *host.Facts) []host.Database { return slices.Concat(f.Databases, f.Apps) }

// of are the servers that one of some engines is, or may be where the version is not known.
func of(list []Engine, all []host.Database) (out []host.Database) {
	for _, d := range all {
		if slices.ContainsFunc(list, func(e Engine) bool { yes, known := e.is(d); return yes || !known }) {
			out = append(out, d)
		}
	}
	return out
}

// wouldApply says for which servers a check speaks that sees none of them.
func (c Check) wouldApply(f *host.Facts) string {
	seen := "no server is seen running"
	if all := servers(f); len(all) > 0 {
		seen = "here is " + products(all)
	}
	return "would apply to " + c.speaksFor() + "; " + seen
}

// speaksFor names the engines of a check.
func (c Check) speaksFor() string {
	if len(c.For) == len(anyServer) {
		return "any database server"
	}
	names := make([]string, len(c.For))
	for i, e := range c.For {
		names[i] = e.String()
	}
	return inWords(names, "and")
}

// inWords joins names as a sentence does: a, b and c.
func inWords(names []string, and string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " " + and + " " + names[n-1]
	}
	return strings.Join(names, "")
}

// products names the kinds of servers, each once.
func products(list []host.Database) string {
	var names []string
	for _, d := range list {
		if p := d.Product(); !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return inWords(names, "and")
}

// nameOf tells servers apart: "PostgreSQL 15 (process 700)".
func nameOf(d host.Database) string {
	name := d.Product()
	if v, ok := d.Version.Get(); ok {
		name += " " + v
	}
	if d.PID > 0 {
		name += fmt.Sprintf(" (process %d)", d.PID)
	}
	return name
}

// want is what a source asks of a limit where an engine runs.
type want struct {
	engine Engine
	least  uint64
}

// wanted is the most that is asked for the servers that run, and for which; 0 where none asks.
func wanted(f *host.Facts, wants []want) (least uint64, by host.Database) {
	for _, w := range wants {
		for _, d := range servers(f) {
			if yes, _ := w.engine.is(d); yes && w.least > least {
				least, by = w.least, d
			}
		}
	}
	return least, by
}

// forAll are the engines of wants, in their order.
func forAll(wants []want) (out []Engine) {
	for _, w := range wants {
		if !slices.Contains(out, w.engine) {
			out = append(out, w.engine)
		}
	}
	return out
}
