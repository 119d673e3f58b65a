package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/settings"
	"hostlab/internal/trust"
)

func newExport(std streams) *cobra.Command {
	var (
		m       machine
		accept  exceptions
		role    check.Role
		out     string
		include []string
		form    = printing{stdout: true}
	)
	cmd := &cobra.Command{
		Use:   "export [flags] " + strings.Join(settings.Targets(), "|") + " [NAME=VALUE...]",
		Short: "Write settings as a profile for the tool that keeps them",
		Long: `export writes settings as a profile for a tool that applies them at every boot.
So all servers of a kind get the same settings:

` + settings.Help() + `

--role exports what 'hostlab check' recommends for a role, for hosts like this
one: with its databases, and its disks that do not rotate. export never lowers a
limit. A NAME=VALUE argument overrides the recommendation; NAME may be a
sysctl's (vm.swappiness). export leaves out findings that --exceptions accepts
on this host, and names them on stderr. A profile for TuneD includes the one
that is active here, or the one of --include. It then holds only
recommendations that this host does not meet yet.

The file and stderr name each setting that the tool cannot express. If it can
express none, export writes nothing. It refuses settings that exclude each
other, as 'hostlab set' does. It changes nothing on this host.

Exit status: 0 written, 2 unusable argument.`,
		Example: `  hostlab export tuned --role production-db --out tuned.conf
  hostlab export systemd swappiness=10 io_scheduler=none
  hostlab export powercfg governor=performance min_perf_pct=100 > power.cmd`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("name a tool: %s", strings.Join(settings.Targets(), ", "))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, s string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return settings.Targets(), cobra.ShellCompDirectiveNoFileComp
			}
			return new(settingsAt).complete(cmd, args, s)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(settings.Targets(), args[0]) { // before anything else is asked for
				return usagef("export knows no tool %q; it knows %s%s", screen.Short(screen.Clean(args[0])),
					strings.Join(settings.Targets(), ", "), meant(args[0], settings.Targets()))
			}
			want, err := assignments(args[1:])
			if err != nil {
				return err
			}
			f := &host.Facts{}
			if role != "" || args[0] == "tuned" {
				if f, err = m.collect(cmd.Context(), ""); err != nil {
					return err
				}
			}
			if args[0] == "tuned" && !cmd.Flags().Changed("include") {
				include = activeProfiles(std, f)
			}
			advised, excused, err := recommended(f, role, accept, len(include) > 0)
			if err != nil {
				return err
			}
			items, title, err := exportItems(want, advised, role)
			if err != nil {
				return err
			}
			p, err := settings.Make(args[0], settings.Head{Title: title, Base: include}, items)
			if err != nil {
				return usageError{err}
			}
			if form.format == "json" {
				err = writeProfileJSON(cmd, std, args[0], out, p, excused)
			} else {
				err = writeProfile(cmd, std, p, out)
			}
			if err != nil {
				return err
			}
			for _, m := range p.Missing {
				fmt.Fprintf(std.err, "hostlab: not in the profile: %s\n", screen.Clean(m))
			}
			for _, e := range excused {
				fmt.Fprintf(std.err, "hostlab: left out: %s\n", screen.Clean(e))
			}
			return nil
		},
	}
	m.flags(cmd)
	accept.flags(cmd)
	choiceFlag(cmd, &role, "role", "", "export the recommendations for the role", check.Roles)
	cmd.Flags().StringSliceVar(&include, "include", nil, "TuneD profiles to build on (default: the active one)")
	cmd.Flags().StringVarP(&out, "out", "o", "", "write to `FILE`, or below this directory if there are several files")
	form.flags(cmd, std, sourceForms)
	cobra.CheckErr(cmd.MarkFlagFilename("out"))
	return cmd
}

// recommended is what a role recommends here, without what is accepted, of which excused has a line each. With a
// profile that is built on, it is what this host lacks: that profile's values would otherwise end, also where they suit
// this host better.
func recommended(f *host.Facts, role check.Role, accept exceptions, lacking bool) (advised []setting.Assignment,
	excused []string,
	err error) {
	if role == "" {
		return nil, nil, nil
	}
	accepted, err := accept.read()
	if err != nil {
		return nil, nil, err
	}
	name, now := f.Identity.Hostname.Or(unnamed), time.Now()
	if lacking {
		advised, _ = check.Advise(f, role, check.Accept(check.Run(f, role, check.All()), accepted, name, now), check.Low)
	} else {
		advised = check.Recommended(f, role, check.Excused(accepted, name, now))
	}
	return advised, check.Withheld(f, role, check.Excused(accepted, name, now)), nil
}

// activeProfiles are those of TuneD that a profile of ours builds on. Of a profile of ours that is active, it is not
// known here.
func activeProfiles(std streams, f *host.Facts) []string {
	names := strings.Fields(f.Kernel.TunedProfile.Or(""))
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "hostlab" })
	if len(names) > 0 && len(others) == 0 {
		fmt.Fprintln(std.err, "hostlab: TuneD's profile hostlab is active; name the one that it includes with --include, "+
			"or the new one stands alone")
	}
	return others
}

// exportItems spells what was typed and what a role recommends in the kernel's units.
func exportItems(want, advice []setting.Assignment, role check.Role) (items []setting.Assignment, title string,
	err error) {
	title = "Settings written by hostlab"
	typed := map[string]bool{}
	for _, a := range want {
		typed[a.Name] = typed[a.Name] || a.Object == ""
	}
	if role != "" {
		title = "Settings for the role " + string(role) + ", written by hostlab"
		var advised []setting.Assignment
		for _, a := range advice {
			if !typed[a.Name] {
				advised = append(advised, a)
			}
		}
		want = append(advised, want...)
		if len(want) == 0 {
			return nil, "", usagef("nothing is left to set of what is recommended for the role %s", role)
		}
	}
	if len(want) == 0 {
		return nil, "", usagef("name settings, such as governor=performance, or --role ROLE")
	}
	if items, err = setting.Offline(want); err != nil {
		return nil, "", usageError{err}
	}
	return items, title, nil
}

// writeProfile writes a profile's file, or its files below a directory. On stdout each of
// several begins with its name, as a comment.
func writeProfile(cmd *cobra.Command, std streams, p settings.Profile, out string) error {
	w, several := std.out, p.Files[0].Path != ""
	if out == "" || out == "-" {
		for i, f := range p.Files {
			if several {
				blank := map[bool]string{true: "\n"}[i > 0]
				if _, err := fmt.Fprintf(w, "%s# /etc/%s\n", blank, f.Path); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(w, f.Text); err != nil {
				return err
			}
		}
		return nil
	}
	if !several {
		if err := checkWritable("out", out); err != nil {
			return err
		}
		err := writeFile(out, func(f *os.File) error { _, err := f.WriteString(p.Files[0].Text); return err })
		if err == nil {
			wrote(cmd, std, out)
		}
		return err
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return usagef("--out %s: this profile has several files; name a directory", out)
	}
	return writeFiles(std, p, out)
}

// writeProfileJSON writes a profile with all its files, and what is not in it, for a program that installs them.
func writeProfileJSON(cmd *cobra.Command, std streams, tool, out string, p settings.Profile, excused []string) error {
	if err := checkWritable("out", out); err != nil {
		return err
	}
	name, err := output(std, cmp.Or(out, "-"), func(w io.Writer) error {
		return document.WriteJSON(w, struct {
			document.Head
			Tool    string          `json:"tool"`
			Files   []settings.File `json:"files"`
			Missing []string        `json:"missing"`  // what the tool cannot express
			Excused []string        `json:"left_out"` // for an exception
		}{document.Head{Kind: "profile", Schema: settings.Schema}, tool, p.Files, p.Missing, excused})
	})
	wrote(cmd, std, name)
	return err
}

// writeFiles writes a profile of several files below a directory, and removes those of an earlier
// one that would stay in force beside them. What another program has written there is left.
func writeFiles(std streams, p settings.Profile, out string) error {
	at := func(path string) string { return filepath.Join(out, filepath.FromSlash(path)) }
	for _, f := range p.Files {
		old, err := written(at(f.Path))
		if no, is := errors.AsType[*trust.Refused](err); is && !strings.Contains(no.Why, "regular file") {
			return usagef("--out %s: %w", out, no)
		}
		if !errors.Is(err, fs.ErrNotExist) && !settings.Ours(old) {
			return usagef("--out %s: %s exists, but not from 'hostlab export'; move it away, or name another directory", out,
				at(f.Path))
		}
	}
	for _, f := range p.Files {
		name := at(f.Path)
		if err := trust.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return usagef("--out %s: %w", out, plain(err))
		}
		if err := writeFile(name, func(file *os.File) error { _, err := file.WriteString(f.Text); return err }); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(std.out, name); err != nil {
			return err
		}
	}
	for _, path := range p.Others {
		old, err := written(at(path))
		if err != nil || !settings.Ours(old) {
			continue
		}
		if err := trust.Remove(at(path)); err != nil {
			return fmt.Errorf("a file of an earlier profile stays in force: %w", err)
		}
		fmt.Fprintf(std.err, "hostlab: removed %s, which was of an earlier profile\n", at(path))
	}
	return nil
}

// written is what a file of a profile holds.
func written(path string) ([]byte, error) {
	f, err := trust.OpenPlaced(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trust.File(f, 1<<20)
}
