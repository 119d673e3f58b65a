//go:build linux && amd64

package testbed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

const settingsPage = "../docs/settings.md"

// TestSettingsPage holds that docs/settings.md is what the record says, and that it has every setting.
func TestSettingsPage(t *testing.T) {
	record := readRecord(t)
	testkit.Page(t, settingsPage, written(record))
	for _, g := range record {
		for _, r := range g.Rows {
			if r.Verify == "it was so already" || r.Verify == "NO" || r.Revert == "NO" {
				t.Errorf("%s: %s shows nothing: %+v", g.Guest, r.Setting, r)
			}
		}
		for _, name := range setting.Names() {
			_, missing := g.Missing[name]
			if was := slices.ContainsFunc(g.Rows, func(r row) bool { return r.Setting == name }); was == missing {
				t.Errorf("%s: %s was tried: %v; it is missing: %v", g.Guest, name, was, missing)
			}
		}
	}
}

// letter is how the page names a guest.
func letter(i int) string { return string(rune('A' + i)) }

// subjects are the sections of the page: what their settings' files lie below.
var subjects = []struct{ title, files string }{
	{"CPUs, clock and idle states", "/sys/devices/system/cpu/ /sys/devices/system/clocksource /dev/cpu_dma_latency"},
	{"Memory", "/sys/kernel/mm/ /proc/sys/vm/ /proc/sys/kernel/numa /proc/sys/kernel/shm"},
	{"Network", "/proc/sys/net/"},
	{"Disks", "/sys/block/ /sys/module/nvme"},
	{"Kernel", ""},
}

// subject is the place of a setting's section.
func subject(name string) int {
	s, _ := setting.Find(name)
	file := s.File
	if file == "" && len(s.Files) > 0 {
		file = s.Files[0]
	}
	return slices.IndexFunc(subjects, func(x struct{ title, files string }) bool {
		return x.files == "" || slices.ContainsFunc(strings.Fields(x.files), func(dir string) bool {
			return strings.HasPrefix("/"+strings.TrimPrefix(file, "/"), dir)
		})
	})
}

// written is the page.
func written(record []tried) string {
	lists, never := make([]strings.Builder, len(subjects)), []string(nil)
	for _, name := range setting.Names() {
		text := shown(record, name)
		if text == "" {
			never = append(never, name)
			continue
		}
		fmt.Fprintf(&lists[subject(name)], "- **%s**: %s\n", titled(name), text)
	}
	all := len(setting.Names())
	var b strings.Builder
	fmt.Fprintf(&b, `# Settings, tried on real kernels

Does %[1]shostlab set%[1]s change what it says, and does %[1]shostlab revert%[1]s restore all of it? Yes, for the %[2]d of %[3]d settings that guests
with real kernels have. Each line says what the kernel had, and what hostlab set. Unless it says otherwise, all guests read back
just that, and %[1]shostlab verify%[1]s found it as set. After %[1]shostlab revert%[1]s no file of the kernel differed from before.

Values are the kernel's own words; frequencies are in kHz. Numbers in brackets count files that read so. A name in brackets is the
setting's sysctl, which %[1]shostlab set%[1]s and %[1]shostlab settings%[1]s take too. Letters name guests:

`, "`", all-len(never), all)
	for i, g := range record {
		fmt.Fprintf(&b, "- %s: %s\n", letter(i), g.Guest)
	}
	for i, s := range subjects {
		fmt.Fprintf(&b, "\n## %s\n\n%s", s.title, lists[i].String())
	}
	fmt.Fprintf(&b, `
## What no guest has

The emulated processor and firmware lack what %[2]d settings need, so tests try those on made directory trees alone
(%[1]sinternal/setting%[1]s); irq_affinity is also tried in a guest with a network card and two memory
nodes (%[1]strial nodes%[1]s). What %[1]shostlab settings%[1]s says of them in the guests:

`, "`", len(never))
	for _, name := range never {
		fmt.Fprintf(&b, "- **%s**: %s\n", titled(name), why(record, name))
	}
	fmt.Fprintf(&b, `
## How it was tried

In each guest of the [test bed](../testbed/README.md) a program of its own reads the setting's files before and after each
command. It also reads all files that lie around them, and what else the processor tells ("elsewhere"). "As before" means that no file below
%[1]s/sys/devices/system/cpu%[1]s, %[1]s/sys/kernel/mm%[1]s, the disks' queues and %[1]s/proc/sys/{vm,kernel,fs,net}%[1]s differs, and that the journal is gone.
%[1]sgo test -tags=system ./testbed -run TestSettings -update%[1]s writes this page; %[1]stestbed/settings.sh%[1]s tries more values.
`, "`")
	return b.String()
}

// shown is what guests showed of a setting; "": none has it.
func shown(record []tried, name string) string {
	var texts []string
	where, have := map[string]string{}, ""
	for i, g := range record {
		for _, r := range g.Rows {
			if r.Setting != name {
				continue
			}
			if !strings.HasSuffix(have, letter(i)) {
				have += letter(i)
			}
			text := outcome(r)
			if where[text] == "" {
				texts = append(texts, text)
			}
			where[text] += letter(i)
		}
	}
	for i, text := range texts {
		if len(texts) > 1 {
			texts[i] += " (" + where[text] + ")"
		}
	}
	text := strings.Join(texts, "; ")
	for i, g := range record {
		if r := g.Missing[name]; r != "" && text != "" && slices.IndexFunc(record, func(g tried) bool { return g.Missing[name] == r }) == i {
			text += "; not in " + lacking(record, name, r) + ": " + r
		}
	}
	return text
}

// outcome is what one guest showed, without what is as it should be.
func outcome(r row) string {
	text := r.Before + " -> " + r.Set
	if r.Read != r.Set {
		text += ", read as " + r.Read
	}
	if r.Oracle != "" {
		text += ", elsewhere " + r.Oracle
	}
	if r.Verify != "as set" {
		text += ", verify: " + r.Verify
	}
	if r.Revert != "all as before" {
		text += ", revert: " + r.Revert
	}
	return text
}

// lacking are the guests that lack a setting for a reason.
func lacking(record []tried, name, reason string) (letters string) {
	for i, g := range record {
		if g.Missing[name] == reason {
			letters += letter(i)
		}
	}
	return letters
}

// titled is a setting's name with that of its sysctl, which hostlab set takes too.
func titled(name string) string {
	if s, _ := setting.Find(name); s.Sysctl != "" {
		return name + " (" + s.Sysctl + ")"
	}
	return name
}

// why are the reasons of all guests.
func why(record []tried, name string) string {
	var list []string
	for _, g := range record {
		if r := g.Missing[name]; !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return strings.Join(list, "; ")
}
