// Package export writes settings as profiles for the tools that keep them over a
// reboot: tuned, saptune, systemd, powercfg and PowerShell DSC. hostlab itself puts
// everything back.
package export

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
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
	lacks   lacks
	// Others are files below /etc that the target writes for other settings. One of an earlier
	// profile would stay in force beside this one.
	Others []string
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

// Make writes a profile. Title says in a line what it is. The error is about the target, or says why it
// has words for nothing of this: such a profile would do nothing, and look as if it did.
func Make(target, title string, items []Item) (Profile, error) {
	for _, i := range items {
		if !madeOf(i.Object, inName) || strings.HasPrefix(i.Object, "/") {
			return Profile{}, fmt.Errorf("%s@%s: that is no name of an object", i.Setting, screen.Short(screen.Clean(i.Object)))
		}
		if !madeOf(i.Value, inValue) {
			return Profile{}, fmt.Errorf("%s=%s: expected letters, digits, spaces and . _ - %% : + !", i.Setting, screen.Short(screen.Clean(i.Value)))
		}
	}
	for _, t := range targets {
		if t.name == target {
			items = slices.Clone(items)
			slices.SortStableFunc(items, func(a, b Item) int { return rank(a) - rank(b) })
			atBoot(items)
			p := t.write(clean(title), items)
			p.Missing = p.lacks.lines()
			if p.lacks.count() == len(items) {
				return Profile{}, fmt.Errorf("%s has words for nothing of this: %s", target, strings.Join(p.Missing, "; "))
			}
			return p, nil
		}
	}
	hint := ""
	if near := spelling.Meant(target, Targets()); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return Profile{}, fmt.Errorf("%q: expected %s%s", target, strings.Join(Targets(), ", "), hint)
}

// atBoot writes values as they are right for what is applied at every boot. ksm=2 stops merging and
// takes apart what was merged; at boot that is nothing, and 0, which only stops, is the same and is
// what all tools take.
func atBoot(items []Item) {
	for i := range items {
		if items[i].Setting == "ksm" && items[i].Value == "2" {
			items[i].Value = "0"
		}
	}
}

// mark stands in the first line of every file that is written for systemd.
const mark = "written by hostlab"

// Ours reports whether the text of a file below /etc is that of an earlier profile.
func Ours(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(first, []byte("#")) && bytes.HasSuffix(bytes.TrimSpace(first), []byte(mark))
}

// inName are the characters of objects of the kernel's, inValue those of its values. They
// mean themselves in the format of each target, and to the shell or rule that reads it.
const (
	inName  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-!/"
	inValue = inName + ".:+% "
)

func madeOf(s, characters string) bool {
	return !strings.HasPrefix(s, "-") && strings.Trim(s, characters) == ""
}

// clean keeps a text to one line of a comment.
func clean(s string) string { return strings.Join(strings.Fields(screen.Clean(s)), " ") }

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
	missing lacks
}

func (s *sections) add(section, line string) {
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	if s.lines[section] == nil {
		s.order = append(s.order, section)
	}
	// A key may stand once only; the later item is what somebody typed.
	key, _, _ := strings.Cut(line, "=")
	if i := slices.IndexFunc(s.lines[section], func(l string) bool { return strings.HasPrefix(l, key+"=") }); i >= 0 {
		s.lines[section][i] = line
		return
	}
	s.lines[section] = append(s.lines[section], line)
}

// cannot notes what the target has no words for.
func (s *sections) cannot(i Item, why string) { s.missing.add(i, why) }

// lacks are the settings that a target cannot express, by reason.
type lacks []lack

type lack struct {
	items []string
	why   string
}

func (l *lacks) add(i Item, why string) {
	for n := range *l {
		if (*l)[n].why == why {
			(*l)[n].items = append((*l)[n].items, i.String())
			return
		}
	}
	*l = append(*l, lack{[]string{i.String()}, why})
}

// count is the number of settings.
func (l lacks) count() (n int) {
	for _, m := range l {
		n += len(m.items)
	}
	return n
}

// lines are a line for each reason.
func (l lacks) lines() (out []string) {
	for _, m := range l {
		out = append(out, strings.Join(m.items, ", ")+" ("+m.why+")")
	}
	return out
}

// text writes the sections behind a head, and what is missing as comments.
func (s *sections) text(head string) string {
	var b strings.Builder
	b.WriteString(head)
	comments(&b, s.missing.lines())
	for _, name := range s.order {
		fmt.Fprintf(&b, "\n[%s]\n", name)
		for _, l := range s.lines[name] {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// comments notes what is missing, for files whose comments begin with a hash.
func comments(b *strings.Builder, missing []string) {
	for _, m := range missing {
		for i, l := range screen.Wrap("Not in here: "+m, 90) {
			b.WriteString("# " + map[bool]string{true: "  "}[i > 0] + l + "\n")
		}
	}
}

// latency is the lowest limit of the wake-up latency that items ask for, in us; -1: none does.
// Tools that hold a limit need no list of states.
func latency(items []Item) int {
	lowest := -1
	for _, i := range items {
		if i.Setting != "cpu_dma_latency" && i.Setting != "cstate_latency" {
			continue
		}
		if us, err := strconv.Atoi(i.Value); err == nil && (lowest < 0 || us < lowest) {
			lowest = us
		}
	}
	return lowest
}

// sysctl is the name of an item for sysctl(8), or "".
func sysctl(i Item) string {
	s, _ := setting.Find(i.Setting)
	return s.Sysctl
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
	case "boost":
		switch {
		case strings.HasPrefix(i.Object, "policy"):
			return cpu + "cpufreq/" + i.Object + "/boost"
		case i.Object == "cpufreq":
			return cpu + "cpufreq/boost"
		}
	case "epb":
		return cpu + object("cpu[0-9]*") + "/power/energy_perf_bias"
	case "pm_qos_resume_latency_us":
		return cpu + object("cpu[0-9]*") + "/power/pm_qos_resume_latency_us"
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
	case "boost":
		return "name a policy, as boost@policy0, or leave the object out"
	}
	return "this tool has no words for it"
}

// rank is the order of writing: the governor before EPP, both before limits.
func rank(i Item) int {
	s, _ := setting.Find(i.Setting)
	return s.Order
}
