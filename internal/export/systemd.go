package export

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// systemd writes what a host with systemd alone applies at boot: sysctl.d(5), tmpfiles.d(5),
// udev rules for disks, which may come later, and a unit that holds a latency limit.
func systemd(title string, items []item) Profile {
	var kernel, tmpfiles, udev []string
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
			case p.sysctl != "":
				kernel = append(kernel, p.sysctl+" = "+p.value)
			case strings.HasPrefix(p.file, "/sys/block/"):
				udev = append(udev, udevRule(i))
			default: // a line that writes to what is there, and is silent where there is none
				tmpfiles = append(tmpfiles, "w- "+p.file+" - - - - "+p.value)
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
	if hold != "" {
		service = unit(hold)
	}
	add("systemd/system/hostlab-latency.service", "At once: systemctl daemon-reload && systemctl enable --now hostlab-latency", service)
	return p
}

func udevRule(i item) string {
	which := `KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*|dm-*|md*"`
	switch {
	case i.Object != "":
		which = `KERNEL=="` + i.Object + `"`
	case i.s.Stacked: // of a stack the top decides
		which = `KERNEL!="loop*|ram*|zram*|sr*|fd*|nbd*|pmem*"`
	}
	return fmt.Sprintf(`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", %s, ATTR{queue/%s}="%s"`, which, path.Base(i.s.File), i.Value)
}

// unit holds /dev/cpu_dma_latency open. Of text the kernel takes hexadecimal digits, and of
// four bytes a binary number (kernel/power/qos.c), hence ten characters.
func unit(latency string) []string {
	us, _ := strconv.Atoi(latency)
	return []string{
		"[Unit]", fmt.Sprintf("Description=Keep CPUs out of idle states that take over %d us to leave", us), "",
		"[Service]", fmt.Sprintf(`ExecStart=/bin/sh -c "exec 3>/dev/cpu_dma_latency; printf 0x%08x >&3; exec sleep infinity"`, us),
		"Restart=on-failure", "", "[Install]", "WantedBy=multi-user.target",
	}
}
