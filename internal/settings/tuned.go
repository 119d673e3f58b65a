package settings

import (
	"path"
	"strings"
)

// tuned writes a profile (tuned.conf(5), TuneD 2.10 and later): the plugin's own option
// where there has been one for long, and plugin sysfs elsewhere, so that older versions take it as well. What is a
// module's parameter goes to plugin modules, which writes it below modprobe.d.
//
// It includes the profile that is active, which would end otherwise. A limit is only raised: a value behind > is
// written where it is higher than what is there (plugins/base.py, _process_assignment_modifiers; sysctl since 2.10).
func tuned(head Head, items []item) Profile {
	var s sections
	s.add("main", "summary="+head.Title)
	if len(head.Base) > 0 {
		s.add("main", "include="+strings.Join(head.Base, ","))
	}
	for _, i := range items {
		places, why := i.places("tuned")
		if why != "" {
			s.missing.add(i, why)
		}
		for _, p := range places {
			section := path.Dir(p.option)
			switch {
			case i.s.Module != "":
				_, option, _ := strings.Cut(strings.TrimPrefix(i.s.ModuleOption(p.value), "options "), " ")
				s.add("modules", i.s.Module+"="+option)
			case p.sysctl != "":
				more := ""
				if i.s.Limit && !strings.Contains(p.value, " ") {
					more = ">"
				}
				s.add("sysctl", p.sysctl+"="+more+p.value)
			case p.file != "":
				s.add("sysfs", p.file+"="+p.value)
			default:
				if i.Object != "" {
					section += "_" + strings.ReplaceAll(i.Object, "-", "_")
					s.add(section, "type="+path.Dir(p.option))
					s.add(section, "devices="+i.Object)
				} else if i.s.Unrotating {
					s.add(section, "devices=nvme*,vd*,xvd*,mmcblk*")
					s.add(section, "# Disks that may rotate are left out; name others, such as io_scheduler@sda")
				}
				s.add(section, path.Base(p.option)+"="+p.value)
			}
		}
	}
	return Profile{Files: []File{{Text: s.text(
		"# A tuned profile. Install it as /etc/tuned/hostlab/tuned.conf (since 2.25\n" +
			"# /etc/tuned/profiles/hostlab/tuned.conf), then: tuned-adm profile hostlab\n")}}, lacks: s.missing}
}
