package effects

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// toSend is how to make the page for a colleague.
func (r *Report) toSend() document.Commands {
	name := filepath.Base(filepath.Clean(r.Dir))
	if name == "." || name == ".." || name == string(filepath.Separator) {
		name = "report"
	}
	return document.Commands{{Why: "a page with pictures", Line: "hostlab report " + screen.Operand(r.Dir) +
		" --out " + screen.Operand(name+".html")}}
}

// commandLine is what was typed for a study without a file, up to the command and from there on.
func commandLine(x *result.Experiment) (run, command string) {
	run, command = "hostlab run --levels "+screen.Word(strings.Join(x.Factors[0].Levels, ",")), " --"
	if x.Responses[0].Name == experiment.Printed {
		run += " --better higher"
	}
	words, _ := workload.SplitWords(x.Parameters["run"])
	for _, word := range words {
		command += " " + screen.Word(strings.ReplaceAll(word, "{{", "{"))
	}
	return run, command
}

// hopeless is how many times the blocks so far are too many to wait for, while a
// quieter host decides in as many again.
const hopeless = 20

// steps put levels back, go on, or start again with as many blocks as it takes.
func (r *Report) steps() (out document.Commands) {
	x := r.head()
	run, command := "hostlab run "+screen.Operand(cmp.Or(x.BuiltIn, x.File, x.Name)), ""
	if filepath.Base(x.File) == experiment.CommandLine {
		run, command = commandLine(x)
	}
	for _, k := range slices.Sorted(maps.Keys(x.Overrides)) {
		// not blocks and seed, which are for another experiment
		switch _, rest, dotted := strings.Cut(k, "."); {
		case dotted && rest != "", k == experiment.SettleKey:
			run += " --set " + screen.Word(k+"="+x.Overrides[k])
		case k == experiment.QuickKey:
			run += " --quick"
		}
	}
	if r.Restore {
		out = append(out, document.Command{Why: "levels are still applied; put them back",
			Line: "hostlab run --restore --out " + screen.Operand(r.Dir)})
	}
	need := 0
	for i := range r.Analysis.Effects {
		e := &r.Analysis.Effects[i]
		if !e.Primary() {
			continue
		}
		if e.Verdict == analysis.Unresolved || e.Verdict == analysis.Inconclusive {
			need = max(need, e.Need)
		}
	}
	if own := r.extra().outcome; own != nil && *own != analysis.Open {
		need = 0
	}
	again, block := filepath.Clean(r.Dir)+"-2", r.head().Design.Block()
	switch {
	case r.Analysis.Ended == result.Harmed: // what was changed is back, and there is nothing to repeat
	case !r.Analysis.Complete:
		// the directory has the study, with what was set in it
		out = append(out, document.Command{Why: "it has not ended; go on with it",
			Line: "hostlab run --resume --out " + screen.Operand(r.Dir)})
	case need > hopeless*r.Analysis.Blocks:
		out = append(out, document.Command{Why: "with this noise, a verdict needs " + strconv.Itoa(need) + " " + block +
			"s; find what disturbs the host, then run it again", Line: run + " --out " + screen.Operand(again) + command})
	case need > r.Analysis.Blocks:
		out = append(out, document.Command{Why: "run it again with as many " + block + "s as it takes",
			Line: run + " --blocks " + strconv.Itoa(need) + " --out " + screen.Operand(again) + command})
	}
	return append(out, r.keep()...)
}
