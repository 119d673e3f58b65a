package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
		Short: "What can be set on this host, and how it is set now",
		Long: `settings lists what 'hostlab set' can change here: each setting with its
objects (CPUs, frequency policies, disks), their values now, and what they may
have. What this host does not have is named with the reason. With NAME it says
all of one: what it does, its files, and what to know. NAME may be a sysctl's:
vm.swappiness or vm/swappiness for swappiness. Nothing is written, and root is
not needed.

Exit status: 0 done, 2 no such setting or unusable flag, 3 nothing to inspect.`,
		Example: `  hostlab settings
  hostlab settings governor
  hostlab settings vm.swappiness
  hostlab settings --format json | jq '.settings[] | select(.missing == null)'`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				for _, s := range setting.All() {
					names = append(names, s.Name+"\t"+s.Title)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, formats); err != nil {
				return err
			}
			if err := notEmpty(cmd, "root"); err != nil {
				return err
			}
			list := setting.All()
			if len(args) > 0 {
				s, err := setting.Named(args[0])
				if err != nil {
					return usageError{err}
				}
				list = []setting.Setting{s}
			}
			sys, dir, err := at.open()
			if err != nil {
				return err
			}
			if format == "json" {
				return writeSettingsJSON(std.out, sys, list)
			}
			if len(args) > 0 {
				return writeSetting(std.out, sys, list[0])
			}
			if line := inForce(sys, dir); line != "" {
				fmt.Fprintln(std.err, "hostlab: "+line)
			}
			return writeSettings(std.out, sys, list)
		},
	}
	at.flags(cmd, true)
	choiceFlag(cmd, &format, "format", "text", "output", formats)
	return cmd
}

// mostGroups is how many different values of one setting the list shows.
const mostGroups = 4

// writeSettings lists the settings that are here, a line or so each, and then those that are not.
func writeSettings(w io.Writer, sys *setting.System, list []setting.Setting) error {
	_, width := terminal(w)
	out := screen.NewPrinter(w, width, colour(w))
	if sys.Missing != nil {
		out.Text("", "", "No settings here: "+sys.Missing.Error()+".")
		out.Text("", "", "They know "+strings.Join(export.WindowsNames(), ", ")+". 'hostlab settings NAME' says more of one.")
		return out.Err()
	}
	rows := [][]string{{"setting", "objects", "now", "may be"}}
	var missing [][2]string
	for _, s := range list {
		states, err := s.Read(sys)
		if err != nil {
			missing = append(missing, [2]string{s.Name, err.Error()})
			continue
		}
		gs := stateGroups(sys, s, states)
		for i, g := range gs {
			if i == mostGroups && len(gs) > mostGroups+1 {
				rows = append(rows, []string{"", fmt.Sprintf("%d more: 'hostlab settings %s'", len(gs)-i, s.Name), "", ""})
				break
			}
			row := []string{"", g.where(), g.texts[0], g.texts[1]}
			if g.kind != "" {
				row[1], row[2] = g.kind, g.texts[0]+" on "+g.cpus()
			}
			if i == 0 {
				row[0] = s.Name
			} else if g.texts[1] == gs[i-1].texts[1] {
				row[3] = ""
			}
			rows = append(rows, row)
		}
	}
	if len(rows) > 1 {
		out.Table([]int{24, 12, 21, 17}, rows, make([]string, len(rows)))
	}
	if len(missing) > 0 {
		out.Head("Not here")
		for _, m := range missing {
			out.Hang("  "+screen.Pad(m[0], 24)+" ", "", screen.Clean(m[1]))
		}
	}
	out.Raw("")
	out.Text("", "", "'hostlab settings NAME' says more of one, 'hostlab set NAME=VALUE' changes it.")
	return out.Err()
}

// stateGroups joins objects that have the same value and may have the same.
func stateGroups(sys *setting.System, s setting.Setting, states []setting.State) groups {
	var gs groups
	for _, st := range states {
		value, may := shown(s.Name, st.Object, st.Value), levelText(s, st)
		if st.Problem != nil {
			value = st.Problem.Error()
		}
		kind := ""
		if s.Kinds() {
			kind, may = screen.Clean(s.Note(sys, st.Object)), "by latency, or all"
		} else if may == "" {
			may = s.Note(sys, st.Object)
		}
		gs.add(s.Name, kind, st.Object.Name, value, may)
	}
	return gs
}

func levelText(s setting.Setting, st setting.State) string {
	var words []string
	for _, l := range st.Levels {
		words = append(words, s.Show(st.Object, l))
	}
	return strings.Join(words, " ")
}

// writeSetting says all of one setting.
func writeSetting(w io.Writer, sys *setting.System, s setting.Setting) error {
	_, width := terminal(w)
	out := screen.NewPrinter(w, width, colour(w))
	out.Text("", screen.Bold, s.Name+": "+s.Title)
	out.Raw("")
	out.Text("  ", "", s.About)
	out.Raw("")
	if s.Sysctl != "" {
		out.Hang("  sysctl   ", "", s.Sysctl)
	}
	out.Hang("  takes    ", "", s.Values)
	if s.Held {
		out.Hang("  lasts    ", "", "as long as 'hostlab set' stays in the foreground")
	}
	out.Hang("  source   ", "", s.Source)
	states, err := s.Read(sys)
	if err != nil {
		out.Raw("")
		out.Hang("  not here ", "", screen.Clean(err.Error()))
		return out.Err()
	}
	out.Raw("")
	for _, g := range stateGroups(sys, s, states) {
		label := "  now      "
		text := g.texts[0]
		if where := g.where(); where != "" {
			text = where + ": " + text
		}
		if g.texts[1] != "" && !s.Kinds() {
			text += " (may be: " + g.texts[1] + ")"
		}
		out.Hang(label, "", text)
	}
	out.Raw("")
	label := "  file     "
	for _, p := range filePatterns(states) {
		out.Hang(label, "", p)
		label = "           "
	}
	return out.Err()
}

// filePatterns are the files of objects, with the number of a CPU or policy as a star.
func filePatterns(states []setting.State) (list []string) {
	for _, st := range states {
		p := st.Object.Path
		for _, part := range strings.Split(st.Object.Name, "/") {
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
