package export

import (
	"strconv"
	"strings"
)

// epbWords are what tuned and saptune call EPB's numbers; tuned takes numbers, too.
var epbWords = map[string]string{"0": "performance", "6": "normal", "15": "powersave"}

// tuned writes a profile (tuned.conf(5), TuneD 2.10 and later): the plugin's own option
// where there has been one for long, and plugin sysfs elsewhere, so that older versions take it as well.
func tuned(title string, items []Item) Profile {
	var s sections
	s.add("main", "summary="+title)
	for _, i := range items {
		switch i.Setting {
		case "governor", "epp", "epb":
			if i.Object != "" {
				s.add("sysfs", sysfsFile(i)+"="+i.Value)
				continue
			}
			option := map[string]string{"governor": "governor", "epp": "energy_performance_preference", "epb": "energy_perf_bias"}[i.Setting]
			value := i.Value
			if w := epbWords[value]; i.Setting == "epb" && w != "" {
				value = w
			}
			s.add("cpu", option+"="+value)
		case "min_perf_pct", "max_perf_pct":
			s.add("cpu", i.Setting+"="+i.Value)
		case "boost":
			if file := sysfsFile(i); file != "" {
				s.add("sysfs", file+"="+i.Value)
				continue
			}
			if i.Object != "" {
				s.cannot(i, whyNot(i))
				continue
			}
			s.add("cpu", "no_turbo="+map[string]string{"1": "0", "0": "1"}[i.Value])
			s.add("sysfs", "/sys/devices/system/cpu/cpufreq/boost="+i.Value)
			s.add("sysfs", "/sys/devices/system/cpu/cpufreq/policy*/boost="+i.Value)
		case "cpu_dma_latency", "cstate_latency":
			if i.Value == "all" {
				s.add("sysfs", "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable=0")
				continue
			}
			// tuned holds the limit while it runs, and states above it are not entered.
			s.add("cpu", "force_latency="+strconv.Itoa(latency(items)))
		case "thp":
			s.add("vm", "transparent_hugepages="+i.Value)
		case "io_scheduler", "read_ahead_kb":
			option := map[string]string{"io_scheduler": "elevator", "read_ahead_kb": "readahead"}[i.Setting]
			if i.Object == "" {
				s.add("disk", option+"="+i.Value)
				continue
			}
			name := "disk_" + strings.ReplaceAll(i.Object, "-", "_")
			s.add(name, "type=disk")
			s.add(name, "devices="+i.Object)
			s.add(name, option+"="+i.Value)
		default:
			if name := sysctl(i); name != "" {
				s.add("sysctl", name+"="+i.Value)
			} else if file := sysfsFile(i); file != "" {
				s.add("sysfs", file+"="+i.Value)
			} else {
				s.cannot(i, whyNot(i))
			}
		}
	}
	return Profile{Files: []File{{Text: s.text(
		"# A tuned profile. Install it as /etc/tuned/hostlab/tuned.conf (since 2.25\n" +
			"# /etc/tuned/profiles/hostlab/tuned.conf), then: tuned-adm profile hostlab\n")}}, lacks: s.missing}
}
