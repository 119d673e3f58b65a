package export

import (
	"fmt"
	"strings"
)

// systemd writes what a host with systemd alone applies at boot: sysctl.d(5), tmpfiles.d(5),
// udev rules for disks, which may come later, and a unit that holds a latency limit.
func systemd(title string, items []Item) Profile {
	var kernel, tmpfiles, udev []string
	var lack lacks
	hold := latency(items)
	for _, i := range items {
		switch {
		case sysctl(i) != "":
			kernel = append(kernel, sysctl(i)+" = "+i.Value)
		case i.Setting == "io_scheduler", i.Setting == "nomerges", i.Setting == "read_ahead_kb":
			udev = append(udev, udevRule(i))
		case i.Setting == "boost" && i.Object == "":
			const cpu = "/sys/devices/system/cpu/"
			tmpfiles = append(tmpfiles, tmpfile(cpu+"intel_pstate/no_turbo", map[string]string{"1": "0", "0": "1"}[i.Value]),
				tmpfile(cpu+"cpufreq/boost", i.Value), tmpfile(cpu+"cpufreq/policy*/boost", i.Value))
		case i.Setting == "cpu_dma_latency", i.Setting == "cstate_latency" && i.Value != "all":
			// hold is their lowest
		case i.Setting == "cstate_latency":
			tmpfiles = append(tmpfiles, tmpfile("/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable", "0"))
		default:
			if file := sysfsFile(i); file != "" {
				tmpfiles = append(tmpfiles, tmpfile(file, i.Value))
			} else {
				lack.add(i, whyNot(i))
			}
		}
	}
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
	add("tmpfiles.d/hostlab.conf", "At once: systemd-tmpfiles --create /etc/tmpfiles.d/hostlab.conf", tmpfiles)
	add("udev/rules.d/90-hostlab.rules", "At once: udevadm control --reload && udevadm trigger --subsystem-match=block", udev)
	var service []string
	if hold >= 0 {
		service = unit(hold)
	}
	add("systemd/system/hostlab-latency.service", "At once: systemctl daemon-reload && systemctl enable --now hostlab-latency", service)
	return p
}

// tmpfile is a line that writes a value to what is there, and says nothing where there is none.
func tmpfile(file, value string) string { return "w- " + file + " - - - - " + value }

func udevRule(i Item) string {
	file := map[string]string{"io_scheduler": "scheduler", "nomerges": "nomerges", "read_ahead_kb": "read_ahead_kb"}[i.Setting]
	which := `KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*|dm-*|md*"`
	switch {
	case i.Object != "":
		which = `KERNEL=="` + i.Object + `"`
	case i.Setting == "read_ahead_kb": // of a stack the top decides
		which = `KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*"`
	}
	return fmt.Sprintf(`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", %s, ATTR{queue/%s}="%s"`, which, file, i.Value)
}

// unit holds /dev/cpu_dma_latency open. Of text the kernel takes hexadecimal digits, and of
// four bytes a binary number (kernel/power/qos.c), hence ten characters.
func unit(us int) []string {
	return []string{
		"[Unit]", fmt.Sprintf("Description=Keep CPUs out of idle states that take over %d us to leave", us), "",
		"[Service]", fmt.Sprintf(`ExecStart=/bin/sh -c "exec 3>/dev/cpu_dma_latency; printf 0x%08x >&3; exec sleep infinity"`, us),
		"Restart=on-failure", "", "[Install]", "WantedBy=multi-user.target",
	}
}
