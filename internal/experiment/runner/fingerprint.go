package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// bootID returns what names this boot, "" where the system does not say.
func bootID(t host.Tree) string {
	id := t.Text("/proc/sys/kernel/random/boot_id").Or("")
	if id == "" && t.Live() {
		id = proc.Boot()
	}
	return id
}

// readers are how the facts of a fingerprint are read: by few and small files,
// since a guard reads them after every run.
var readers = map[string]func(host.Tree) string{
	"kernel": func(t host.Tree) string {
		return words(t, "/proc/sys/kernel/osrelease", "/proc/sys/kernel/version")
	},
	"microcode": func(t host.Tree) string {
		if v := words(t, "/sys/devices/system/cpu/cpu0/microcode/version"); v != "" {
			return v
		}
		return cpuinfo(t, "microcode") // virtual machines have only this
	},
	"smt":  func(t host.Tree) string { return words(t, "/sys/devices/system/cpu/smt/control") },
	"cpu":  func(t host.Tree) string { return cpuinfo(t, "model name", "cpu model", "CPU part") },
	"cpus": func(t host.Tree) string { return words(t, "/sys/devices/system/cpu/online") },
	"governor": func(t host.Tree) string {
		policies, err := t.Dir("/sys/devices/system/cpu/cpufreq")
		if err != nil {
			return ""
		}
		var all []string
		for _, p := range policies {
			if g := words(t, path.Join("/sys/devices/system/cpu/cpufreq", p, "scaling_governor")); g != "" {
				all = append(all, g)
			}
		}
		slices.Sort(all)
		return strings.Join(slices.Compact(all), ",")
	},
	"clocksource": func(t host.Tree) string {
		return words(t, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
	},
	"virtualization": func(t host.Tree) string {
		return words(t, "/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name")
	},
	"memory": func(t host.Tree) string {
		for line := range strings.Lines(t.Text("/proc/meminfo").Or("")) {
			if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				return strings.TrimSpace(value)
			}
		}
		return ""
	},
	"mounts": mounts,
	"boot":   bootID,
}

// cpuinfo returns the first CPU's value of the first key that /proc/cpuinfo has.
func cpuinfo(t host.Tree, keys ...string) string {
	text := t.Text("/proc/cpuinfo").Or("")
	for _, want := range keys {
		for line := range strings.Lines(text) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == want {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// words joins the texts of files that can be read.
func words(t host.Tree, files ...string) string {
	var out []string
	for _, f := range files {
		if s := t.Text(f).Or(""); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// mounts is a hash of what is mounted from devices and networks, where and how.
// Others come and go with logins and containers.
func mounts(t host.Tree) string {
	var lines []string
	for line := range strings.Lines(t.Text("/proc/self/mounts").Or("")) {
		f := strings.Fields(line)
		if len(f) >= 4 && (strings.HasPrefix(f[0], "/dev/") || strings.Contains(f[0], ":/") || f[2] == "zfs") {
			lines = append(lines, strings.Join(f[:4], " "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return strconv.Itoa(len(lines)) + " from devices, " + hex.EncodeToString(sum[:4])
}

// fingerprint reads facts by their names; those that cannot be read are left out.
func fingerprint(t host.Tree, names []string) map[string]string {
	read := func(name string) string {
		if r := readers[name]; r != nil {
			return r(t)
		}
		return ""
	}
	if runtime.GOOS != "linux" && t.Live() {
		f := host.Collect(context.Background(), host.Options{Tree: t})
		all := map[string]string{"kernel": f.Identity.Kernel.Or(""), "cpu": f.Identity.CPUModel.Or(""),
			"microcode": f.Identity.Microcode.Or(""),
			"cpus":      host.FormatList(f.Topology.Online.Or(nil)), "boot": bootID(t)}
		read = func(name string) string { return all[name] }
	}
	out := map[string]string{}
	for _, name := range names {
		if v := read(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// differences says which facts differ, in the order of names. One that could not be
// read on one side is no difference: permissions are not the environment.
func differences(names []string, then, now map[string]string) (list []string) {
	for _, name := range names {
		a, b := then[name], now[name]
		if a != b && a != "" && b != "" {
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, a, b))
		}
	}
	return list
}
