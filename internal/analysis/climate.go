package analysis

import (
	"fmt"
	"strings"

	"hostlab/internal/result"
)

// A condition that took more than unevenShare of all CPUs at one side of a
// contrast, and less than half of that at the other, may be the effect itself.
const unevenShare = 0.02

// climate is what else happened on the host while a cell's runs were under way.
type climate struct {
	runs                      int
	foreign, steal, throttled seen
}

// seen is a condition, which short runs often do not know: the kernel counts CPU
// time in ticks.
type seen struct {
	sum float64 // shares of all CPUs, or events
	n   int     // runs that know
}

func (s seen) mean() float64 { return s.sum / float64(s.n) }

// enough reports whether it stands for the runs: half of them, and five.
func (s seen) enough(runs int) bool { return s.n >= 5 && 2*s.n >= runs }

func (c *climate) add(o climate) {
	c.runs += o.runs
	for _, p := range [][2]*seen{{&c.foreign, &o.foreign}, {&c.steal, &o.steal}, {&c.throttled, &o.throttled}} {
		p[0].sum += p[1].sum
		p[0].n += p[1].n
	}
}

// climates sums up conditions by cell.
func (r *record) climates(used []*result.Run) []climate {
	out := make([]climate, len(r.x.Cells))
	for _, run := range used {
		c := &out[run.Cell]
		c.runs++
		for name, s := range map[string]*seen{"foreign_cpu": &c.foreign, "steal": &c.steal, "throttled": &c.throttled} {
			if v, ok := run.Conditions[name]; ok {
				s.sum += v
				s.n++
			}
		}
	}
	return out
}

// uneven warns of conditions that differ between the sides of contrasts: once for
// each condition, with the figures of the contrast where it differs most, since what
// disturbed one cell shows in every contrast that the cell is in.
func (r *record) uneven(cells []climate) []string {
	share := func(s seen) string { return percent(s.mean()) + " of all CPUs" }
	times := func(s seen) string { return fmt.Sprintf("%.0f times", s.sum) }
	var w []string
	for _, k := range []struct {
		what  string
		of    func(climate) seen
		least float64
		text  func(seen) string
	}{
		{"other processes took", func(c climate) seen { return c.foreign }, unevenShare, share},
		{"the hypervisor (steal) took", func(c climate) seen { return c.steal }, unevenShare, share},
		{"the CPUs were throttled", func(c climate) seen { return c.throttled }, 0, times},
	} {
		type side struct {
			seen
			runs int
		}
		of := func(members []int) side {
			var sum climate
			for _, i := range members {
				sum.add(cells[i])
			}
			return side{k.of(sum), sum.runs}
		}
		taken := func(s side) string {
			return fmt.Sprintf("%s (known in %d of %s)", k.text(s.seen), s.n, plural(s.runs, "run", "runs"))
		}
		worst, text, where, others := 0.0, "", "", []string(nil)
		for _, contrast := range r.x.Contrasts {
			c, err := r.comparison(contrast)
			if err != nil {
				continue
			}
			level, base := of(c.level), of(c.base)
			if !level.enough(level.runs) || !base.enough(base.runs) {
				continue
			}
			hi, lo := max(level.mean(), base.mean()), min(level.mean(), base.mean())
			if !(hi > k.least) || lo >= hi/2 {
				continue
			}
			name := contrast.String()
			if hi-lo <= worst {
				others = append(others, name)
				continue
			}
			if where != "" {
				others = append(others, where)
			}
			worst, where = hi-lo, name
			text = fmt.Sprintf("%s %s at %s and %s at its baseline: the difference may come from that, or that from the level", k.what, taken(level), name, taken(base))
		}
		if len(others) > 0 {
			text += "; so too at " + strings.Join(others, ", ")
		}
		if text != "" {
			w = append(w, text)
		}
	}
	return w
}
