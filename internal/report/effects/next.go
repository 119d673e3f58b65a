package effects

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
)

// step is something to type next, with why.
type step struct{ Why, Command string }

// next advises what to type: the steps, and the page for a colleague.
func (r *Report) next() []step {
	name := filepath.Base(filepath.Clean(r.Dir))
	if name == "." || name == ".." || name == string(filepath.Separator) {
		name = "report"
	}
	return append(r.steps(), step{"a page with pictures, to send", "hostlab report " + Quote(r.Dir) + " --format html --out " + Quote(name+".html")})
}

// hopeless is how many times the blocks so far nobody would wait for, while a
// quieter host decides in as many again.
const hopeless = 20

// steps put levels back, go on, or start again with as many blocks as it takes.
func (r *Report) steps() []step {
	x := r.head()
	run := "hostlab run " + Quote(cmp.Or(x.BuiltIn, x.File, x.Name))
	for _, k := range slices.Sorted(maps.Keys(x.Overrides)) {
		if strings.HasPrefix(k, "workload.") || strings.HasPrefix(k, "level.") { // not blocks and seed, which are for another experiment
			run += " --set " + Quote(k+"="+x.Overrides[k])
		}
	}
	var out []step
	if r.Restore {
		out = append(out, step{"levels are still applied; put them back", "hostlab run --restore --out " + Quote(r.Dir)})
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
		out = append(out, step{"it has not ended; go on with it", "hostlab run --resume --out " + Quote(r.Dir)}) // the directory has the study, with what was set in it
	case void:
		out = append(out, step{"find what disturbed the host, then run it again", run + " --out " + Quote(again)})
	case need > hopeless*r.Analysis.Blocks:
		out = append(out, step{"this noise would take " + strconv.Itoa(need) + " blocks; find what disturbs the host, then run it again", run + " --out " + Quote(again)})
	case need > r.Analysis.Blocks:
		out = append(out, step{"run it again with as many blocks as it takes", run + " --blocks " + strconv.Itoa(need) + " --out " + Quote(again)})
	}
	return out
}

// Quote makes one word for a POSIX shell.
func Quote(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+=,-"
	plain := strings.Trim(s, safe) == ""
	if plain && s != "" && !strings.HasPrefix(s, "-") {
		return s
	}
	if strings.HasPrefix(s, "-") {
		s = "./" + s
		if plain {
			return s
		}
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
