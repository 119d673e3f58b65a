package settings

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"hostlab/internal/setting"
)

// systemd writes what a host with systemd alone applies at boot: sysctl.d(5), modprobe.d(5), tmpfiles.d(5),
// udev rules for disks, which may come later, and a unit that holds a latency limit.
func systemd(head Head, items []item) Profile {
	var kernel, modules, tmpfiles, udev, limits []string
	var lack lacks
	hold := ""
	for _, i := range items {
		if i.bounds() {
			hold = i.Value // all have the lowest
			continue
		}
		places, why := i.places("systemd")
		if why != "" {
			lack.add(i, why)
		}
		for _, p := range places {
			switch {
			case i.s.Module != "":
				modules = append(modules, i.s.ModuleOption(p.value))
			case i.s.Limit:
				limits = append(limits, "ExecStart="+raise+" sh "+i.s.File+" "+p.value)
			case p.sysctl != "":
				kernel = append(kernel, p.sysctl+" = "+p.value)
			case strings.HasPrefix(p.file, "/sys/block/"):
				udev = append(udev, i.rules()...)
			default:
				tmpfiles = append(tmpfiles, setting.TmpfilesLine(p.file, p.value))
			}
		}
	}
	title := head.Title
	if !strings.HasSuffix(title, mark) {
		title += ", " + mark
	}
	var p Profile
	p.lacks = lack
	add := func(path, use string, lines []string) {
		if len(lines) == 0 {
			p.Others = append(p.Others, path)
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n# %s\n", title, use)
		if len(p.Files) == 0 {
			comments(&b, lack.lines())
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
		p.Files = append(p.Files, File{path, b.String()})
	}
	add("sysctl.d/90-hostlab.conf", "At once: sysctl --load=/etc/sysctl.d/90-hostlab.conf", kernel)
	add("modprobe.d/hostlab.conf", "For when the module is loaded; hostlab set changes one that is", modules)
	add("tmpfiles.d/hostlab.conf", "At once: systemd-tmpfiles --create /etc/tmpfiles.d/hostlab.conf", tmpfiles)
	add("udev/rules.d/90-hostlab.rules", "At once: udevadm control --reload && udevadm trigger --subsystem-match=block",
		udev)
	if limits != nil {
		limits = append(append([]string{"[Unit]", "Description=Raise limits of the kernel that are lower",
			"After=systemd-sysctl.service", "",
			"[Service]", "Type=oneshot", "RemainAfterExit=yes"}, limits...), "", "[Install]", "WantedBy=multi-user.target")
	}
	add("systemd/system/hostlab-limits.service", "At once: systemctl daemon-reload && systemctl enable --now "+
		"hostlab-limits",
		limits)
	var service []string
	if hold != "" {
		service = unit(hold)
	}
	add("systemd/system/hostlab-latency.service", "At once: systemctl daemon-reload && systemctl enable --now "+
		"hostlab-latency", service)
	return p
}

func (i item) rules() []string {
	if i.Object != "" {
		return i.s.DiskRules(i.Value, i.Object)
	}
	return i.s.DiskRules(i.Value)
}

// raise takes each number of a limit from its file, or from the arguments where that is higher. It compares digits:
// shells cannot compute with the largest numbers. A file that is not there is left out: a line that fails would end the
// unit, and with it the lines below. A $ is doubled for systemd.
const raise = `/bin/sh -c 'f=$$1; [ -e $$f ] || exit 0; shift; o=; for v in $$(cat $$f); do if [ $${#v} -lt $${#1} ] || ` +
	`{ [ $${#v} -eq $${#1} ] && [ $$v "<" $$1 ]; }; then v=$$1; fi; o="$$o $$v"; shift; done; echo $$o > $$f'`

// unit holds /dev/cpu_dma_latency open. Of text the kernel takes hexadecimal digits, and of
// four bytes a binary number (kernel/power/qos.c), hence ten characters.
func unit(latency string) []string {
	us, _ := strconv.Atoi(latency)
	return []string{
		"[Unit]", fmt.Sprintf("Description=Keep CPUs out of idle states that take over %d us to leave", us), "",
		"[Service]", fmt.Sprintf(`ExecStart=/bin/sh -c "exec 3>/dev/cpu_dma_latency; printf 0x%08x >&3; exec sleep infinity"`,
			us),
		"Restart=on-failure", "", "[Install]", "WantedBy=multi-user.target",
	}
}

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
