package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// mostGroups is how many different values of one setting the list shows.
const mostGroups = 4

// List is the settings that are here, a row or so each, and then those that are not. A recording holds the files that
// checks read, so that others may have been there.
func List(sys *setting.System, all []setting.Setting, recorded bool) *document.Document {
	data := newList(sys, all)
	for i := range data.Settings {
		if s := &data.Settings[i]; recorded && s.Missing != "" {
			s.Missing = "the recording does not hold it"
		}
	}
	d := newDocument("settings", data)
	if sys.Missing != nil {
		d.Answer = []document.Line{{Text: "No settings here: " + strings.TrimSuffix(sys.Missing.Error(), ".") + "."}}
		d.About = []string{"They have words for " + strings.Join(WindowsNames(), ", ") +
			". 'hostlab settings NAME' describes one."}
		return d
	}
	var here, cannot document.Pairs
	settable := 0
	for i, s := range all {
		if why := data.Settings[i].Missing; why != "" {
			cannot = append(cannot, document.Pair{Name: s.Name, Value: why})
			continue
		}
		into := &cannot
		if setting.Settable(data.Settings[i].Objects) {
			into = &here
			settable++
		}
		name := s.Name
		for i, text := range current(s, data.Settings[i].Objects) {
			if i == mostGroups {
				*into = append(*into, document.Pair{Value: "...: 'hostlab settings " + s.Name + "' shows all"})
				break
			}
			*into = append(*into, document.Pair{Name: name, Value: text})
			name = ""
		}
	}
	says, titled, not := "%s can be set here, %d cannot.", "Here", "Cannot be set here"
	if recorded {
		says, titled, not = "%s can be set on the recorded host, %d others cannot, as far as it was recorded.",
			"In the recording", "Others"
	}
	d.Answer = []document.Line{{Text: fmt.Sprintf(says, screen.Count(settable, "setting"), len(all)-settable)}}
	d.About = []string{"'hostlab settings NAME' describes one, 'hostlab set NAME=VALUE' changes it."}
	d.Sections = []document.Section{document.Titled(titled, here), document.Titled(not, cannot)}
	return d
}

// current is what objects have and may have, a line for those of which both are the same.
func current(s setting.Setting, states []setting.State) (lines []string) {
	var gs groups
	for _, st := range states {
		value, may, kind := cmp.Or(st.Problem, st.Shown, "?"), levelText(s, st), ""
		if s.Kinds() {
			kind, may = screen.Clean(st.Note), ""
		} else {
			may = cmp.Or(may, st.Note)
		}
		if st.Fixed != "" {
			value += " (" + st.Fixed + ")"
		} else if may != "" {
			value += " (may be: " + may + ")"
		}
		gs.add(s.Name, kind, st.Name, value)
	}
	for _, p := range gs.pairs(plainTone) {
		lines = append(lines, p.Value)
	}
	return lines
}

func levelText(s setting.Setting, st setting.State) string {
	var words []string
	for _, l := range st.Levels {
		words = append(words, s.Show(st.Object(), l))
	}
	return strings.Join(words, " ")
}

func Describe(sys *setting.System, s setting.Setting) *document.Document {
	data := newList(sys, []setting.Setting{s})
	here := data.Settings[0]
	d := newDocument("settings", data, s.Name+": "+s.Title)
	text := s.Text()
	d.About = []string{text.About}
	facts := document.Pairs{{Name: "takes", Value: s.Values}, {Name: "source", Value: text.Source}}
	if s.Sysctl != "" {
		facts = append(facts, document.Pair{Name: "sysctl", Value: s.Sysctl})
	}
	if s.Held {
		facts = append(facts, document.Pair{Name: "lasts", Value: "as long as 'hostlab set' stays in the foreground"})
	}
	if here.Missing != "" {
		facts = append(facts, document.Pair{Name: "not here", Value: here.Missing})
	}
	for _, text := range current(s, here.Objects) {
		facts = append(facts, document.Pair{Name: "now", Value: text})
	}
	for _, p := range filePatterns(here.Objects) {
		facts = append(facts, document.Pair{Name: "file", Value: p})
	}
	d.Sections = []document.Section{{Title: "On this host", Blocks: []document.Block{facts}}}
	return d
}

// filePatterns are the files of objects, with the number of a CPU or policy as a star.
func filePatterns(states []setting.State) (list []string) {
	for _, st := range states {
		p := st.Path
		for _, part := range strings.Split(st.Name, "/") {
			if stem := strings.TrimRight(part, "0123456789"); stem == "cpu" || stem == "policy" || stem == "state" {
				p = strings.Replace(p, "/"+part+"/", "/"+stem+"*/", 1)
			}
		}
		if p = screen.Clean(p); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

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
