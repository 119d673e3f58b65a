// Package export writes settings as profiles for the tools that keep them over a
// reboot: tuned, saptune, systemd, powercfg and PowerShell DSC. hostlab itself puts
// everything back.
package export

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/setting"
	"hostlab/internal/spelling"
)

// Item is one setting with its value in the kernel's own unit, as setting.Spell gives it.
type Item struct{ Setting, Object, Value string }

// File is one file of a profile.
type File struct {
	Path string // below /etc, for a profile of several; "" for one alone
	Text string
}

// Profile is what a target makes of settings.
type Profile struct {
	Files   []File
	Missing []string // what the target cannot express, a line each; it stands in the files as well
}

// Targets are the tools, in the order of the help.
func Targets() (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

var targets = []struct {
	name  string
	write func(title string, items []Item) Profile
}{
	{"tuned", tuned}, {"saptune", saptune}, {"systemd", systemd}, {"powercfg", powercfg}, {"dsc", dsc},
}

// Make writes a profile. Title says in a line what it is. The error is about the target.
func Make(target, title string, items []Item) (Profile, error) {
	for _, t := range targets {
		if t.name == target {
			return t.write(clean(title), items), nil
		}
	}
	hint := ""
	if near := spelling.Meant(target, Targets()); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return Profile{}, fmt.Errorf("%q: expected %s%s", target, strings.Join(Targets(), ", "), hint)
}

// clean keeps a text to one line of a comment.
func clean(s string) string { return strings.Join(strings.Fields(s), " ") }

// String is the setting as it is typed.
func (i Item) String() string {
	name := i.Setting
	if i.Object != "" {
		name += "@" + i.Object
	}
	return name + "=" + i.Value
}

// sections collects the lines of an INI file, each section once and in order.
type sections struct {
	order   []string
	lines   map[string][]string
	missing []string
}

func (s *sections) add(section, line string) {
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	if s.lines[section] == nil {
		s.order = append(s.order, section)
	}
	if !slices.Contains(s.lines[section], line) {
		s.lines[section] = append(s.lines[section], line)
	}
}

// cannot notes what the target has no words for.
func (s *sections) cannot(i Item, why string) { s.missing = append(s.missing, i.String()+": "+why) }

// text writes the sections behind a head, and what is missing as comments.
func (s *sections) text(head string) string {
	var b strings.Builder
	b.WriteString(head)
	comments(&b, "# ", s.missing)
	for _, name := range s.order {
		fmt.Fprintf(&b, "\n[%s]\n", name)
		for _, l := range s.lines[name] {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

func comments(b *strings.Builder, mark string, missing []string) {
	for _, m := range missing {
		b.WriteString(mark + "Not in here: " + m + "\n")
	}
}

// sysctls are the kernel's names of the settings that sysctl(8) writes.
var sysctls = map[string]string{
	"numa_balancing": "kernel.numa_balancing", "swappiness": "vm.swappiness", "dirty_bytes": "vm.dirty_bytes", "dirty_ratio": "vm.dirty_ratio",
	"dirty_background_bytes": "vm.dirty_background_bytes", "dirty_background_ratio": "vm.dirty_background_ratio", "max_map_count": "vm.max_map_count",
	"shmmni": "kernel.shmmni", "shmmax": "kernel.shmmax", "shmall": "kernel.shmall", "sem": "kernel.sem", "pid_max": "kernel.pid_max",
	"aio_max_nr": "fs.aio-max-nr",
}

// sysfsFile is the file, with a pattern for all objects, that a setting without words of
// its own in a tool is written to; "" where one value does not fit all of its files.
func sysfsFile(i Item) string {
	const cpu = "/sys/devices/system/cpu/"
	object := func(all string) string {
		if i.Object != "" {
			return i.Object
		}
		return all
	}
	switch i.Setting {
	case "governor":
		return cpu + "cpufreq/" + object("policy*") + "/scaling_governor"
	case "epp":
		return cpu + "cpufreq/" + object("policy*") + "/energy_performance_preference"
	case "max_freq", "min_freq":
		if strings.Trim(i.Value, "0123456789") != "" {
			return "" // a share or a word differs between processors
		}
		return cpu + "cpufreq/" + object("policy*") + "/scaling_" + strings.TrimSuffix(i.Setting, "_freq") + "_freq"
	case "epb":
		return cpu + object("cpu*") + "/power/energy_perf_bias"
	case "pm_qos_resume_latency_us":
		return cpu + object("cpu*") + "/power/pm_qos_resume_latency_us"
	case "min_perf_pct", "max_perf_pct":
		return cpu + "intel_pstate/" + i.Setting
	case "platform_profile":
		return "/sys/firmware/acpi/platform_profile"
	case "smt":
		return cpu + "smt/control"
	case "cpu_online":
		if i.Object != "" {
			return cpu + i.Object + "/online"
		}
	case "thp":
		return "/sys/kernel/mm/transparent_hugepage/enabled"
	case "thp_defrag":
		return "/sys/kernel/mm/transparent_hugepage/defrag"
	case "ksm":
		return "/sys/kernel/mm/ksm/run"
	case "clocksource":
		return "/sys/devices/system/clocksource/clocksource0/current_clocksource"
	case "io_scheduler":
		return "/sys/block/" + object("*") + "/queue/scheduler"
	case "nomerges", "read_ahead_kb":
		return "/sys/block/" + object("*") + "/queue/" + i.Setting
	case "nvme_io_timeout":
		return "/sys/module/nvme_core/parameters/io_timeout"
	}
	return ""
}

const (
	noCState = "states are chosen by the latency of each, which a fixed list of files cannot do"
	differs  = "it means another value on each processor; give a frequency, or leave it out for the processor's own range"
)

// whyNot says why a setting has no file.
func whyNot(i Item) string {
	switch i.Setting {
	case "max_freq", "min_freq":
		return differs
	case "cstate_latency":
		return noCState
	case "cpu_online":
		return "name the CPU: cpu_online@cpu3=off"
	}
	return "this tool has no words for it"
}

// known reports a setting of that name, for tests that hold the lists together.
func known(name string) bool { _, ok := setting.Find(name); return ok }
