package predict

import (
	"fmt"
	"regexp"
	"strings"

	"hostlab/internal/model"
)

func machineLine(m model.Machine) string {
	s := fmt.Sprintf("%s: %d x %d cores", m.Name, m.Sockets, m.CoresPerSocket)
	if m.ThreadsPerCore > 1 {
		s += fmt.Sprintf(" x %d threads", m.ThreadsPerCore)
	}
	s += ", " + hz(m.PStates[0])
	if n := len(m.PStates); n > 1 {
		s += fmt.Sprintf(" to %s in %d steps", hz(m.PStates[n-1]), n)
	}
	if n := len(m.Turbo); n > 0 {
		s += fmt.Sprintf(", turbo %s (all cores %s)", hz(m.Turbo[0].Hz), hz(m.Turbo[n-1].Hz))
	}
	if m.Fixed > 0 {
		s += ", held at " + hz(m.Fixed) + " by firmware"
	}
	return s + ", one frequency for each " + string(m.Domain)
}

// recordLine sets the load of a record beside the one that was simulated for it.
func recordLine(a *Answer) string {
	if a.Workload.Watched == 0 {
		return ""
	}
	s := fmt.Sprintf("load of %s on %d CPUs", percent(a.Workload.Load), a.Workload.Watched)
	for i, c := range a.Comparisons {
		between := ", "
		if i == 0 {
			between = "; simulated here, under " + a.Baseline.Name + ": "
		}
		s += between + percent(c.Baseline.Responses[model.Utilisation].Value)
	}
	return s + fmt.Sprintf(" of %d CPUs busy", a.Machine.CPUs())
}

func workloadLine(w model.Workload) string {
	s := w.Name + ": "
	switch w.Kind {
	case model.Dialog:
		s += fmt.Sprintf("steps of %d x %s CPU", w.Slices, distText(w.Slice))
		if w.Slices > 1 {
			s += fmt.Sprintf(" and %d x %s wait", w.Slices-1, distText(w.Wait))
		}
		if w.Users > 0 {
			s += fmt.Sprintf(", closed: %d users thinking %s", w.Users, distText(w.Think))
		} else {
			s += ", open: random arrivals"
		}
	case model.Batch:
		s += fmt.Sprintf("%d jobs of %s CPU each in slices of %s with waits of %s", w.Users, seconds(w.Work), distText(w.Slice), distText(w.Wait))
	case model.Query:
		s += fmt.Sprintf("one query of %d workers with %s CPU each, in slices of %s with waits of %s", w.Users, seconds(w.Work), distText(w.Slice), distText(w.Wait))
	case model.Commit:
		s += fmt.Sprintf("%d writers that compute %s, commit to a device of %s and think %s", w.Users, distText(w.Slice), distText(w.Device), distText(w.Think))
	}
	if w.MemoryShare > 0 {
		s += fmt.Sprintf(", %s of the work does not scale with frequency", percent(w.MemoryShare))
	}
	return s + ", placed " + string(w.Placement)
}

// distText describes a distribution by its mean; values of a record are many.
func distText(d model.Dist) string {
	switch {
	case d.IsZero():
		return "0 s"
	case d.Kind == model.DistEmpirical:
		return fmt.Sprintf("%s (%d values)", seconds(d.Mean), len(d.Values))
	case d.Kind == model.DistFixed || d.Kind == "":
		return seconds(d.Mean)
	case d.CV > 0:
		return fmt.Sprintf("%s (%s, cv %.2g)", seconds(d.Mean), d.Kind, d.CV)
	}
	return fmt.Sprintf("%s (%s)", seconds(d.Mean), d.Kind)
}

// digits are what warnings of one kind differ by.
var digits = regexp.MustCompile(`[\d.]+`)

// shared are the warnings of rows that have figures, each kind once, in the words of
// the row with the largest number, behind the names of their rows.
func shared(c model.Comparison) (out []string) {
	type kind struct {
		text string
		rows []string
	}
	var order []string
	kinds := map[string]*kind{}
	for _, r := range c.All() {
		if len(r.Responses) == 0 {
			continue
		}
		for _, w := range r.Warnings {
			key := digits.ReplaceAllString(w, "#")
			k := kinds[key]
			if k == nil {
				k = &kind{text: w}
				kinds[key], order = k, append(order, key)
			}
			if number := digits.FindString(w); len(number) > len(digits.FindString(k.text)) || number > digits.FindString(k.text) {
				k.text = w
			}
			k.rows = append(k.rows, label(r))
		}
	}
	for _, key := range order {
		out = append(out, strings.Join(kinds[key].rows, ", ")+": "+kinds[key].text)
	}
	return out
}
