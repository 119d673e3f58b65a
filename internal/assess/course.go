package assess

import (
	"cmp"
	"fmt"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// Second is a stretch of the minute: about a second of it.
type Second struct {
	At           float64                      `json:"at"`    // its end, s since the beginning
	Parts        map[explain.PartName]float64 `json:"parts"` // s in each second, of all sessions or threads together
	Busy         *float64                     `json:"cpus_busy"`
	Transactions *float64                     `json:"transactions_per_s"`
}

// Seconds are the minute in stretches.
func (m *Minute) seconds() []Second {
	out, at := []Second{}, 0.0
	for _, c := range m.Report.Course {
		if c.Seconds <= 0 {
			continue
		}
		s := Second{At: at + c.Seconds, Parts: map[explain.PartName]float64{}}
		for name, v := range c.Parts {
			if name != explain.Idle {
				s.Parts[name] = v / c.Seconds
			}
		}
		if c.Transactions >= 0 {
			s.Transactions = result.Finite(float64(c.Transactions) / c.Seconds)
		}
		if from, to := m.busyUntil(at), m.busyUntil(s.At); from != nil && to != nil {
			s.Busy = result.Finite(min((*to-*from)/c.Seconds, float64(max(1, m.Host.CPUs))))
		}
		out, at = append(out, s), s.At
	}
	return out
}

// busyUntil is what the host's CPUs had worked since the beginning, in s, between two readings in
// proportion; nil: not known.
func (m *Minute) busyUntil(at float64) *float64 {
	before := service.Reading{Busy: new(float64)}
	for _, r := range m.Readings {
		if r.Busy == nil {
			return nil
		}
		if r.At >= at && r.At > before.At {
			return result.Finite(*before.Busy + (*r.Busy-*before.Busy)*(at-before.At)/(r.At-before.At))
		}
		before = r
	}
	if len(m.Readings) == 0 {
		return nil
	}
	return before.Busy
}

// courseOf is the account of threads in stretches, as many as a recording of sessions has.
func courseOf(readings []service.Reading) (out []explain.Stretch) {
	var before service.Reading
	least := 0.1
	if n := len(readings); n > 0 {
		least = max(least, readings[n-1].At/explain.Stretches*0.99)
	}
	for _, r := range readings {
		if d := r.At - before.At; d > least {
			out = append(out, explain.Stretch{Seconds: d, Transactions: -1,
				Parts: map[explain.PartName]float64{explain.DatabaseCPU: max(0, r.CPU-before.CPU),
					explain.RunQueue: max(0, r.Queue-before.Queue)}})
			before = r
		}
	}
	return out
}

// layer is one of those that a picture stacks.
type layer struct {
	class, name string
	of          func(Second) float64
}

// course is the minute second by second, for a page.
func (m *Minute) course() document.Section {
	all := m.seconds()
	if len(all) < 3 {
		return document.Section{}
	}
	var parts []layer
	for _, p := range m.Parts() {
		parts = append(parts, layer{p.Name.Class(), p.Name.Title(), func(s Second) float64 { return s.Parts[p.Name] }})
	}
	known := func(of func(Second) *float64) func(Second) float64 {
		return func(s Second) float64 {
			if v := of(s); v != nil {
				return *v
			}
			return 0
		}
	}
	s := document.Section{Title: "Over time", Where: document.Page}
	add := func(id, title, note string, y picture.Axis, layers ...layer) {
		s.Blocks = append(s.Blocks, document.Figure{Figure: picture.Figure{Title: title, Note: note,
			SVG: stacked(id, title, y, all, layers)}})
	}
	add("parts", "Where its time went, over time",
		"All sessions or threads together, in the colours of the bar above.",
		picture.Axis{Name: "time of all sessions (s per second)"}, parts...)
	if m.busyUntil(0) != nil {
		add("busy", "CPUs busy",
			fmt.Sprintf("All work on this host, on an axis of its %s.", screen.Count(max(1, m.Host.CPUs), "CPU")),
			picture.Axis{Name: "CPUs busy", Hi: float64(max(1, m.Host.CPUs))},
			layer{"part run_queue", "CPUs busy", known(func(s Second) *float64 { return s.Busy })})
	}
	if m.Report.Transactions > 0 {
		add("commits", "Transactions per second", "Counted by the server.", picture.Axis{Name: "transactions", Unit: "1/s"},
			layer{"part log", "transactions", known(func(s Second) *float64 { return s.Transactions })})
	}
	return s
}

// stacked draws layers on top of each other over time. Its axis ends at the highest of them, unless it says where.
func stacked(id, title string, axis picture.Axis, all []Second, layers []layer) picture.HTML {
	highest, end := 0.0, all[len(all)-1].At
	for _, s := range all {
		sum := 0.0
		for _, l := range layers {
			sum += l.of(s)
		}
		highest = max(highest, sum)
	}
	if highest <= 0 {
		return ""
	}
	axis.Hi = cmp.Or(axis.Hi, highest*1.05)
	s := picture.NewPlot(id, picture.Width, 160, nil,
		&picture.Axis{Name: "time since the beginning", Unit: picture.Span, Hi: end}, &axis)
	below, said := make([]float64, len(all)), ""
	for _, l := range layers {
		var upper, lower [][2]float64
		from, sum := 0.0, 0.0
		for i, second := range all {
			v := max(0, l.of(second))
			for _, at := range []float64{from, second.At} {
				upper, lower = append(upper, [2]float64{s.X.At(at), s.Y.At(below[i] + v)}),
					append(lower, [2]float64{s.X.At(at), s.Y.At(below[i])})
			}
			below[i], sum, from = below[i]+v, sum+v*(second.At-from), second.At
		}
		if sum <= 0 {
			continue
		}
		for i := range lower {
			upper = append(upper, lower[len(lower)-1-i])
		}
		s.Path(upper, l.class, true)
		said += fmt.Sprintf("%s %s on average. ", l.name, result.Format(sum/end, axis.Unit))
	}
	return s.Done(title, said)
}
