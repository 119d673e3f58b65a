package settings

import (
	"fmt"
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
