package hosttext

import (
	"fmt"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

// mitigations writes in full what is vulnerable, and only names the rest.
func (p *printer) mitigations(list []host.Mitigation) {
	var safe, mitigated []string
	for _, m := range list {
		text, ok := m.Text.Get()
		switch {
		case ok && text == "Not affected":
			safe = append(safe, m.Name)
		case ok && strings.HasPrefix(text, "Mitigation"):
			mitigated = append(mitigated, m.Name)
		default:
			p.fact(m.Name, m.Text)
		}
	}
	if len(mitigated) > 0 {
		p.put("mitigated", strings.Join(mitigated, ", "), "")
	}
	if len(safe) > 0 {
		p.put("not affected by", strings.Join(safe, ", "), "")
	}
}

func (p *printer) storage(f *host.Facts) {
	p.section("Storage")
	for _, s := range f.Storage {
		p.put(s.Purpose, s.Path, "")
		if r, ok := s.Resolved.Get(); ok && r != s.Path {
			p.fact("  really", s.Resolved)
		}
		for _, n := range []named{
			{"  class", s.Class}, {"  file system", s.FSType}, {"  mounted at", s.MountPoint}, {"  options", s.Options},
			{"  device", s.Device}, {"  DAX in force", s.DAX}, {"  read only", s.ReadOnly}, {"  free", s.FreeBytes},
		} {
			_, _, source, state, why := n.fact.Any()
			switch {
			case state != host.StateAbsent:
				p.fact(n.label, n.fact)
			case n.label == "  class" && why != "":
				p.put(n.label, "unknown: "+why, source)
			}
		}
		for _, l := range s.Stack {
			p.put("  on", strings.Repeat("› ", l.Depth)+strings.TrimRight(l.Name+", "+l.Kind+", "+l.Label, ", "), "")
		}
	}
	for _, b := range f.Block {
		p.put(b.Name, device(b), "")
	}
	if len(f.Storage)+len(f.Block) == 0 && f.Windows == nil {
		p.absent = append(p.absent, "disks")
	}
}

// device says what decides about the latency of a write, in the order in which
// people ask.
func device(b host.BlockDevice) string {
	var parts []string
	add := func(text string, f host.AnyFact) {
		value, unit, _, state, _ := f.Any()
		switch state {
		case host.StateOK:
			parts = append(parts, strings.TrimSpace(text+" "+show(value, unit)))
		case host.StateDenied, host.StateError:
			parts = append(parts, strings.TrimSpace(text+" "+string(state)))
		}
	}
	if v, ok := b.Size.Get(); ok {
		parts = append(parts, result.Format(float64(v), "B"))
	}
	if b.Class != "" {
		parts = append(parts, b.Class)
	}
	add("", b.Model)
	add("cache", b.WriteCache)
	add("FUA", b.FUA)
	add("DAX", b.DAX)
	add("scheduler", b.Scheduler)
	add("read-ahead", b.ReadAhead)
	return strings.Join(parts, ", ")
}

func (p *printer) databases(list []host.Database) {
	p.section("Databases")
	if len(list) == 0 {
		p.put("servers running", "none seen", "")
	}
	for _, d := range list {
		p.put(d.Kind, fmt.Sprintf("process %d", d.PID), "")
		p.fact("  data", d.DataDir)
		p.fact("  log", d.LogDir)
	}
}
