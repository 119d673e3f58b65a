package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
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

const cpuDir = "/sys/devices/system/cpu/"

// holding are the files that facts of a fingerprint are read from: few and small ones, since a guard reads them after
// every run.
var holding = map[string][]string{
	"kernel":         {"/proc/sys/kernel/osrelease", "/proc/sys/kernel/version"},
	"smt":            {cpuDir + "smt/control"},
	"cpus":           {cpuDir + "online"},
	"clocksource":    {"/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	"virtualization": {"/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"},
}

// fact reads one of a fingerprint; "": not known.
func fact(t host.Tree, name string) string {
	switch name {
	case "microcode": // virtual machines have only the second
		return cmp.Or(words(t, cpuDir+"cpu0/microcode/version"), valueIn(t, "/proc/cpuinfo", "microcode"))
	case "cpu":
		return valueIn(t, "/proc/cpuinfo", "model name", "cpu model", "CPU part")
	case "memory":
		return valueIn(t, "/proc/meminfo", "MemTotal")
	case "governor":
		var all []string
		policies, _ := t.Dir(cpuDir + "cpufreq")
		for _, p := range policies {
			all = append(all, strings.Fields(words(t, path.Join(cpuDir, "cpufreq", p, "scaling_governor")))...)
		}
		slices.Sort(all)
		return strings.Join(slices.Compact(all), ",")
	case "mounts":
		return mounts(t)
	case "boot":
		return bootID(t)
	}
	return words(t, holding[name]...)
}

// valueIn returns the first value of the first key that a file of keys and values has.
func valueIn(t host.Tree, file string, keys ...string) string {
	text := t.Text(file).Or("")
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
	read := func(name string) string { return fact(t, name) }
	if t.Foreign() {
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
