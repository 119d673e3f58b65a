package export

import "strings"

// saptune writes a note of one's own (saptune-note(5), saptune 3).
func saptune(title string, items []Item) Profile {
	var s sections
	// The line is a comment, and yet what saptune reads the note's name from.
	s.add("version", `# SAP-NOTE=hostlab CATEGORY=CUSTOM VERSION=1 DATE=01.01.2026 NAME="`+strings.ReplaceAll(title, `"`, "'")+`"`)
	for _, i := range items {
		switch {
		case i.Object != "" && i.Setting != "io_scheduler" && i.Setting != "read_ahead_kb":
			s.cannot(i, "saptune sets all CPUs alike")
		case i.Setting == "governor":
			s.add("cpu", "governor="+i.Value)
		case i.Setting == "epb":
			if w := epbWords[i.Value]; w != "" {
				s.add("cpu", "energy_perf_bias="+w)
			} else {
				s.cannot(i, "saptune has performance (0), normal (6) and powersave (15) only")
			}
		case i.Setting == "cstate_latency" && i.Value != "all":
			s.add("cpu", "force_latency="+i.Value)
		case i.Setting == "thp":
			s.add("vm", "THP="+i.Value)
		case i.Setting == "ksm":
			s.add("vm", "KSM="+i.Value)
		case i.Setting == "io_scheduler", i.Setting == "read_ahead_kb":
			section := "block"
			if i.Object != "" {
				section += ":blkpat=" + i.Object
			}
			option := map[string]string{"io_scheduler": "IO_SCHEDULER", "read_ahead_kb": "READ_AHEAD_KB"}[i.Setting]
			s.add(section, option+"="+i.Value)
		case sysctl(i) != "":
			s.add("sysctl", sysctl(i)+"="+i.Value)
		default:
			// [sys] takes single files below /sys, with dots for slashes, and no patterns.
			file := sysfsFile(i)
			if file == "" || strings.ContainsAny(file, "*") {
				s.cannot(i, "saptune has no words for it")
				continue
			}
			s.add("sys", strings.ReplaceAll(strings.TrimPrefix(file, "/sys/"), "/", ".")+"="+i.Value)
		}
	}
	return Profile{Files: []File{{Text: s.text(
		"# A note for saptune 3. Install it as /etc/saptune/extra/hostlab.conf, then:\n" +
			"# saptune note apply hostlab\n")}}, lacks: s.missing}
}
