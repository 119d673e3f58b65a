package setting

import (
	"path"
	"strings"
)

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
