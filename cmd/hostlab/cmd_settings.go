package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/settings"
	"hostlab/internal/trust"
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

// settingsAt is where settings are read and changed: this machine, or a tree of files that
// stands for one, so that commands can be tried and tested without changing anything real.
type settingsAt struct{ root string }

// flags adds the flag of a command that changes what is there, or with reads that only reads.
func (a *settingsAt) flags(cmd *cobra.Command, reads bool) {
	usage := "a directory tree that stands for a machine, in place of this one"
	if !reads {
		usage += "; its files are changed"
	}
	cmd.Flags().StringVar(&a.root, "root", "", usage)
	cobra.CheckErr(cmd.MarkFlagDirname("root"))
}

// open returns the machine and the directory of its journal. That of a tree lies in it.
func (a *settingsAt) open() (sys *setting.System, dir string, err error) {
	if a.root == "" {
		dir, err = setting.JournalDir()
		if err != nil {
			return nil, "", usagef("there is no place for the journal: %w", err)
		}
		return setting.Local(nil), dir, nil
	}
	info, err := os.Stat(a.root)
	if err != nil {
		return nil, "", usagef("--root %s: %w", a.root, plain(err))
	}
	if !info.IsDir() {
		return nil, "", usagef("--root %s: expected a directory; 'hostlab facts' reads recordings of one file", a.root)
	}
	root, err := a.hold()
	if err != nil {
		return nil, "", err
	}
	if info, err = root.Stat("."); err != nil {
		return nil, "", usagef("--root %s: %w", a.root, plain(err))
	}
	if top, err := os.Stat(string(filepath.Separator)); err == nil && os.SameFile(info, top) {
		return nil, "", usagef("--root / is this machine; leave --root out to change its settings")
	}
	if _, err := root.Lstat("sys"); errors.Is(err, fs.ErrNotExist) {
		if _, err := root.Lstat("proc"); errors.Is(err, fs.ErrNotExist) {
			return nil, "", cannotLook{fmt.Errorf("--root %s holds neither /proc nor /sys of a machine", a.root)}
		}
	}
	if err := ofLinux(root.FS(), "--root "+a.root); err != nil {
		return nil, "", err
	}
	return setting.Local(root), filepath.Join(root.Name(), "var", "lib", "hostlab"), nil
}

// hold opens the tree once: all that is read and changed is below what is open then. Root
// takes none that another user could have put there.
func (a *settingsAt) hold() (*os.Root, error) {
	abs, err := filepath.Abs(a.root)
	if err == nil && os.Geteuid() != 0 {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, usagef("--root %s: %w", a.root, plain(err))
	}
	root, err := trust.Held(abs)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, usagef("--root %s: %w, who could put another tree there; name a tree that root made, or run as its owner",
			a.root, refused)
	}
	if err != nil {
		return nil, usagef("--root %s: %w", a.root, plain(err))
	}
	return root, nil
}

// machineDir is where root's journal lies, of which dir may be another user's. A tree has one.
func (a *settingsAt) machineDir(dir string) string {
	if a.root != "" {
		return dir
	}
	return setting.MachineDir
}

// journal opens the journal of a machine, for a change.
func journal(sys *setting.System, dir string) (*setting.Journal, error) {
	j, err := setting.OpenJournal(sys, dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w; run as %s, or as a user who may write there", err, superuser)
	}
	return j, err
}

// assignments parses NAME=VALUE and NAME@OBJECT=VALUE.
func assignments(args []string) (list []setting.Assignment, err error) {
	for _, arg := range args {
		left, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usagef("%q: expected NAME=VALUE or NAME@OBJECT=VALUE", screen.Short(screen.Clean(arg)))
		}
		name, object, at := strings.Cut(strings.TrimSpace(left), "@")
		if name == "" || at && object == "" {
			return nil, usagef("%q: expected NAME=VALUE or NAME@OBJECT=VALUE", screen.Short(screen.Clean(arg)))
		}
		if s, err := setting.Named(name); err == nil { // vm.swappiness and swappiness are one
			name = s.Name
		}
		a := setting.Assignment{Name: name, Object: object, Value: strings.TrimSpace(value)}
		for _, b := range list {
			if b.Name == a.Name && b.Object == a.Object {
				return nil, usagef("%s is given twice", screen.Short(screen.Clean(strings.TrimSpace(left))))
			}
		}
		list = append(list, a)
	}
	return list, nil
}

// remind writes that line, for commands that measure or judge the host as it is now. It
// says nothing where it may not read.
func remind(w io.Writer) {
	dir, err := setting.JournalDir()
	if err != nil {
		return
	}
	if v, err := setting.Look(setting.Local(nil), dir); err == nil {
		warn(w, v)
	}
}

func warn(w io.Writer, v *setting.View) {
	if line := settings.InForce(v); line != "" {
		fmt.Fprintln(w, "hostlab: "+line)
	}
}

// complete completes NAME=, and behind that the values that the setting may have here: those that the kernel lists, or
// else the present one, to change it.
func (a *settingsAt) complete(_ *cobra.Command, _ []string, typed string) (list []string, _ cobra.ShellCompDirective) {
	sys := setting.Local(nil)
	if a.root != "" {
		tree, _, err := a.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sys = tree
	}
	whole, _, valued := strings.Cut(typed, "=")
	if !valued {
		for _, s := range sys.Settings() {
			list = append(list, s.Name+"=\t"+s.Title)
		}
		return list, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	name, object, _ := strings.Cut(whole, "@")
	s, err := setting.Named(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	states, _ := s.Read(sys) // none: nothing to offer
	for _, st := range states {
		if object != "" && st.Name != object || s.Kinds() { // of idle states a latency is typed, and no value
			continue
		}
		values := st.Levels
		if values == nil {
			values = []string{st.Value}
		}
		for _, v := range values {
			typed := typedAs(s, st, v)
			if one := whole + "=" + typed; typed != "" && !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// typedAs is how a person types a value: as it is shown, such as 2.4GHz, or else as the kernel has it. "": nobody may.
func typedAs(s setting.Setting, at setting.State, value string) string {
	for _, typed := range []string{strings.ReplaceAll(s.Show(at.Object(), value), " ", ""), value} {
		if _, err := s.Spell(typed); err == nil {
			return typed
		}
	}
	return ""
}
