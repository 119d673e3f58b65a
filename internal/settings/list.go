package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Describe says all of one setting.
func Describe(sys *setting.System, s setting.Setting) *document.Document {
	data := newList(sys, []setting.Setting{s})
	here := data.Settings[0]
	d := newDocument("settings", data, s.Name+": "+s.Title)
	d.About = []string{s.About}
	facts := document.Pairs{{Name: "takes", Value: s.Values}, {Name: "source", Value: s.Source}}
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
