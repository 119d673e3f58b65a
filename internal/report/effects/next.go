package effects

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/screen"
)

// step is something to type next, with why.
type step struct{ Why, Command string }

// next advises what to type: the steps, and the page for a colleague.
func (r *Report) next() []step {
	name := filepath.Base(filepath.Clean(r.Dir))
	if name == "." || name == ".." || name == string(filepath.Separator) {
		name = "report"
	}
	return append(r.steps(), step{"a page with pictures, to send", "hostlab report " + screen.Operand(r.Dir) + " --format html --out " + screen.Operand(name+".html")})
}

// hopeless is how many times the blocks so far nobody would wait for, while a
// quieter host decides in as many again.
const hopeless = 20

// steps put levels back, go on, or start again with as many blocks as it takes.
func (r *Report) steps() []step {
	x := r.head()
	run := "hostlab run " + screen.Operand(cmp.Or(x.BuiltIn, x.File, x.Name))
	for _, k := range slices.Sorted(maps.Keys(x.Overrides)) {
		if strings.HasPrefix(k, "workload.") || strings.HasPrefix(k, "level.") { // not blocks and seed, which are for another experiment
			run += " --set " + screen.Word(k+"="+x.Overrides[k])
		}
	}
	var out []step
	if r.Restore {
		out = append(out, step{"levels are still applied; put them back", "hostlab run --restore --out " + screen.Operand(r.Dir)})
	}
	need := 0
	void := slices.ContainsFunc(r.Analysis.AA, func(a analysis.AA) bool { return a.Void && a.Response.Primary })
	for i := range r.Analysis.Effects {
		e := &r.Analysis.Effects[i]
		if !primary(e) {
			continue
		}
		void = void || e.Verdict == analysis.VoidVerdict
		if e.Verdict == analysis.Unresolved || e.Verdict == analysis.Inconclusive {
			need = max(need, e.Need)
		}
	}
	if d := r.decider(); d != nil && d.outcome() != Open {
		need = 0
	}
	again := filepath.Clean(r.Dir) + "-2"
	switch {
	case !r.Analysis.Complete:
		out = append(out, step{"it has not ended; go on with it", "hostlab run --resume --out " + screen.Operand(r.Dir)}) // the directory has the study, with what was set in it
	case void:
		out = append(out, step{"find what disturbed the host, then run it again", run + " --out " + screen.Operand(again)})
	case need > hopeless*r.Analysis.Blocks:
		out = append(out, step{"this noise would take " + strconv.Itoa(need) + " blocks; find what disturbs the host, then run it again", run + " --out " + screen.Operand(again)})
	case need > r.Analysis.Blocks:
		out = append(out, step{"run it again with as many blocks as it takes", run + " --blocks " + strconv.Itoa(need) + " --out " + screen.Operand(again)})
	}
	return out
}
