package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// group is objects of one setting that have the same to tell: of 64 CPUs with one value
// a person needs one line.
type group struct {
	setting string
	kind    string // the idle state's name, where objects are different things
	names   []string
	texts   []string
}

// groups collects objects in the order of their first.
type groups []*group

func (gs *groups) add(s string, kind, object string, texts ...string) {
	for i, t := range texts {
		texts[i] = screen.Clean(t)
	}
	i := slices.IndexFunc(*gs, func(g *group) bool { return g.setting == s && g.kind == kind && slices.Equal(g.texts, texts) })
	if i < 0 {
		i = len(*gs)
		*gs = append(*gs, &group{setting: s, kind: kind, texts: texts})
	}
	if object != "" {
		(*gs)[i].names = append((*gs)[i].names, screen.Clean(object))
	}
}

// where names a group's objects, and what they are.
func (g *group) where() string {
	names := setting.Join(g.names)
	if g.kind == "" {
		return names
	}
	return g.cpus() + ": " + g.kind
}

// cpus names the CPUs of a group's objects. An idle state's number says less than its name,
// and may differ between CPUs.
func (g *group) cpus() string {
	cpus := make([]string, len(g.names))
	for i, n := range g.names {
		cpus[i], _, _ = strings.Cut(n, "/")
	}
	return setting.Join(cpus)
}

// kindOf is what an object is, for settings whose objects are different things.
func kindOf(sys *setting.System, name string, o setting.Object) string {
	if s, ok := setting.Find(name); ok && s.Kinds() {
		return screen.Clean(s.Note(sys, o))
	}
	return ""
}

// shown is a value as people see it.
func shown(name string, o setting.Object, value string) string {
	if s, ok := setting.Find(name); ok {
		value = s.Show(o, value)
	}
	if value == "" {
		return "?"
	}
	return value
}

// writeDiff writes what a plan would change, as diff does: a head for each group of objects,
// what is there, and what comes.
func writeDiff(w io.Writer, sys *setting.System, p *setting.Plan, from, to string) error {
	_, width := terminal(w)
	out := screen.NewPrinter(w, width, colour(w))
	var gs groups
	for _, s := range slices.Concat(p.Steps, p.Sides) {
		if s.From == s.To && !heldSetting(s.Setting) {
			continue // another step may move it, and then it is written
		}
		to := shown(s.Setting, s.Object, s.To)
		if s.Note != "" {
			to += " (" + s.Note + ")"
		}
		gs.add(s.Setting, kindOf(sys, s.Setting, s.Object), s.Object.Name, shown(s.Setting, s.Object, s.From), to)
	}
	if len(gs) > 0 {
		out.Raw(out.Style(screen.Bold, "--- "+from))
		out.Raw(out.Style(screen.Bold, "+++ "+to))
	}
	for _, g := range gs {
		head := strings.TrimSuffix("@@ "+g.setting+" "+g.where(), " ")
		for i, l := range screen.Wrap(head, out.Width-6) {
			if i > 0 {
				l = "   " + l
			}
			out.Raw(out.Style(screen.Cyan, l))
		}
		out.Raw(out.Style(screen.Yellow, "-"+g.texts[0]))
		out.Raw(out.Style(screen.Green, "+"+g.texts[1]))
	}
	return out.Err()
}

// writeSkipped says what is left out, and why.
func writeSkipped(w io.Writer, lines []string) error {
	_, width := terminal(w)
	out := screen.NewPrinter(w, width, colour(w))
	for _, line := range lines {
		out.Hang("left out: ", "", line)
	}
	return out.Err()
}

func skipLines(sys *setting.System, list []setting.Skip) (lines []string) {
	var gs groups
	for _, s := range list {
		gs.add(s.Setting, kindOf(sys, s.Setting, s.Object), s.Object.Name, s.Reason)
	}
	for _, g := range gs {
		lines = append(lines, strings.TrimSuffix(g.setting+" "+g.where(), " ")+": "+g.texts[0])
	}
	return lines
}

// writeOutcomes says what became of each object, in groups.
func writeOutcomes(w io.Writer, sys *setting.System, list []setting.Outcome) error {
	_, width := terminal(w)
	out := screen.NewPrinter(w, width, colour(w))
	var gs groups
	styles := map[string]string{}
	for _, o := range list {
		text := outcomeText(o)
		gs.add(o.Setting, kindOf(sys, o.Setting, o.Object), o.Object.Name, text)
		switch o.Result {
		case setting.Failed, setting.Foreign, setting.Rounded, setting.Gone:
			styles[screen.Clean(text)] = screen.Yellow
		}
	}
	for _, g := range gs {
		label := "  " + screen.Pad(g.setting, 16) + " "
		text := g.texts[0]
		if where := g.where(); where != "" {
			text = where + ": " + text
		}
		out.Hang(label, styles[g.texts[0]], text)
	}
	return out.Err()
}

// outcomeText says what became of an object.
func outcomeText(o setting.Outcome) string {
	from, to, read := shown(o.Setting, o.Object, o.From), shown(o.Setting, o.Object, o.To), shown(o.Setting, o.Object, o.Read)
	text := ""
	switch o.Result {
	case setting.Changed:
		text = from + " -> " + to
		if o.Note != "" {
			text += " (" + o.Note + ")"
		}
	case setting.Unchanged:
		if o.Reason != "" {
			return o.Reason
		}
		return to + ", as it was"
	case setting.Rounded:
		if heldSetting(o.Setting) {
			return from + " -> " + to + ": " + o.Reason
		}
		return fmt.Sprintf("%s -> %s, rounded by the kernel: %s was asked for", from, read, to)
	case setting.Restored:
		text = "put back to " + to
	case setting.Foreign:
		return "somebody else has changed it to " + read
	case setting.Gone:
		if o.Reason != "" {
			return o.Reason
		}
		text = "not there any more"
	case setting.Forgotten:
		text = "gone with the reboot"
		if o.Read != "" {
			text += ", it reads " + read
		}
	case setting.Moved:
		return from + " -> " + to + ", " + o.Reason
	case setting.Failed:
		text = "failed"
	default:
		text = string(o.Result)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// tally counts the outcomes of each result.
func tally(list []setting.Outcome) map[setting.Result]int {
	n := map[setting.Result]int{}
	for _, o := range list {
		n[o.Result]++
	}
	return n
}

func heldSetting(name string) bool {
	s, _ := setting.Find(name)
	return s.Held
}
