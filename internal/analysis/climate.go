package analysis

import (
	"fmt"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// A condition that took more than unevenShare of all CPUs at one side of a
// contrast, and less than half of that at the other, may be the effect itself.
const unevenShare = 0.02

// climate is what of one condition was seen in the runs of some cells. Short runs often
// do not know it: the kernel counts CPU time in ticks.
type climate struct {
	sum     float64 // shares of all CPUs, or events
	n, runs int     // runs that know, of how many
}

func newClimate(used []*result.Run, cells []int, condition string) (c climate) {
	for _, run := range used {
		if slices.Contains(cells, run.Cell) {
			c.runs++
			if v, ok := run.Conditions[condition]; ok {
				c.sum += v
				c.n++
			}
		}
	}
	return c
}

func (c climate) mean() float64 { return c.sum / float64(c.n) }

// enough reports whether it stands for the runs: half of them, and five.
func (c climate) enough() bool { return c.n >= 5 && 2*c.n >= c.runs }

// uneven warns of conditions that differ between the sides of contrasts: once for
// each condition, with the figures of the contrast where it differs most, since what
// disturbed one cell shows in every contrast that the cell is in.
func (r *record) uneven(used []*result.Run) (w []string) {
	share := func(c climate) string { return result.Percent(c.mean(), 2) + " of all CPUs" }
	times := func(c climate) string { return fmt.Sprintf("%.0f times", c.sum) }
	for _, k := range []struct {
		condition, what string
		least           float64
		text            func(climate) string
	}{
		{"foreign_cpu", "other processes took", unevenShare, share},
		{"steal", "the hypervisor (steal) took", unevenShare, share},
		{"throttled", "the CPUs were throttled", 0, times},
	} {
		taken := func(c climate) string {
			return fmt.Sprintf("%s (known in %d of %s)", k.text(c), c.n, screen.Plural(c.runs, "run", "runs"))
		}
		worst, text, where := 0.0, "", []string(nil)
		for _, contrast := range r.x.Contrasts {
			c, err := r.comparison(contrast)
			if err != nil {
				continue
			}
			level, base := newClimate(used, c.level, k.condition), newClimate(used, c.base, k.condition)
			hi, lo := max(level.mean(), base.mean()), min(level.mean(), base.mean())
			if !level.enough() || !base.enough() || !(hi > k.least) || lo >= hi/2 {
				continue
			}
			if where = append(where, contrast.String()); hi-lo > worst {
				worst = hi - lo
				text = fmt.Sprintf("%s %s at %s and %s at its baseline: this may explain the effect, unless the level caused it",
					k.what, taken(level), contrast, taken(base))
			}
		}
		if len(where) > 1 {
			text += fmt.Sprintf(" (of %s where it differs, most here)", screen.Count(len(where), "contrast"))
		}
		if text != "" {
			w = append(w, text)
		}
	}
	return w
}
