package assess

import (
	"fmt"
	"html/template"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// Sections are what a report says of the service: its time, then the levers on it, then the
// minute second by second.
func (m *Minute) Sections(levers []Lever) []document.Section {
	return []document.Section{m.time(), leverSection(levers), m.course()}
}

// bar is how wide the terminal draws all of the time.
const bar = 30

func (m *Minute) time() document.Section {
	s := document.Section{Title: "Where its time went"}
	each := "a second"
	if m.Report.Transactions > 0 {
		each = "a transaction"
	}
	t := &document.Table{Columns: append(document.Headings("part", "share", "95 % interval", each), document.Column{Head: ""})}
	t.Lead = fmt.Sprintf("%s of active time in %s: %s.", result.Format(m.Report.Busy, "s"), result.Format(m.Report.Wall, "s"), m.basis())
	for _, name := range explain.PartNames {
		p := m.Report.Part(name)
		if name == explain.Idle || p.Source == "" {
			continue
		}
		e := m.share(name)
		interval := "counted"
		if e.High-e.Low > 1e-9 {
			interval = e.Percent().Interval()
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(name.Title()), document.Number(e.Value, share(e.Value)), document.Text(interval),
			document.Text(m.each(p.Seconds)), document.Text(strings.Repeat("█", int(e.Value*bar+0.5)))}})
	}
	s.Blocks = append(s.Blocks, t, document.Figure{Figure: picture.Figure{Title: "Where its time went", Wide: true, SVG: m.stacked()}})
	return s
}

// basis says what the account rests on.
func (m *Minute) basis() string {
	if !m.Connected {
		return "its threads on CPUs and ready for one, as the kernel counts them; " + m.Why
	}
	if n := m.Report.Transactions; n >= 0 {
		return fmt.Sprintf("its sessions at work, %d transactions, %s", n, result.Format(float64(n)/m.Report.Wall, "1/s"))
	}
	return "its sessions at work"
}

// stacked draws the time as one bar.
func (m *Minute) stacked() template.HTML {
	const left, right, top, height = 8.0, 712.0, 8.0, 34.0
	s := &picture.SVG{ID: "time", W: 720, H: 112, Wide: true}
	x, said := left, ""
	shown := 0
	for _, name := range explain.PartNames {
		e := m.share(name)
		if name == explain.Idle || e.Value <= 0 {
			continue
		}
		w := (right - left) * e.Value
		text := name.Title() + " " + share(e.Value)
		s.Rect(x, top, w, height, "part "+string(name), text)
		key, row := left+float64(shown%4)*178, top+height+14+float64(shown/4)*24
		s.Rect(key, row, 12, 12, "part "+string(name), "")
		s.Text(key+18, row+11, "start", "", text)
		shown, x, said = shown+1, x+w, said+text+". "
	}
	return s.Done("Where its time went", said)
}

var verdictTones = map[Verdict]document.Tone{Worthwhile: document.Caution, Possible: document.Notice, Negligible: document.Good, NotHere: document.Quiet}

func leverSection(levers []Lever) document.Section {
	t := &document.Table{Columns: append(document.Headings("lever", "share", "likely", "at most"), document.Column{Head: "verdict"}),
		Lead: "What each could give this service, as shares of its active time. They overlap, so they do not add up."}
	for _, l := range levers {
		number := func(v *float64) document.Cell {
			if v == nil {
				return document.Text("unknown")
			}
			return document.Number(*v, share(*v))
		}
		row := document.Row{Cells: []document.Cell{document.Text(l.Title()), number(l.Share), number(l.Likely), number(l.AtMost),
			{Text: strings.ReplaceAll(string(l.Verdict), "_", " "), Tone: verdictTones[l.Verdict]}}}
		note := sentence(l.Reason)
		if l.Assumes != "" && l.Verdict != Negligible {
			note += " Likely if: " + l.Assumes + "."
		}
		if l.Owner != "" {
			note += " " + sentence(l.Owner+" sets it")
		}
		row.Notes = []document.Line{{Text: note, Tone: document.Quiet}}
		t.Rows = append(t.Rows, row)
	}
	s := document.Section{Title: "What could be gained", Blocks: []document.Block{t}}
	var type_ document.Commands
	for _, l := range levers {
		if l.Command != "" && (l.Verdict == Worthwhile || l.Verdict == Possible) {
			type_ = append(type_, document.Command{Why: l.Title(), Line: l.Command})
		}
	}
	if type_ != nil {
		s.Blocks = append(s.Blocks, type_)
	}
	return s
}

// course is the minute second by second, for a page.
func (m *Minute) course() document.Section {
	all := m.Stretches()
	if len(all) < 3 {
		return document.Section{}
	}
	s := &picture.SVG{ID: "course", W: 720, H: 220, Wide: true}
	highest := 0.0
	for _, x := range all {
		highest = max(highest, x.CPU+x.Queue, x.Busy)
	}
	x, y := picture.NewScale(0, all[len(all)-1].At, 48, 700), picture.NewScale(0, highest*1.05, 170, 10)
	s.AxisY(y, 48, 700, picture.Num)
	s.AxisX(x, 10, 170, func(v float64) string { return picture.Round(v, "s") })
	names := []string{"on CPUs", "with the wait for one", "all work on the host's CPUs"}
	for i, value := range []func(Second) float64{func(v Second) float64 { return v.CPU }, func(v Second) float64 { return v.CPU + v.Queue }, func(v Second) float64 { return v.Busy }} {
		var points [][2]float64
		for _, v := range all {
			points = append(points, [2]float64{x.At(v.At), y.At(value(v))})
		}
		s.Path(points, fmt.Sprintf("whisker k%d", i), false)
	}
	s.Legend(names, 205)
	return document.Section{Title: "The minute", Where: document.Page, Blocks: []document.Block{document.Figure{Figure: picture.Figure{
		Title: "CPUs in use, second by second", Wide: true, SVG: s.Done("CPUs in use, second by second", "The service's threads on CPUs, those that were ready too, and all work on the host."),
		Note: "Seconds of threads per second."}}}}
}
