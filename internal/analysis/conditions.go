package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// conditions are warnings about what varied among the runs analysed and is hidden
// in their averages.
func (r *record) conditions(used []*result.Run) []string {
	return slices.Concat(contaminated(used), r.readBack(used), r.boots(used), r.uneven(used), ofRuns(used))
}

// used returns the runs of the blocks given.
func (r *record) used(blocks []int) []*result.Run {
	in := make([]bool, len(r.x.Blocks))
	for _, b := range blocks {
		in[b] = true
	}
	return slices.DeleteFunc(slices.Clone(r.runs), func(run *result.Run) bool { return !in[run.Block] })
}

// readBack compares what factors read with each other.
func (r *record) readBack(used []*result.Run) []string {
	var w []string
	for _, f := range r.x.Factors {
		changed := 0
		of, readings := map[string][]string{}, map[string][]string{} // reading -> levels, level -> readings
		seen := map[[2]string]bool{}
		for _, run := range used {
			before, ok := run.Before[f.Name]
			if !ok {
				continue
			}
			if after, ok := run.After[f.Name]; ok && after != before && run.Harm == "" { // which brings the baseline back
				changed++
			}
			level := r.x.Cells[run.Cell].Levels[f.Name]
			if !seen[[2]string{before, level}] {
				seen[[2]string{before, level}] = true
				of[before], readings[level] = append(of[before], level), append(readings[level], before)
			}
		}
		if changed > 0 {
			w = append(w, fmt.Sprintf("%s read differently after %s than before: something else changes it", f.Name,
				screen.Plural(changed, "run", "runs")))
		}
		for _, level := range f.Levels {
			if n := len(readings[level]); n > 1 {
				w = append(w, fmt.Sprintf("%s read %d different values at level %q (%s): their runs are averaged", f.Name, n,
					level, quoted(readings[level])))
			}
		}
		for _, reading := range slices.Sorted(maps.Keys(of)) {
			if len(of[reading]) > 1 {
				w = append(w, fmt.Sprintf("%s read %q at several levels (%s): they may not have been in force", f.Name, reading,
					quoted(of[reading])))
			}
		}
	}
	return w
}

// contaminated counts the runs that count although a guard was broken each time
// they were made, and those that their own workload has marked.
func contaminated(used []*result.Run) (w []string) {
	guards, own := "with a guard broken in every attempt that the study allows", "marked by their own workload"
	first, count := map[string]string{}, map[string]int{}
	for _, run := range used {
		by := guards
		if ownMark(run, run.Contaminated) {
			by = own
		}
		if run.Contaminated != "" {
			count[by]++
			first[by] = cmp.Or(first[by], run.Contaminated)
		}
	}
	for _, by := range []string{guards, own} {
		if n := count[by]; n > 0 {
			w = append(w, fmt.Sprintf("contaminated, but counted: %d of %s, %s (the first: %s)", n,
				screen.Plural(len(used), "run", "runs"), by, first[by]))
		}
	}
	return w
}

// ownMark reports whether a warning of a run is why it is contaminated.
func ownMark(run *result.Run, warning string) bool {
	return run.Contaminated == warning && slices.Contains(run.Warnings, warning)
}

// quoted lists words, the first few of them.
func quoted(words []string) string {
	keys, more := slices.Sorted(slices.Values(words)), ""
	if len(keys) > 4 {
		keys, more = keys[:4], ", ..."
	}
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%q", k)
	}
	return strings.Join(keys, ", ") + more
}

// boots warns where runs that are compared with each other are of several boots.
func (r *record) boots(used []*result.Run) []string {
	type plot struct{ block, plot int }
	all := map[string]bool{}
	inBlock, inPlot := map[int]string{}, map[plot]string{}
	mixedBlocks, mixedPlots := map[int]bool{}, map[plot]bool{}
	for _, run := range used {
		p := plot{run.Block, run.Plot}
		if run.Boot == "" {
			continue
		}
		all[run.Boot] = true
		if b, ok := inBlock[p.block]; ok && b != run.Boot {
			mixedBlocks[p.block] = true
		}
		if b, ok := inPlot[p]; ok && b != run.Boot {
			mixedPlots[p] = true
		}
		inBlock[p.block], inPlot[p] = run.Boot, run.Boot
	}
	if r.x.Design.Kind != result.SplitPlot {
		if len(mixedBlocks) > 0 {
			return []string{fmt.Sprintf("the host was rebooted within %s: differences there include the effect of the reboot",
				screen.Plural(len(mixedBlocks), "block", "blocks"))}
		}
		return nil
	}
	if !slices.ContainsFunc(r.x.Factors, func(f result.Factor) bool { return f.Change == result.Reboot }) {
		return nil // a person changes levels, perhaps without a boot
	}
	var w []string
	if n := len(mixedPlots); n > 0 {
		w = append(w, screen.Plural(n, "whole plot has", "whole plots have")+" runs of more than one boot, and count as one")
	}
	if n := len(inPlot) - len(all); n > 0 && len(mixedPlots) == 0 {
		w = append(w, screen.Plural(n, "whole plot shares", "whole plots share")+
			" a boot with another, and so are not independent replicates")
	}
	return w
}

// ofRuns sums up the warnings that runs carry.
func ofRuns(used []*result.Run) []string {
	count := map[string]int{}
	for _, run := range used {
		for _, w := range run.Warnings {
			if !ownMark(run, w) { // counted as such
				count[w]++
			}
		}
	}
	texts := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var w []string
	for i, text := range texts {
		if i == 3 {
			w = append(w, screen.Plural(len(texts)-i, "more warning", "more warnings")+" of single runs, in the record")
			break
		}
		w = append(w, fmt.Sprintf("%s: %s", screen.Plural(count[text], "run", "runs"), text))
	}
	return w
}

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
