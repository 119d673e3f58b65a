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

// written is the page.
func written(record []tried) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Settings, tried on real kernels

Does %[1]shostlab set%[1]s change what it says, and does %[1]shostlab revert%[1]s restore all of it? Guests of the [test bed](../testbed/README.md)
with real kernels tried each setting. The list has what they showed.

In each guest a program that reads and writes by itself looks at the setting's files, and all others that lie around them. Then
%[1]shostlab set%[1]s; it reads the files again, and what else the kernel or the processor tells of it; then %[1]shostlab verify%[1]s, which must name
the setting and find it as set; then %[1]shostlab revert%[1]s, which must name it too. "All as before" means that no file below
%[1]s/sys/devices/system/cpu%[1]s, %[1]s/sys/kernel/mm%[1]s, the disks' queues and %[1]s/proc/sys/{vm,kernel,fs,net}%[1]s differs, and that the journal is gone.
Numbers in brackets count files that read so. Values are the kernel's own words; frequencies are in kHz.
A name in brackets is the setting's sysctl, which %[1]shostlab set%[1]s and %[1]shostlab settings%[1]s take too.
A test writes this page (%[1]sgo test -tags=system ./testbed -run TestSettings -update%[1]s) and holds that guests A and B still show it;
%[1]stestbed/settings.sh%[1]s tries more values, in all guests.

`, "`")
	for i, g := range record {
		fmt.Fprintf(&b, "- %s: %s\n", letter(i), g.Guest)
	}
	b.WriteString("\n")
	var never []string
	for _, name := range setting.Names() {
		var rows []row
		where := map[row]string{}
		for i, g := range record {
			for _, r := range g.Rows {
				if r.Setting != name {
					continue
				}
				if where[r] == "" {
					rows = append(rows, r)
				}
				where[r] += letter(i)
			}
		}
		for _, r := range rows {
			fmt.Fprintf(&b, "- **%s** in %s, files: %s. Before: %s; set to %s, read as %s", titled(name), where[r], r.Objects, r.Before,
				r.Set, r.Read)
			if r.Oracle != "" {
				fmt.Fprintf(&b, " (elsewhere: %s)", r.Oracle)
			}
			fmt.Fprintf(&b, "; verify: %s; revert: %s\n", r.Verify, r.Revert)
		}
		if len(rows) == 0 {
			never = append(never, name)
		}
	}
	fmt.Fprintf(&b, `
## What guests do not have

%d of %d settings were tried. The emulated processor and firmware lack what the others need, so tests try those on made directory
trees alone (%[3]sinternal/setting%[3]s); irq_affinity is also tried in a guest with a network card and two memory nodes
(%[3]strial nodes%[3]s). What %[3]shostlab settings%[3]s says of them in the guests:

`, len(setting.Names())-len(never), len(setting.Names()), "`")
	for _, name := range never {
		fmt.Fprintf(&b, "- **%s**: %s\n", titled(name), why(record, name))
	}
	b.WriteString("\nSettings that only some guests have:\n\n")
	for _, name := range setting.Names() {
		if !slices.Contains(never, name) {
			var reasons []string
			where := map[string]string{}
			for i, g := range record {
				if r := g.Missing[name]; r != "" {
					if where[r] == "" {
						reasons = append(reasons, r)
					}
					where[r] += letter(i)
				}
			}
			for _, r := range reasons {
				fmt.Fprintf(&b, "- **%s**, not in %s: %s\n", titled(name), where[r], r)
			}
		}
	}
	return b.String()
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
