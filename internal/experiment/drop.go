package experiment

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// Fit returns a study as a machine can run it: without the levels that its workload
// cannot have there, and with what that tells of the machine. A study that fits is
// returned as it is. look says what the host is to the levels of a factor; it may be
// nil. Fit touches nothing. The error is a *Problems.
func Fit(s *Study, m workload.Machine, look func(*Study, Factor) Here) (*Study, error) {
	why, fit := map[string]map[string]string{}, *s
	if look != nil {
		for _, f := range s.Factors {
			here := look(s, f)
			if err := s.given(f, here.Lacks); err != nil {
				return nil, err
			}
			if len(here.Lacks) > 0 {
				why[f.Name] = here.Lacks
			}
			fit.Places = append(fit.Places, here.Places...)
		}
	}
	o, ok := s.Work.(workload.Offering)
	if !ok || m.Topology == nil {
		if len(why) == 0 && fit.Places == nil {
			return s, nil
		}
		return Drop(&fit, why)
	}
	fit.Machine = m
	for _, f := range s.Factors {
		if _, known := s.description().Param(f.Parameter); f.Kind == KindParameter && f.Directories == nil && known {
			why[f.Name] = o.Offers(fit.Config(""), f.Parameter, f.Levels, m)
		}
	}
	out, err := Drop(&fit, why)
	if err != nil {
		return nil, err
	}
	known := o.Machine(out.Config(""), m)
	known.Measured = m.Measured
	out.Known = &known
	return out, nil
}

// Here is what a host is to the levels of a factor.
type Here struct {
	Lacks  map[string]string // level that it does not have -> why
	Places []result.Place
}

// given refuses a directory that the command line names and that cannot be used: who
// names it wants it.
func (s *Study) given(f Factor, lacks map[string]string) error {
	for _, l := range f.Levels {
		if reason := lacks[l]; reason != "" && f.Directories[l].Given {
			return &Problems{[]Problem{{File: "--set " + levelPrefix + l + "=" + screen.Short(s.Overrides[levelPrefix+l]),
				Text: reason}}}
		}
	}
	return nil
}

// Drop returns a study without the levels that a host does not have: factor -> level
// -> why. Its Absent names them, and contrasts that need one go too. A factor whose
// baseline is gone, or that has one level left, goes as a whole where another stays;
// a parameter is then held at what is left of it. Nothing left to compare is a
// *Problems, whose one line says why. It is pure, and s is not modified.
func Drop(s *Study, why map[string]map[string]string) (*Study, error) {
	out := *s
	out.Factors, out.Contrasts, out.Absent = nil, nil, slices.Clone(s.Absent)
	held := map[string]string{} // factor that is gone -> its level
	for _, f := range s.Factors {
		left := f
		left.Levels = nil
		for _, l := range f.Levels {
			if reason, gone := why[f.Name][l]; gone {
				out.Absent = append(out.Absent, result.Absent{Factor: f.Name, Level: l, Reason: reason})
			} else {
				left.Levels = append(left.Levels, l)
			}
		}
		reason := ""
		switch {
		case len(left.Levels) == len(f.Levels):
		case !slices.Contains(left.Levels, f.Baseline):
			reason = "there is no " + f.Baseline + " to compare it with"
		case len(left.Levels) == 1:
			reason = "there is nothing to compare it with"
		}
		if reason == "" {
			out.Factors = append(out.Factors, left)
			continue
		}
		for _, l := range left.Levels {
			out.Absent = append(out.Absent, result.Absent{Factor: f.Name, Level: l, Reason: reason, Follows: true})
		}
		if f.Directories != nil {
			without := "no " + f.Baseline
			if slices.Contains(left.Levels, f.Baseline) {
				without = "nothing"
			}
			return nil, s.unfit(out.Absent, "factor "+f.Name+" has "+without+" to compare with")
		}
		if f.Kind == KindParameter {
			if len(left.Levels) == 0 {
				return nil, s.unfit(out.Absent, "factor "+f.Name+" has no level left")
			}
			if left.Levels[0] != f.Baseline {
				if err := out.hold(f.Parameter, left.Levels[0]); err != nil {
					return nil, s.unfit(out.Absent, err.Error())
				}
			}
			held[f.Name] = left.Levels[0]
		}
	}
	if len(out.Factors) == 0 {
		return nil, s.unfit(out.Absent, "")
	}
	seen := map[string]bool{}
	for _, c := range s.Contrasts {
		if c, ok := out.still(c, held); ok && !seen[contrastKey(c)] {
			seen[contrastKey(c)] = true
			out.Contrasts = append(out.Contrasts, c)
		}
	}
	if len(out.Contrasts) == 0 {
		return nil, s.unfit(out.Absent, "nothing that it compares is left")
	}
	if !slices.ContainsFunc(out.Factors, wholePlot) && out.Design.Kind == result.SplitPlot {
		out.Design.Kind, out.Design.Repeats, out.Design.Dwell = result.RCBD, 1, dwell
		out.dropLooks()
	}
	return &out, nil
}

// hold sets a parameter of the workload to a level.
func (s *Study) hold(parameter, level string) error {
	if _, ok := s.description().Param(parameter); !ok {
		return nil // a name in a command's arguments
	}
	held, err := workload.With(s.Workload.Params, parameter, level)
	if err == nil {
		s.Workload.Params = held
	}
	return err
}

// still reports whether all levels of a contrast are there, and returns it without
// those factors that are gone and held where it asks for them.
func (s *Study) still(c result.Contrast, held map[string]string) (result.Contrast, bool) {
	has := func(factor, level string) bool {
		return slices.ContainsFunc(s.Factors, func(f Factor) bool {
			return f.Name == factor && slices.Contains(f.Levels, level)
		})
	}
	for i, f := range c.Factors {
		if !has(f, c.Levels[i]) {
			return c, false
		}
	}
	at := map[string]string{}
	for f, l := range c.At {
		switch {
		case has(f, l):
			at[f] = l
		case held[f] != l:
			return c, false
		}
	}
	if c.At = at; len(at) == 0 {
		c.At = nil
	}
	return c, true
}

// unfit is the error of a study that a host cannot run: what is lost, the reason, and what runs there instead. What
// follows from other reasons is left out.
func (s *Study) unfit(absent []result.Absent, text string) error {
	absent = slices.DeleteFunc(slices.Clone(absent), func(a result.Absent) bool { return a.Follows })
	file, what := s.File, "it"
	if s.BuiltIn != "" { // nobody has named a file
		file, what = "", "study "+s.BuiltIn
	}
	if text != "" {
		text += ", because "
	}
	text = "this host cannot run " + what + ": " + text + reasonsText(absent)
	if s.Instead != "" {
		text += "; 'hostlab run " + s.Instead + "' runs here"
	}
	return &Problems{[]Problem{{File: file, Text: text}}}
}

// mostNamed is how many levels that are not there for one reason are named one by one.
const mostNamed = 4

// reasonsText says why levels are not there, and names them behind that, or the first
// of many.
func reasonsText(absent []result.Absent) string {
	var list []string
	for _, l := range result.ByReason(absent) {
		names, what := l.Levels, l.Factor
		if n := len(names); n > mostNamed {
			what, names = screen.Count(n, "level")+" of "+what, append(slices.Clone(names[:mostNamed-1]), "...")
		}
		list = append(list, fmt.Sprintf("%s (%s %s)", l.Reason, what, strings.Join(names, ", ")))
	}
	return strings.Join(list, "; ")
}
