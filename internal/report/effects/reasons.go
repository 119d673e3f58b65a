package effects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// reasonText says in sentences why an effect has its verdict.
func reasonText(e *analysis.Effect) string {
	out := verdictReason(e)
	if e.Student {
		out += fmt.Sprintf(" With so few, value and interval are Student's, on %s of freedom.", screen.Count(e.N-1, "degree"))
	}
	return out
}

func verdictReason(e *analysis.Effect) string {
	r, why := &e.Response, &e.Reason
	margin := size(r.Margin, r)
	switch why.Kind {
	case analysis.NoMargin:
		return fmt.Sprintf("The response has no practical margin above 0 (it is %g), so that no effect can be judged.",
			r.Margin)
	case analysis.NoShare:
		return fmt.Sprintf(
			"%s of a baseline's median of 0 is no margin; give one in the response's unit: compare = \"difference\".",
			percentOf(why.Size))
	case analysis.NoBlocks:
		return fmt.Sprintf("No %s is complete.", unitOf(e))
	case analysis.NoValues:
		return fmt.Sprintf("No %s has a value of %s in all its runs.", unitOf(e), r.Name)
	case analysis.FewUnits:
		return fmt.Sprintf("An interval at this confidence needs %d %s: %d more.", why.N, e.Unit, why.N-e.N)
	case analysis.Unbounded:
		return fmt.Sprintf("These %d %s cannot bound the effect: by chance, their random order is nearly the same in all, "+
			"or follows the load. More %s can.", e.N, e.Unit, e.Unit)
	case analysis.NoLook:
		return "The study decides only at its end: it has no earlier look."
	case analysis.BeforeLook:
		return fmt.Sprintf("The first look is at %s, and there are %d.", screen.Count(why.N, unitOf(e)), e.N)
	case analysis.TooEarly:
		return fmt.Sprintf("The interval is within the margin of %s, but failures and stalls do not show in fewer "+
			"than %d %s.", margin, why.N, e.Unit)
	case analysis.Limited:
		return limitReason(e, e.Limits[why.N])
	case analysis.Damaged:
		return why.Text
	case analysis.Shown, analysis.TooNear:
	}
	var out string
	switch v := e.Verdict; v {
	case analysis.CostsMore, analysis.CostsLess:
		does := map[analysis.Verdict]string{analysis.CostsMore: "costs more than",
			analysis.CostsLess: "costs less by more than"}[v]
		if r.Better == "higher" {
			does = "is " + risen[v] + " by more than"
		}
		return fmt.Sprintf("The whole interval %s the margin of %s.", does, margin)
	case analysis.NoEffect:
		out = fmt.Sprintf("There is %s: the whole interval is within the margin of %s.", noDifference, margin)
		if e.Unseen > 0 {
			out += fmt.Sprintf(" A stall in fewer than 1 of %d runs may have been missed.", e.Unseen)
		}
		return out
	case analysis.Unresolved:
		out = fmt.Sprintf("The interval excludes 0, but not effects below the margin of %s.", margin)
	default:
		out = fmt.Sprintf("The interval is too wide for a margin of %s.", margin)
	}
	if why.Kind == analysis.TooNear {
		out += fmt.Sprintf(
			" The effect is too near the margin of %s, or the noise too great, for a sensible number of %s to decide.",
			margin, e.Unit)
	}
	return out
}

// limitReason says what a limit that takes a verdict back means.
func limitReason(e *analysis.Effect, l analysis.Limit) string {
	r, text := &e.Response, limitText(e, l)
	switch l {
	case analysis.Survivors:
		text += ". The remaining runs do not represent the failed ones"
	case analysis.Coarse:
		text += ": smaller effects cannot be seen. A finer clock, or longer runs, would show them"
	case analysis.CarryOver, analysis.Unheld:
	case analysis.Tail:
		text = fmt.Sprintf("The typical run is within the margin of %s, but the mean is not: rare slow runs make it %s (%s)",
			size(r.Margin, r), amount(e.Mean.Value, r), span(e.Mean.Low, e.Mean.High, r))
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// limitText says what was seen, in a part of a sentence; "" where the notes on the mean do.
func limitText(e *analysis.Effect, l analysis.Limit) string {
	r := &e.Response
	switch l {
	case analysis.Survivors:
		return failingText(e)
	case analysis.Coarse:
		text := fmt.Sprintf("the values of %s come in steps of %s or more", r.Name, result.Format(e.Steps.Step, r.Unit))
		if e.Steps.Step == 0 {
			text = fmt.Sprintf("all values of %s are the same, so that the step in which it comes is not known", r.Name)
		}
		if e.Steps.Beyond {
			text += ", beyond the margin of " + size(r.Margin, r)
		}
		if e.Steps.Tied > 0 {
			text += fmt.Sprintf(", and %s of the differences are one and the same number", percentOf(e.Steps.Tied))
		}
		return text
	case analysis.Unheld:
		return "the runs that hold the level for a stretch are not made, so that a host which follows it slowly is not ruled out"
	case analysis.CarryOver:
		if e.Held.N > 0 {
			return fmt.Sprintf(
				"runs in which the level is held differ by %s from the baseline: the host takes several runs to follow a level, "+
					"and pairs show only a part of what it costs; %s", amount(e.Held.Value, r), settleText(e))
		}
		from := "the runs before"
		if e.Carried.Runs == 0 {
			from = "the run before"
		}
		return fmt.Sprintf(
			"the level of %s shows in the runs (%s, correlation of ranks %.2f), so the size of the effect is not known; "+
				"%s", from, chance(e.Carried.P), e.Carried.Rho, settleText(e))
	case analysis.Tail:
	}
	return ""
}

// settleText says what to wait after a change of level, of which the host shows too little.
func settleText(e *analysis.Effect) string {
	if t := settleTime(e); t != "" {
		return fmt.Sprintf("repeat with settle = %q at factor %s", t, e.Contrast.Factors[0])
	}
	return fmt.Sprintf("repeat with a settle of the factor as long as %s",
		screen.Count(int(math.Ceil(e.SettleRuns)), "run"))
}

// settleTime is what to wait after a change of level, as a study has it; "": not known, or nothing asks for it.
func settleTime(e *analysis.Effect) string {
	if !(e.Settle > 0) {
		return ""
	}
	unit := time.Second
	if e.Settle < 1 {
		unit = time.Millisecond
	}
	t := time.Duration(math.Ceil(min(e.Settle, 1e9)*float64(time.Second)/float64(unit))) * unit
	return screen.Brief(t)
}

// failingText says how often the sides of an effect fail.
func failingText(e *analysis.Effect) string {
	f := e.Failing
	if f.Differ() {
		return fmt.Sprintf("runs fail: %s in %s, what it is compared with in %s (Fisher's exact test: %s)", e.Contrast,
			failuresText(f.Level), failuresText(f.Base), chance(f.Failed))
	}
	return fmt.Sprintf(
		"guards void %d of %d first tries of %s, and %d of %d of what it is compared with (Fisher's exact test: %s)",
		f.Level.Void, f.Level.Tried, e.Contrast, f.Base.Void, f.Base.Tried, chance(f.Voids))
}

func failuresText(f analysis.Failures) string {
	share := f.Share()
	return fmt.Sprintf("%d of %s (%s; 95 %% interval %s)", f.Failed, screen.Count(f.Runs, "run"), percentOf(share.Value),
		between(share, percentOf))
}

// failing says which cells fail in more of their runs than the others stand for; "" for none.
func failing(a *analysis.Analysis) string {
	var list []string
	for _, f := range a.Failures {
		if f.Often() {
			list = append(list, result.LevelsText(a.Experiment.Factors,
				a.Experiment.Cells[f.Cell].Levels)+" in "+failuresText(f))
		}
	}
	if list == nil {
		return ""
	}
	return "runs fail, and the remaining runs do not represent them: " + strings.Join(list, ", ")
}

// warned are the warnings of an effect: of its values, then of what limits it.
func warned(e *analysis.Effect) []string {
	out := e.Warnings[:len(e.Warnings):len(e.Warnings)]
	for _, l := range e.Limits {
		if text := limitText(e, l); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// size prints a margin, without its sign.
func size(v float64, r *result.Response) string { return strings.TrimPrefix(within(v, r), "±") }

// chance prints the p of a test; none is 0.
func chance(p float64) string {
	if p < 0.001 || math.IsNaN(p) {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.2g", p)
}

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

// settle is the longest wait that a primary effect asks for, since the levels of earlier runs show in its runs; "" for
// none, where several factors each have their own, or where a rule of the study's own decides.
func (r *Report) settle() string {
	var most *analysis.Effect
	for i := range r.Analysis.Effects {
		e := &r.Analysis.Effects[i]
		if e.Primary() && e.Settle > 0 && (most == nil || e.Settle > most.Settle) {
			most = e
		}
	}
	if most == nil || len(r.head().Factors) > 1 || r.extra().outcome != nil {
		return ""
	}
	return settleTime(most)
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
	settle := r.settle()
	for _, k := range slices.Sorted(maps.Keys(x.Overrides)) {
		// not blocks and seed, which are for another experiment
		switch _, rest, dotted := strings.Cut(k, "."); {
		case k == experiment.SettleKey && settle != "": // it was too short
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
	case settle != "":
		out = append(out, document.Command{Why: "run it again with a wait after each change of level",
			Line: run + " --set settle=" + settle + " --out " + screen.Operand(again) + command})
	case need > hopeless*r.Analysis.Blocks:
		out = append(out, document.Command{Why: "with this noise, a verdict needs " + strconv.Itoa(need) + " " + block +
			"s; find what disturbs the host, then run it again", Line: run + " --out " + screen.Operand(again) + command})
	case need > r.Analysis.Blocks:
		out = append(out, document.Command{Why: "run it again with as many " + block + "s as it takes",
			Line: run + " --blocks " + strconv.Itoa(need) + " --out " + screen.Operand(again) + command})
	}
	return append(out, r.keep()...)
}
