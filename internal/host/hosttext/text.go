// Package hosttext writes a machine's facts for people: 80 columns, scaled
// units, equal values of many CPUs on one line, and for each value where it was
// read. What could not be read says so; what is not there is only named.
package hosttext

import (
	"io"
	"strings"

	"hostlab/internal/host"
)

// Write writes all facts in sections.
func Write(w io.Writer, f *host.Facts) error {
	p := &printer{other: f.Windows != nil}
	all := bySection(f)
	p.section("Machine")
	p.facts(all["identity"])
	p.topology(f.Topology)
	p.frequency(f)
	p.idle(f)
	p.section("Memory")
	p.facts(all["memory"])
	p.section("Kernel")
	p.facts(all["kernel"])
	p.mitigations(f.Kernel.Mitigations)
	p.storage(f)
	p.section("Virtualization and limits")
	p.facts(all["virtualization"])
	p.facts(all["limits"])
	if f.Windows == nil {
		p.databases(f.Databases) // found in /proc
	} else {
		p.section("Windows power plan")
		p.facts(all["windows"])
	}
	p.flush()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// named is a fact and its label.
type named struct {
	label string
	fact  host.AnyFact
}

// bySection sorts the facts that stand for themselves, and are no part of a
// list, by the first part of their path.
func bySection(f *host.Facts) map[string][]named {
	sections := map[string][]named{}
	f.Walk(func(path string, fact host.AnyFact) {
		section, name, _ := strings.Cut(path, ".")
		if !strings.ContainsAny(path, "[") {
			sections[section] = append(sections[section], named{strings.ReplaceAll(name, "_", " "), fact})
		}
	})
	return sections
}

// shares are facts between 0 and 1, which people read as a percentage.
var shares = map[string]bool{"pressure cpu": true, "pressure io": true, "steal": true}

func (p *printer) facts(list []named) {
	for _, n := range list {
		if f, ok := n.fact.(host.Fact[float64]); ok && shares[n.label] {
			f.Value, f.Unit = 100*f.Value, "%"
			n.fact = f
		}
		p.fact(n.label, n.fact)
	}
}
