package document

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/picture"
	"hostlab/internal/screen"
)

// Bars are bars below each other on one scale, each made of segments. A page draws them and folds
// their table out; a terminal draws them in text.
type Bars struct {
	Title string // "" where the section's title says it
	Lead  string // how to read it
	Rows  []Bar
	Table *Table // the same in figures
	Full  bool   // a terminal shows the table too
}

// Bar is one of them.
type Bar struct {
	Name     string
	Segments []Segment
	Ends     []Cell // stand behind it
	Notes    []Line // a terminal shows them below it; a page has them in the table
}

// Segment is a stretch of a bar.
type Segment struct {
	Class string // of the style sheet: its colour
	Name  string // what it is
	Value float64
	Text  string // the value for people
	Fill  rune   // what a terminal draws it of; 0: its name and text, as far as there is room
}

func (*Bars) block() {}

// most is the length of the longest bar.
func (b *Bars) most() (most float64) {
	for _, r := range b.Rows {
		sum := 0.0
		for _, s := range r.Segments {
			sum += s.Value
		}
		most = max(most, sum)
	}
	return most
}

// Keys are the kinds of segments, in their order. Of a single bar they say the values too.
func (b *Bars) Keys() (out []Segment) {
	for _, r := range b.Rows {
		for _, s := range r.Segments {
			if s.Value > 0 && !slices.ContainsFunc(out, func(k Segment) bool { return k.Class == s.Class }) {
				if len(b.Rows) > 1 {
					s.Text = ""
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// Strip draws a bar for a page. It has no text in it, so that it may be stretched.
func (b *Bars) Strip(r Bar) picture.HTML {
	const width = 1000
	var s strings.Builder
	x, unit, says := 0.0, width/max(b.most(), 1e-12), []string{}
	for _, g := range r.Segments {
		if g.Value <= 0 {
			continue
		}
		said := screen.Clean(strings.TrimSpace(g.Name + " " + g.Text))
		fmt.Fprintf(&s, `<rect x="%s" width="%s" height="10" class="%s"><title>%s</title></rect>`, picture.Num(x),
			picture.Num(g.Value*unit), html.EscapeString(g.Class), html.EscapeString(said))
		x, says = x+g.Value*unit, append(says, said)
	}
	label := strings.TrimPrefix(screen.Clean(r.Name)+": ", ": ") + strings.Join(says, ", ")
	return picture.HTML(fmt.Sprintf(
		`<svg class="strip" viewBox="0 0 %d 10" preserveAspectRatio="none" role="img" aria-label="%s">%s</svg>`,
		width, html.EscapeString(label), s.String()))
}

// Swatch shows the colour of a kind of segments.
func (b *Bars) Swatch(s Segment) picture.HTML {
	return picture.HTML(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" class="%s"/></svg>`, html.EscapeString(s.Class)))
}

// bars draws bars for a terminal: names, bars and what stands behind them in columns.
func (t *text) bars(b *Bars) {
	if b.Title != "" {
		t.Text(indent, screen.Bold, b.Title)
	}
	if b.Lead != "" {
		t.Text(indent, screen.Dim, b.Lead)
	}
	name, ends := 0, []int{}
	for _, r := range b.Rows {
		name = max(name, min(utf8.RuneCountInString(screen.Clean(r.Name)), t.Width/4))
		for i, c := range r.Ends {
			if i == len(ends) {
				ends = append(ends, 0)
			}
			ends[i] = max(ends[i], utf8.RuneCountInString(screen.Clean(c.Text)))
		}
	}
	room := t.Drawn() - len(indent) - 1
	if name > 0 {
		room -= name + gap
	}
	for _, w := range ends {
		room -= w + gap
	}
	stacked := room < 12 // a narrow terminal has bars below their names
	if stacked {
		room = t.Drawn() - len(indent) - 1
	}
	for _, r := range b.Rows {
		head := indent
		if stacked {
			text := []string{r.Name}
			for _, c := range r.Ends {
				text = append(text, c.Text)
			}
			t.Text(indent, "", strings.Join(text, "  "))
			r.Name, r.Ends = "", nil
		}
		if name > 0 && !stacked {
			head += screen.Pad(picture.Short(screen.Clean(r.Name), name), name) + strings.Repeat(" ", gap)
		}
		drawn, left := t.stretch(r.Segments, float64(room)/max(b.most(), 1e-12))
		line := head + screen.Pad(drawn, room+1)
		for i, c := range r.Ends {
			line += strings.Repeat(" ", gap) + t.Style(codes[c.Tone], screen.Clean(c.Text)) +
				strings.Repeat(" ", ends[i]-utf8.RuneCountInString(screen.Clean(c.Text)))
		}
		if strings.TrimSpace(line) != "" {
			t.Raw(line)
		}
		if len(left) > 0 && !b.Full {
			t.Text(strings.Repeat(" ", utf8.RuneCountInString(head)), screen.Dim, strings.Join(left, ", "))
		}
		t.points(indent+"  - ", r.Notes)
	}
	if b.Full {
		t.Raw("")
		t.table(b.Table)
	}
}

// stretch draws segments with so many columns for one of their unit, and says what had no room in it.
func (t *text) stretch(all []Segment, unit float64) (drawn string, left []string) {
	at, labelled := 0.0, false
	for _, s := range all {
		if s.Value <= 0 {
			continue
		}
		n := int((at+s.Value)*unit+0.5) - int(at*unit+0.5)
		at += s.Value
		if s.Fill != 0 {
			drawn += strings.Repeat(string(s.Fill), n)
			continue
		}
		labelled = true
		label := screen.Clean(s.Name + " " + s.Text)
		if utf8.RuneCountInString(label) >= n {
			left, label = append(left, label), ""
		}
		if n > 0 {
			drawn += "│" + label + strings.Repeat("░", n-1-utf8.RuneCountInString(label))
		}
	}
	if labelled {
		drawn += "│"
	}
	return drawn, left
}
