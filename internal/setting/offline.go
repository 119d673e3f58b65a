package setting

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Offline reads assignments for hosts that are not at hand, as a profile for them has them: in the
// order in which they were given, each value as Spell gives it. What NewPlan refuses on any host it
// refuses alike: an unknown name or value, an object of what has one value only, and settings that
// exclude each other.
func Offline(want []Assignment) ([]Assignment, error) {
	nobody := &System{FS: nowhere{}}
	jobs, err := nobody.jobs(want)
	if err != nil {
		return nil, err
	}
	names := []string{""} // of objects: those that are named, and before them all others
	for _, j := range jobs {
		if !slices.Contains(names, j.a.Object) {
			names = append(names, j.a.Object)
		}
	}
	spelled := map[Assignment]string{}
	at := map[string]int{}
	var list steps
	for _, j := range jobs {
		value, err := j.s.Spell(j.a.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Label(j.s.Name, j.a.Object), err)
		}
		if one := j.s.alone(); j.a.Object != "" && one != nil {
			_, err := only(nobody, j.s, one, j.a.Object)
			return nil, err
		}
		spelled[j.a] = value
		for _, name := range names {
			if j.a.Object != "" && j.a.Object != name {
				continue
			}
			step := Step{Setting: j.s.Name, Object: Object{Name: name}, To: value}
			key := j.s.Name + "@" + name
			if i, twice := at[key]; twice { // NAME=A NAME@OBJECT=B: the last one counts
				list[i] = step
				continue
			}
			at[key] = len(list)
			list = append(list, step)
		}
	}
	if err := list.contradiction(nobody); err != nil {
		return nil, err
	}
	out := slices.Clone(want)
	for i, a := range want {
		s, _ := nobody.named(a.Name)
		out[i].Name, out[i].Value = s.Name, spelled[a]
	}
	return out, nil
}

// Spell reads a value as it was typed, without a host that could say what it offers:
// the word, the number in the kernel's unit, or min, max, all and shares as they are.
func (s Setting) Spell(value string) (string, error) { return s.Takes.spell(value) }

// Written returns what is written to a file for a value as Spell gives it. The error is of one that
// means different things on different hosts.
func (s Setting) Written(file, value string) (string, error) {
	if k, ok := s.Takes.(filer); ok {
		return k.inFile(file, value)
	}
	return value, nil
}

// nowhere is a machine without any file.
type nowhere struct{}

func (nowhere) ReadFile(string) ([]byte, error)        { return nil, fs.ErrNotExist }
func (nowhere) WriteFile(string, []byte) error         { return fs.ErrNotExist }
func (nowhere) Hold(string, []byte) (io.Closer, error) { return nil, fs.ErrNotExist }
func (nowhere) Writable(string) error                  { return fs.ErrNotExist }
func (nowhere) ReadDir(string) ([]string, error)       { return nil, fs.ErrNotExist }

// Kept is a file below /etc whose one line sets a value again at every boot: the format of printf(1), and its words.
type Kept struct {
	File, Format string
	Words        []string
}

// Keep returns the line for a file, or a pattern of files, of the setting. The file is for this setting alone: to
// write it twice, or with another value, leaves one line. disks are those that it is for.
func (s Setting) Keep(file, value string, disks ...string) Kept {
	switch {
	case s.Module != "":
		return Kept{"/etc/modprobe.d/90-hostlab-" + s.Name + ".conf", `%s\n`, []string{s.ModuleOption(value)}}
	case s.Sysctl != "":
		return Kept{"/etc/sysctl.d/90-hostlab-" + s.Sysctl + ".conf", `%s\n`, []string{s.Sysctl + "=" + value}}
	case strings.HasPrefix(file, blockDir):
		return Kept{"/etc/udev/rules.d/90-hostlab-" + s.Name + ".rules", `ACTION=="add|change", SUBSYSTEM=="block", %s, %s\n`,
			[]string{kernelIs(disks), s.attribute(value)}}
	}
	return Kept{"/etc/tmpfiles.d/hostlab-" + s.Name + ".conf", `w- %s - - - - %s\n`, []string{file, value}}
}

// ModuleOption is a line of modprobe.d(5) that gives the setting's module the value when it is loaded.
func (s Setting) ModuleOption(value string) string {
	return "options " + s.Module + " " + lastPart(s.Sysctl) + "=" + value
}

func kernelIs(disks []string) string { return `KERNEL=="` + strings.Join(disks, "|") + `"` }
func (s Setting) attribute(value string) string {
	return `ATTR{queue/` + path.Base(s.File) + `}="` + value + `"`
}

// TmpfilesLine writes a value to what is there at boot, and is silent where there is none (tmpfiles.d(5)).
func TmpfilesLine(file, value string) string { return "w- " + file + " - - - - " + value }

// DiskRules are udev(7) rules that set a value on disks as they appear. Without names they are for all disks, but a
// scheduler is left as it is on those that rotate: virtual disks may say so, and do not.
func (s Setting) DiskRules(value string, names ...string) []string {
	rule := func(which string) string {
		return `ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ` + which + ", " + s.attribute(value)
	}
	switch {
	case len(names) > 0:
		return []string{rule(kernelIs(names))}
	case s.Stacked: // of a stack the top decides
		return []string{rule(`KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*"`)}
	case s.Unrotating:
		return []string{rule(`KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*|dm-*|md*", ATTR{queue/rotational}=="0"`),
			rule(`KERNEL=="vd*|xvd*"`)}
	}
	return []string{rule(`KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*|dm-*|md*"`)}
}
