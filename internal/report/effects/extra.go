package effects

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// extra is what one study's report has beside its effects: a verdict by a rule of its own, or the
// table of the document that it repeats. A study names it with section = "..." and the record keeps
// the name. The zero extra is none.
type extra struct {
	// verdict is one by a rule of its own, in sentences; nil for none.
	verdict []string
	// outcome is set where that verdict is the study's: it stands at the top of the report and gives the
	// outcome, in place of the primary effects. Those share in it and are shown below as all others.
	outcome *analysis.Outcome
	// section is for people. The ids of pictures in it begin with key.
	section func(key string) document.Section
	// data goes into the report's JSON below "section", and has its name as "name".
	data any
}

// extras lists them by name. Each gets the runs that count, in the order recorded.
var extras = map[string]func(a *analysis.Analysis, runs []result.Run) extra{
	"log": func(a *analysis.Analysis, runs []result.Run) extra {
		s := newLogDevice(a, runs)
		return extra{verdict: s.verdict(), section: s.section, data: s.LogDevice}
	},
	"smt": func(a *analysis.Analysis, runs []result.Run) extra {
		s := siblings{analysis.NewSiblings(a.Experiment, runs), a.Experiment}
		return extra{verdict: s.verdict(), outcome: new(s.outcome()), section: s.section, data: s.Siblings}
	},
	"table": func(a *analysis.Analysis, runs []result.Run) extra {
		s := newCross(a, runs)
		return extra{section: s.section, data: s}
	},
}

// extra is that of the record. Of one that is not known, it has the name alone.
func (r *Report) extra() *extra {
	if r.made == nil {
		r.made = &extra{}
		name := r.head().Section
		if build, ok := extras[name]; ok {
			*r.made = build(r.Analysis, r.Analysis.Counted())
		} else if name != "" {
			r.made.data = map[string]string{"name": name}
		}
	}
	return r.made
}

// section is what people see of the extra; none for none. Its verdict begins it, except
// where the top has it already: where it decides, or for want of a primary effect.
func (r *Report) section(key string) (out []document.Section) {
	e := r.extra()
	if e.section == nil {
		return nil
	}
	s := e.section(key)
	if e.outcome == nil && len(deciding(r.Analysis)) > 0 {
		s.Blocks = append(document.Lines(document.Strong, e.verdict...), s.Blocks...)
	}
	return []document.Section{s}
}

// cautions are the warnings that were known before the first run, and that of a record of a newer hostlab.
func (r *Report) cautions() (list []string) {
	x := r.head()
	if x.Section != "" && r.extra().section == nil {
		list = append(list,
			fmt.Sprintf("the record names %q as a section of its report, which this hostlab does not have: a newer "+
				"one shows it", x.Section))
	}
	for _, p := range x.Places {
		list = append(list, p.Cautions...)
	}
	return list
}

// pairsMethod is what method is for pairs of periods.
const pairsMethod = "A pair is two periods of a service that others use, one at the baseline and one at the level, in random order. " +
	"Effects are estimated within pairs (on logarithms for ratios). Their intervals come from the exact distribution of " +
	"these random orders, and hold for all primary effects and all declared looks together. Inside the practical " +
	"margin an effect is none; beyond it, it costs; across it, nothing is decided. A period that was ended to be safe " +
	"counts as its level."

// paired reports whether an experiment is of pairs of periods.
func paired(x *result.Experiment) bool { return x.Design.Kind == result.Switchback }

// unitOf is what an effect counts, one of them.
func unitOf(e *analysis.Effect) string {
	if e.Unit == "pairs" {
		return "pair"
	}
	return "block"
}

// harmText is the headline of an experiment that was stopped to be safe; "" for others. It says harm only where the
// randomised comparison does.
func harmText(a *analysis.Analysis) string {
	if a.Ended != result.Harmed {
		return ""
	}
	what, why, times := "the level", "", 0
	for _, s := range a.Struck {
		if what, why = s.Level, s.Why; s.Harmless == "" {
			times++
		}
	}
	if why != "" {
		why = fmt.Sprintf(" In the last of %s at %s: %s.", screen.Count(times, "period"), what, why)
	}
	if a.Harms() {
		return fmt.Sprintf("%s harms the service, as the comparison in random order says. The experiment was stopped with the baseline back.%s", what,
			strings.TrimSuffix(why, "."))
	}
	return "stopped to be safe, with the baseline back." + why +
		fmt.Sprintf(" After %s, the comparison in random order does not show that %s is to blame",
			screen.Count(a.Blocks, "complete pair"), what)
}

// early are the periods that were ended to be safe.
func early(a *analysis.Analysis) (out document.List) {
	for _, s := range a.Struck {
		text := fmt.Sprintf("Pair %d, %s, after %s: %s.", s.Pair, s.Level, result.Format(s.Seconds, "s"), s.Why)
		if s.Harmless != "" {
			text += " It does not count: " + s.Harmless + "."
		}
		out = append(out, document.Line{Text: text})
	}
	return out
}

// loadText says what became of the adjustment for the load.
func loadText(d *analysis.Adjusted) string {
	return fmt.Sprintf("the drift of %s from pair to pair explains %s of the differences' variance, and was taken out",
		d.Load,
		percentOf(d.Explained))
}

// methodOf is that of a set's experiments.
func methodOf(s *Set) string {
	var texts []string
	for _, own := range []struct {
		text  string
		pairs bool
	}{{method, false}, {pairsMethod, true}} {
		for i := range s.Reports {
			if paired(s.Reports[i].head()) == own.pairs {
				texts = append(texts, own.text)
				break
			}
		}
	}
	return strings.Join(texts, " ")
}

// keep is how to keep the level of a live experiment that is better and costs nothing else that decides.
func (r *Report) keep() (out document.Commands) {
	x := r.head()
	if x.Design.Kind != result.Switchback || !r.Analysis.Complete || len(x.Factors) != 1 ||
		r.Analysis.Ended == result.Harmed {
		return nil
	}
	f, better, level := x.Factors[0], false, ""
	for i := range r.Analysis.Effects {
		e := &r.Analysis.Effects[i]
		switch {
		case !e.Primary():
		case e.Verdict == analysis.CostsLess:
			better, level = true, e.Contrast.Levels[0]
		case e.Verdict == analysis.CostsMore:
			return nil
		}
	}
	if !better {
		return nil
	}
	effect := SideEffect(f.Kind, f.Target, level)
	if effect != "" {
		effect = "; " + effect
	}
	switch f.Kind {
	case experiment.KindSetting:
		set := screen.Word(f.Target + "=" + level)
		return document.Commands{{Why: "keep it, until the next boot" + effect, Line: "hostlab set " + set},
			{Why: "keep it for good, with tuned" + effect, Line: "hostlab export tuned " + set + " --out tuned.conf"}}
	case experiment.KindServer:
		if x.Parameters["dsn"] == "" { // the record does not say where it listens
			effect += "; if another server runs here, add -h and -p of this one"
		}
		return document.Commands{{Why: "keep it" + effect, Line: keepParameter(x, f.Target, level)}}
	}
	return nil
}

// SideEffect is what a level of a setting of the host, or of a server's parameter, does or risks besides; "": nothing
// to say.
func SideEffect(kind, name, level string) string {
	switch kind {
	case experiment.KindSetting:
		s, _ := setting.Find(name)
		return s.SideEffect(level)
	case experiment.KindServer:
		risk, known := experiment.Risk(name, level)
		if !known {
			return "what " + name + " may cost besides is not known here: read its server's documentation"
		}
		return risk
	}
	return ""
}

// keepParameter is what a server's own client types.
func keepParameter(x *result.Experiment, name, level string) string {
	dsn, service := x.Parameters["dsn"], strings.ToLower(x.Parameters["service"])
	if strings.HasPrefix(dsn, "m") || strings.Contains(service, "maria") || strings.Contains(service, "mysql") {
		return "mariadb -e " + screen.Word("set global "+name+" = "+literal(level)) + "  # and the same in its option file"
	}
	to := ""
	if dsn != "" {
		to = "-d " + screen.Word(dsn) + " "
	}
	return "psql " + to + "-c " + screen.Word("alter system set "+name+" = '"+strings.ReplaceAll(level, "'", "''")+"'") +
		" -c 'select pg_reload_conf()'"
}

// literal is a value as SET GLOBAL of MariaDB takes it: it refuses a number in quotes, and one with a suffix.
func literal(level string) string {
	if _, err := strconv.ParseFloat(level, 64); err == nil {
		return level
	}
	if n := len(level) - 1; n > 0 {
		v, err := strconv.ParseInt(level[:n], 10, 32)
		if i := strings.IndexByte("KMG", strings.ToUpper(level)[n]); err == nil && i >= 0 {
			return strconv.FormatInt(v<<(10*(i+1)), 10)
		}
	}
	return "'" + strings.ReplaceAll(level, "'", "''") + "'"
}
