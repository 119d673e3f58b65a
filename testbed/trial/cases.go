//go:build linux && amd64

package main

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"hostlab/internal/setting"
)

const cpu = "/sys/devices/system/cpu"

// trial is one setting: its files by the kernel's documentation, and values to write.
type trial struct {
	setting string
	files   []string // of all its objects; patterns
	values  func() []value
	// register says which line of _PSS the P-state registers must name afterwards.
	register func(word string) (line byte, known bool)
	// refused is what hostlab must say here: the emulated processor does not let it be changed.
	refused string
	// offline: it takes CPUs offline.
	offline bool
	// first makes the machine one on which the values are a change.
	first func() (back func())
}

// value is what is written and what each file must read afterwards.
type value struct {
	word  string // what hostlab is given
	at    string // NAME@OBJECT; "" all
	reads func(file string) string
}

func plain(words ...string) func() []value {
	return func() (list []value) {
		for _, w := range words {
			list = append(list, value{word: w, reads: func(string) string { return w }})
		}
		return list
	}
}

// mapped is a word that the kernel's file has another word for.
func mapped(pairs ...string) func() []value {
	return func() (list []value) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, value{word: pairs[i], reads: func(string) string { return pairs[i+1] }})
		}
		return list
	}
}

// listed are the words of a file, without those that are there already.
func listed(choices, now string) func() []value {
	return func() (list []value) {
		paths := glob(choices)
		if len(paths) == 0 {
			return nil
		}
		for _, w := range strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(cat(paths[0]))) {
			if w == chosen(cat(glob(now)[0])) {
				continue
			}
			list = append(list, value{word: w, reads: func(string) string { return w }})
		}
		return list
	}
}

// lineOf is the line of the table of gen-ssdt.sh that a frequency has.
var lineOf = map[string]byte{"2401000": 0, "2400000": 1, "1800000": 2, "1200000": 3}

func lineOfGovernor(word string) (byte, bool) {
	line, known := map[string]byte{"performance": 0, "powersave": 3}[word]
	return line, known
}

// frequencies are the steps of the driver, or some of a range without steps.
func frequencies(not string) func() []value {
	return func() (list []value) {
		words := []string{"800000", "1600000", "2400000"}
		if steps := glob(cpu + "/cpufreq/policy*/scaling_available_frequencies"); len(steps) > 0 {
			words = strings.Fields(cat(steps[0]))
		}
		now := chosen(cat(glob(cpu + "/cpufreq/policy*/" + not)[0]))
		for _, w := range words {
			if w != now {
				list = append(list, value{word: w, reads: func(string) string { return w }})
			}
		}
		return list
	}
}

// bound disables the states that take longer to leave.
func bound(us int) value {
	return value{word: strconv.Itoa(us) + "us", reads: func(file string) string {
		latency, err := strconv.Atoi(cat(filepath.Dir(file) + "/latency"))
		if err != nil {
			return err.Error()
		}
		if latency > us {
			return "1"
		}
		return "0"
	}}
}

// single is a CPU that is taken away alone.
func single(objects ...string) func() []value {
	return func() (list []value) {
		for _, o := range objects {
			list = append(list, value{word: "off", at: o, reads: func(file string) string {
				if strings.HasSuffix(file, "/"+o+"/online") {
					return "0"
				}
				return "1"
			}})
		}
		return list
	}
}

// governed puts every policy under a governor by hand.
func governed(word string) func() func() {
	return func() func() {
		old := map[string]string{}
		for _, f := range glob(cpu + "/cpufreq/policy*/scaling_governor") {
			old[f] = cat(f)
			_ = echo(word, f)
		}
		return func() {
			for f, v := range old {
				_ = echo(v, f)
			}
		}
	}
}

var (
	policy   = cpu + "/cpufreq/policy*/"
	hugePage = "/sys/kernel/mm/transparent_hugepage/"
	clock    = "/sys/devices/system/clocksource/clocksource0/"
	queue    = "/sys/block/[vsn]*/queue/"
)

// trials are those that take more than a value to write and what it reads, and after them those of the settings' own
// data.
var trials = append([]trial{
	{setting: "governor", files: []string{policy + "scaling_governor"},
		values: listed(policy+"scaling_available_governors", policy+"scaling_governor"), register: lineOfGovernor},
	{setting: "epp", files: []string{policy + "energy_performance_preference"},
		values: plain("balance_power", "balance_performance", "performance", "power"), first: governed("powersave")},
	{setting: "boost", files: []string{cpu + "/cpufreq/boost"}, values: mapped("on", "1"),
		refused: "refuses to switch boost"},
	{setting: "max_freq", files: []string{policy + "scaling_max_freq"}, values: frequencies("scaling_max_freq"),
		first:    governed("performance"),
		register: func(w string) (byte, bool) { l, known := lineOf[w]; return l, known }},
	{setting: "min_freq", files: []string{policy + "scaling_min_freq"}, values: frequencies("scaling_min_freq"),
		first:    governed("powersave"),
		register: func(w string) (byte, bool) { l, known := lineOf[w]; return l, known }},
	{setting: "cstate_latency", files: []string{cpu + "/cpu[0-9]*/cpuidle/state*/disable"},
		values: func() []value {
			return []value{bound(70), bound(2), bound(1), bound(150), {word: "all", reads: func(string) string { return "0" }}}
		},
		first: func() func() { // one that was disabled by hand, which only a bound above leaves
			f := cpu + "/cpu1/cpuidle/state3/disable"
			_ = echo("1", f)
			return func() { _ = echo("0", f) }
		}},
	{setting: "thp", files: []string{hugePage + "enabled"}, values: listed(hugePage+"enabled", hugePage+"enabled")},
	{setting: "thp_defrag", files: []string{hugePage + "defrag"}, values: listed(hugePage+"defrag", hugePage+"defrag")},
	{setting: "clocksource", files: []string{clock + "current_clocksource"},
		values: listed(clock+"available_clocksource", clock+"current_clocksource")},
	{setting: "io_scheduler", files: []string{queue + "scheduler"}, values: listed(queue+"scheduler", queue+"scheduler")},
	{setting: "cpu_online", files: []string{cpu + "/cpu[0-9]*/online"}, offline: true,
		values: single("cpu1", "cpu2", "cpu3")},
	{setting: "smt", files: []string{cpu + "/smt/control"}, offline: true, values: plain("off")},
}, plainTrials()...)

// plainTrials are the values that settings say themselves. Only that data is hostlab's: files are read and judged here.
func plainTrials() (list []trial) {
	for _, s := range setting.All() {
		var pairs []string
		for _, t := range s.Tries {
			pairs = append(pairs, t.Set, cmp.Or(t.Reads, t.Set))
		}
		if len(pairs) > 0 {
			file := strings.Replace(s.File, "/sys/block/*/", "/sys/block/[vsn]*/", 1) // no disk of memory
			list = append(list, trial{setting: s.Name, files: []string{file}, values: mapped(pairs...)})
		}
	}
	return list
}
