package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/export"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

func newSettings(std streams) *cobra.Command {
	var (
		at     settingsAt
		format string
	)
	cmd := &cobra.Command{
		Use:   "settings [flags] [NAME]",
		Short: "What you can set on this host, and its values now",
		Long: `settings lists what 'hostlab set' can change here: each setting with its
objects (CPUs, frequency policies, disks), their values now, and the values they
may have. If one cannot be set here, it says why. With NAME it shows all of
one setting: what it does, its files, and what to know. NAME may be a sysctl's:
vm.swappiness or vm/swappiness for swappiness. settings writes nothing and needs
no root.

Exit status: 0 done, 2 no such setting or unusable flag, 3 nothing to inspect.`,
		Example: unlessWindows(`  hostlab settings
  hostlab settings governor
  hostlab settings vm.swappiness
  hostlab settings --format json | jq '.settings[] | select(.missing == null)'`, `  hostlab settings
  hostlab settings PERFEPP`),
		Args: takes(0, 1, "one name of a setting"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				for _, s := range setting.Local(nil).Settings() {
					names = append(names, s.Name+"\t"+s.Title)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			recorded, done, err := at.unpack(cmd)
			if err != nil {
				return err
			}
			defer done()
			sys, dir, err := at.open()
			if err != nil {
				return err
			}
			list := sys.Settings()
			if len(args) > 0 {
				s, err := setting.Named(args[0])
				if err != nil {
					return usageError{err}
				}
				list = []setting.Setting{s}
			}
			if len(args) > 0 {
				return printDocument(std, described(sys, list[0]), format)
			}
			if v, err := setting.Look(sys, dir); err == nil && format == "text" {
				warn(std, v)
			}
			return printDocument(std, listed(sys, list, recorded), format)
		},
	}
	at.flags(cmd, true)
	cmd.Flags().Lookup("root").Usage = "a machine in place of this one: a directory tree, or a .txtar file of 'facts --save' (- for stdin)"
	formatFlag(cmd, &format, formats)
	return cmd
}

// unpack makes a directory tree of a recording, until done.
func (a *settingsAt) unpack(cmd *cobra.Command) (recorded bool, done func(), _ error) {
	if info, err := os.Stat(a.root); a.root == "" || a.root != "-" && (err != nil || info.IsDir()) {
		return false, func() {}, nil //nolint:nilerr // open says what is wrong
	}
	if filepath.Ext(a.root) == ".json" {
		return true, func() {}, usagef("--root %s: facts printed as JSON hold no settings; record the host with 'hostlab facts --save FILE'", a.root)
	}
	tree, done, err := (&machine{root: a.root, in: cmd.InOrStdin}).open()
	a.root = tree.Root
	return true, done, err
}

// mostGroups is how many different values of one setting the list shows.
const mostGroups = 4

// listed is the settings that are here, a row or so each, and then those that are not. A recording holds the files that
// checks read, so that others may have been there.
func listed(sys *setting.System, list []setting.Setting, recorded bool) *document.Document {
	data := settingsList(sys, list)
	for i := range data.Settings {
		if s := &data.Settings[i]; recorded && s.Missing != "" {
			s.Missing = "the recording does not hold it"
		}
	}
	d := settingsReport("settings", data)
	if sys.Missing != nil {
		d.Answer = []document.Line{{Text: "No settings here: " + strings.TrimSuffix(sys.Missing.Error(), ".") + "."}}
		d.About = []string{"They have words for " + strings.Join(export.WindowsNames(), ", ") +
			". 'hostlab settings NAME' describes one."}
		return d
	}
	var here, cannot document.Pairs
	settable := 0
	for i, s := range list {
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
		says, titled, not = "%s can be set on the recorded host, %d others cannot, as far as it was recorded.", "In the recording", "Others"
	}
	d.Answer = []document.Line{{Text: fmt.Sprintf(says, screen.Count(settable, "setting"), len(list)-settable)}}
	d.About = []string{"'hostlab settings NAME' describes one, 'hostlab set NAME=VALUE' changes it."}
	d.Sections = []document.Section{part(titled, here), part(not, cannot)}
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

// described says all of one setting.
func described(sys *setting.System, s setting.Setting) *document.Document {
	data := settingsList(sys, []setting.Setting{s})
	here := data.Settings[0]
	d := settingsReport("settings", data, s.Name+": "+s.Title)
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

// unlessWindows is a text, or the one for Windows there.
func unlessWindows(text, windows string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return text
}
