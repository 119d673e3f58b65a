package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// group is objects of one setting of which the same is said: of 64 CPUs with one value
// a person needs one line.
type group struct {
	setting string
	kind    string // the idle state's name, where objects are different things
	names   []string
	text    string
}

// groups collects objects in the order of their first.
type groups []*group

func (gs *groups) add(s string, kind, object, text string) *group {
	text = screen.Clean(text)
	i := slices.IndexFunc(*gs, func(g *group) bool { return g.setting == s && g.kind == kind && g.text == text })
	if i < 0 {
		i = len(*gs)
		*gs = append(*gs, &group{setting: s, kind: kind, text: text})
	}
	if object != "" {
		(*gs)[i].names = append((*gs)[i].names, screen.Clean(object))
	}
	return (*gs)[i]
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

// Shown is a value as people see it.
func Shown(name string, o setting.Object, value string) string {
	if s, ok := setting.Find(name); ok {
		value = s.Show(o, value)
	}
	if value == "" {
		return "?"
	}
	return value
}

// pairs are groups as named values.
func (gs groups) pairs(tone func(*group) document.Tone) document.Pairs {
	var out document.Pairs
	for _, g := range gs {
		text := g.text
		if where := g.where(); where != "" {
			text = where + ": " + text
		}
		out = append(out, document.Pair{Name: g.setting, Value: text, Tone: tone(g)})
	}
	return out
}

func plainTone(*group) document.Tone { return "" }

// plannedPairs are what would be changed, by group.
func plannedPairs(sys *setting.System, list []setting.Outcome) document.Pairs {
	var gs groups
	for _, s := range list {
		if s.Result != setting.Planned && s.Result != setting.Moved || s.From == s.To && !heldSetting(s.Setting) {
			continue // another step may move it, and then it is written
		}
		text := Shown(s.Setting, s.Object, s.From) + " -> " + Shown(s.Setting, s.Object, s.To)
		if s.Note != "" {
			text += " (" + s.Note + ")"
		}
		gs.add(s.Setting, kindOf(sys, s.Setting, s.Object), s.Name, text)
	}
	return gs.pairs(plainTone)
}

// outcomePairs say what became of each object, by group.
func outcomePairs(sys *setting.System, list []setting.Outcome) document.Pairs {
	var gs groups
	tones := map[*group]document.Tone{}
	for _, o := range list {
		g := gs.add(o.Setting, kindOf(sys, o.Setting, o.Object), o.Name, textOf(o))
		switch o.Result {
		case setting.Failed, setting.Foreign, setting.Rounded, setting.Gone:
			tones[g] = document.Caution
		}
	}
	return gs.pairs(func(g *group) document.Tone { return tones[g] })
}

// newDocument is that of a command on settings: sentences, then sections.
func newDocument(command string, data any, sentences ...string) *document.Document {
	d := &document.Document{Name: command, Title: "hostlab " + command, When: time.Now(), Data: data}
	if rows, has := data.(interface{ rows() *document.Table }); has {
		d.Rows = rows.rows()
	}
	for _, s := range sentences {
		if s != "" {
			d.Answer = append(d.Answer, document.Line{Text: s})
		}
	}
	return d
}

func skipLines(sys *setting.System, list []setting.Outcome) (lines []string) {
	var gs groups
	for _, s := range list {
		gs.add(s.Setting, kindOf(sys, s.Setting, s.Object), s.Name, s.Reason)
	}
	for _, g := range gs {
		lines = append(lines, strings.TrimSuffix(g.setting+" "+g.where(), " ")+": "+g.text)
	}
	return lines
}

// textOf says what became of an object.
func textOf(o setting.Outcome) string {
	from, to, read := Shown(o.Setting, o.Object, o.From), Shown(o.Setting, o.Object, o.To),
		Shown(o.Setting, o.Object, o.Read)
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
		return fmt.Sprintf("%s -> %s, rounded by %s: %s was asked for", from, read, keeper(o.Setting), to)
	case setting.Restored:
		text = "put back to " + to
	case setting.Foreign:
		text = "reads " + read
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

// Tally counts the outcomes of each result.
func Tally(list []setting.Outcome) map[setting.Result]int {
	n := map[setting.Result]int{}
	for _, o := range list {
		n[o.Result]++
	}
	return n
}

// keeper is who has rounded a value.
func keeper(name string) string {
	s, _ := setting.Find(name)
	return s.Keeper()
}

func heldSetting(name string) bool {
	s, _ := setting.Find(name)
	return s.Held
}
