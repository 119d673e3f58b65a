// Package settings says what settings are, what became of them, and what another tool needs to keep them: the documents
// of settings, set, verify and revert, and the profiles of export for tuned, saptune, systemd, powercfg and PowerShell
// DSC.
package settings

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

type item struct {
	setting.Assignment
	s setting.Setting
}

// Head is what a profile says of itself.
type Head struct {
	Title string   // what it is, in a line
	Base  []string // the profiles of TuneD that it builds on
}

// File is one file of a profile.
type File struct {
	Path string `json:"path"` // below /etc, for a profile of several; "" for one alone
	Text string `json:"text"`
}

// Profile is what a target makes of settings.
type Profile struct {
	Files   []File
	Missing []string // what the target cannot express, a line each; it stands in the files as well
	lacks   lacks
	// Others are files below /etc that the target writes for other settings. One of an earlier
	// profile would stay in force beside this one.
	Others []string
}

// Targets are the tools, in the order of the help.
func Targets() (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// targets hold the tools: to add one, add its value here, and its words to the settings that have some.
var targets = []struct {
	name  string
	about string // of the help
	write func(head Head, items []item) Profile
}{
	{"tuned", "a profile for TuneD (tuned.conf), which builds on the one that is active", tuned},
	{"saptune", "a custom note for saptune 3", saptune},
	{"systemd", "sysctl.d, modprobe.d, tmpfiles.d, udev rules and units; --out DIR gets several files, as below /etc, " +
		"in place of those of an earlier export", systemd},
	{"powercfg", "a command file for Windows, with the aliases of powercfg", powercfg},
	{"dsc", "a PowerShell DSC configuration for Windows", dsc},
}

// Help lists the tools with what is written for each, in lines of a help text.
func Help() string {
	var b strings.Builder
	for _, t := range targets {
		for i, l := range screen.Wrap(t.about, 65) {
			fmt.Fprintf(&b, "  %-9s  %s\n", map[bool]string{true: t.name}[i == 0], l)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Make writes a profile of settings, whose values are as setting.Offline gives them. The error is about the target, or
// says why it can express none of this: such a profile would do nothing, and look as if it did.
func Make(target string, head Head, list []setting.Assignment) (Profile, error) {
	for _, i := range list {
		if !madeOf(i.Object, inName) || strings.HasPrefix(i.Object, "/") {
			return Profile{}, fmt.Errorf("%s@%s: not a valid name of an object", i.Name, screen.Short(screen.Clean(i.Object)))
		}
		if !madeOf(i.Value, inValue) {
			return Profile{}, fmt.Errorf("%s=%s: expected letters, digits, spaces and any of . _ - %% : + ! alone", i.Name,
				screen.Short(screen.Clean(i.Value)))
		}
	}
	for _, name := range head.Base {
		if !madeOf(name, inName+".") {
			return Profile{}, fmt.Errorf("%s: not a valid name of a TuneD profile", screen.Short(screen.Clean(name)))
		}
	}
	head.Title = clean(head.Title)
	for _, t := range targets {
		if t.name == target {
			items := prepare(list)
			p := t.write(head, items)
			p.Missing = p.lacks.lines()
			if p.lacks.count() == len(items) {
				return Profile{}, fmt.Errorf("%s can express none of this: %s", target, strings.Join(p.Missing, "; "))
			}
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("no tool is called %q", target) // of a caller; people have the list
}

// prepare sorts items in the order of writing, and gives them the values that are right at every boot. Limits of the
// wake-up latency all get the lowest of them, so that tools that hold a limit need no list of states.
func prepare(list []setting.Assignment) []item {
	items := make([]item, len(list))
	lowest := -1
	for n, a := range list {
		i := item{Assignment: a}
		i.s, _ = setting.Find(a.Name)
		i.Value = cmp.Or(i.s.AtBoot[a.Value], a.Value)
		if us, err := strconv.Atoi(i.Value); err == nil && i.bounds() && (lowest < 0 || us < lowest) {
			lowest = us
		}
		items[n] = i
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.s.Order - b.s.Order })
	for n, i := range items {
		if i.bounds() {
			items[n].Value = strconv.Itoa(lowest)
		}
	}
	return items
}

// bounds reports a limit of the wake-up latency. Of cstate_latency, all is none.
func (i item) bounds() bool { return (i.s.Held || i.s.Kinds()) && i.Value != "all" }

// mark stands in the first line of every file that is written for systemd.
const mark = "written by hostlab"

// Ours reports whether the text of a file below /etc is that of an earlier profile.
func Ours(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(first, []byte("#")) && bytes.HasSuffix(bytes.TrimSpace(first), []byte(mark))
}

// inName are the characters of objects of the kernel's, inValue those of its values. They
// mean themselves in the format of each target, and to the shell or rule that reads it.
const (
	inName  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-!/"
	inValue = inName + ".:+% "
)

func madeOf(s, characters string) bool {
	return !strings.HasPrefix(s, "-") && strings.Trim(s, characters) == ""
}

// clean keeps a text to one line of a comment.
func clean(s string) string { return strings.Join(strings.Fields(screen.Clean(s)), " ") }

// sections collects the lines of an INI file, each section once and in order.
type sections struct {
	order   []string
	lines   map[string][]string
	missing lacks
}

func (s *sections) add(section, line string) {
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	if s.lines[section] == nil {
		s.order = append(s.order, section)
	}
	// A key may stand once only; the later item was typed, the earlier advised.
	key, _, _ := strings.Cut(line, "=")
	if i := slices.IndexFunc(s.lines[section], func(l string) bool { return strings.HasPrefix(l, key+"=") }); i >= 0 {
		s.lines[section][i] = line
		return
	}
	s.lines[section] = append(s.lines[section], line)
}

// lacks are the settings that a target cannot express, by reason.
type lacks []lack

type lack struct {
	items []string
	why   string
}

func (l *lacks) add(i item, why string) {
	for n := range *l {
		if (*l)[n].why == why {
			(*l)[n].items = append((*l)[n].items, i.String())
			return
		}
	}
	*l = append(*l, lack{[]string{i.String()}, why})
}

// count is the number of settings.
func (l lacks) count() (n int) {
	for _, m := range l {
		n += len(m.items)
	}
	return n
}

// lines are a line for each reason.
func (l lacks) lines() (out []string) {
	for _, m := range l {
		out = append(out, strings.Join(m.items, ", ")+" ("+m.why+")")
	}
	return out
}

// text writes the sections behind a head, and what is missing as comments.
func (s *sections) text(head string) string {
	var b strings.Builder
	b.WriteString(head)
	comments(&b, s.missing.lines())
	for _, name := range s.order {
		fmt.Fprintf(&b, "\n[%s]\n", name)
		for _, l := range s.lines[name] {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// comments notes what is missing, for files whose comments begin with a hash.
func comments(b *strings.Builder, missing []string) {
	for _, m := range missing {
		for i, l := range screen.Wrap("Not in here: "+m, 90) {
			b.WriteString("# " + map[bool]string{true: "  "}[i > 0] + l + "\n")
		}
	}
}

// place is where a value goes: an option of the tool's own, a sysctl or a file.
type place struct{ option, sysctl, file, value string }

// places are where a tool takes an item; why says why it does not.
func (i item) places(tool string) (list []place, why string) {
	s := i.s
	word, has := s.Word(tool)
	translated, known := word.Values[i.Value]
	if !known {
		translated = i.Value
	}
	has = has && (i.Object == "" || word.Each) && i.Value != "all"
	switch {
	case has && word.Only != "" && !known:
		return nil, word.Only
	case has:
		list = []place{{option: word.Option, value: translated}}
	case s.Sysctl != "":
		return []place{{sysctl: s.Sysctl, value: i.Value}}, ""
	}
	files, why := i.files()
	if why != "" && !has {
		return nil, why
	}
	if has {
		files = files[min(1, len(files)):] // the option stands for the first
	}
	return append(list, files...), ""
}

// files are the files of an item, or a pattern of them, with what is written to each.
func (i item) files() (list []place, why string) {
	s := i.s
	files := s.Files
	if i.Object != "" {
		files = []string{s.FileOf(i.Object)}
	}
	switch {
	case s.Held:
		return nil, "it is in force only while a program holds " + s.File
	case files[0] == "" || i.Object == "" && s.Named != "" && len(files) == 1:
		return nil, s.Named
	case s.Kinds() && i.Value != "all":
		return nil, "states are chosen by the latency of each, which a fixed list of files cannot do"
	}
	for _, f := range files {
		value, err := s.Written(f, i.Value)
		if err != nil {
			return nil, err.Error()
		}
		list = append(list, place{file: f, value: value})
	}
	return list, ""
}
