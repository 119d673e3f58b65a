package settings

import (
	"path"
	"strings"
)

// saptune writes a custom note (saptune-note(5), saptune 3).
func saptune(head Head, items []item) Profile {
	var s sections
	// The line is a comment, and yet what saptune reads the note's name from.
	s.add("version", `# SAP-NOTE=hostlab CATEGORY=CUSTOM VERSION=1 DATE=01.01.2026 NAME="`+
		strings.ReplaceAll(head.Title, `"`,
			"'")+`"`)
	for _, i := range items {
		places, why := i.places("saptune")
		// [sys] takes single files below /sys, with dots for slashes, and no patterns.
		for _, p := range places {
			if word, _ := i.s.Word("saptune"); i.Object != "" && !word.Each {
				why = "saptune sets all CPUs alike"
			} else if p.file != "" && (len(places) > 1 || strings.Contains(p.file, "*")) {
				why = "saptune takes single files, and this has one for each CPU, policy or disk"
			}
		}
		if why != "" {
			s.missing.add(i, why)
			continue
		}
		for _, p := range places {
			switch {
			case p.sysctl != "":
				s.add("sysctl", p.sysctl+"="+p.value)
			case p.file != "":
				s.add("sys", strings.ReplaceAll(strings.TrimPrefix(p.file, "/sys/"), "/", ".")+"="+p.value)
			default:
				section := path.Dir(p.option)
				if i.Object != "" {
					section += ":blkpat=" + i.Object
				}
				s.add(section, path.Base(p.option)+"="+p.value)
			}
		}
	}
	return Profile{Files: []File{{Text: s.text(
		"# A note for saptune 3. Install it as /etc/saptune/extra/hostlab.conf, then:\n" +
			"# saptune note apply hostlab\n")}}, lacks: s.missing}
}
