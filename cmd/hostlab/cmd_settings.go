package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"hostlab/internal/setting"
	"hostlab/internal/settings"
)

func newSettings(std streams) *cobra.Command {
	var (
		at  settingsAt
		out printing
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
				return out.print(std, settings.Describe(sys, list[0]))
			}
			if v, err := setting.Look(sys, dir); err == nil && out.format == "text" {
				warn(notes(cmd, std), v)
			}
			return out.print(std, settings.List(sys, list, recorded))
		},
	}
	at.flags(cmd, true)
	cmd.Flags().Lookup("root").Usage = "a machine in place of this one: a directory tree, or a .txtar file of 'facts --save' (- for stdin)"
	out.flags(cmd, std, tableForms)
	return cmd
}

// unpack makes a directory tree of a recording, until done.
func (a *settingsAt) unpack(cmd *cobra.Command) (recorded bool, done func(), _ error) {
	if info, err := os.Stat(a.root); a.root == "" || a.root != "-" && (err != nil || info.IsDir()) {
		return false, func() {}, nil //nolint:nilerr // open says what is wrong
	}
	if filepath.Ext(a.root) == ".json" {
		return true, func() {}, usagef(
			"--root %s: facts printed as JSON hold no settings; record the host with 'hostlab facts --save FILE'", a.root)
	}
	tree, done, err := (&machine{root: a.root, in: cmd.InOrStdin}).open()
	a.root = tree.Root
	return true, done, err
}

// unlessWindows is a text, or the one for Windows there.
func unlessWindows(text, windows string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return text
}
