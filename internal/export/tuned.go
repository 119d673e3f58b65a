package export

import (
	"path"
	"strings"
)

// tuned writes a profile (tuned.conf(5), TuneD 2.10 and later): the plugin's own option
// where there has been one for long, and plugin sysfs elsewhere, so that older versions take it as well.
func tuned(title string, items []item) Profile {
	var s sections
	s.add("main", "summary="+title)
	for _, i := range items {
		places, why := i.places("tuned")
		if why != "" {
			s.missing.add(i, why)
		}
		for _, p := range places {
			section := path.Dir(p.option)
			switch {
			case p.sysctl != "":
				s.add("sysctl", p.sysctl+"="+p.value)
			case p.file != "":
				s.add("sysfs", p.file+"="+p.value)
			default:
				if i.Object != "" {
					section += "_" + strings.ReplaceAll(i.Object, "-", "_")
					s.add(section, "type="+path.Dir(p.option))
					s.add(section, "devices="+i.Object)
				}
				s.add(section, path.Base(p.option)+"="+p.value)
			}
		}
	}
	return Profile{Files: []File{{Text: s.text(
		"# A tuned profile. Install it as /etc/tuned/hostlab/tuned.conf (since 2.25\n" +
			"# /etc/tuned/profiles/hostlab/tuned.conf), then: tuned-adm profile hostlab\n")}}, lacks: s.missing}
}
