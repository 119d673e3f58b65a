package host

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

func readIdentity(t Tree) Identity {
	cpu := readCPUInfo(t)
	kernel := readRelease(t)
	id := Identity{
		OS:        readOS(t),
		Kernel:    kernel,
		Arch:      readArch(t, cpu, kernel.Or("")),
		CPUModel:  cpu.model(),
		CPUVendor: cpu.vendor(),
		Microcode: firstKnown(cpu.text("microcode"), notEmpty(t.Text("/sys/devices/system/cpu/cpu0/microcode/version"))),
		Product:   readProduct(t),
		BIOS:      joinFacts(dmi(t, "bios_vendor"), dmi(t, "bios_version"), dmi(t, "bios_date")),
	}
	config := readConfig(t, kernel.Or(""))
	id.ClockTicksHz, id.Preemption = configHz(config), readPreemption(t, config)
	fill(t, "", &id)
	return id
}

func notEmpty(f Fact[string]) Fact[string] {
	if f.State == StateOK && f.Value == "" {
		return absentFact[string](f.Source, "empty")
	}
	return f
}

// readRelease reads the kernel's release, from /proc/version where /proc/sys is
// masked.
func readRelease(t Tree) Fact[string] {
	version := Convert(t.Text("/proc/version"), "", func(s string) (string, error) {
		if f := strings.Fields(s); len(f) > 2 && f[0] == "Linux" && f[1] == "version" {
			return f[2], nil
		}
		return "", fmt.Errorf("expected Linux version ..., found %s", clip(s))
	})
	return firstKnown(notEmpty(t.Text("/proc/sys/kernel/osrelease")), version)
}

// readOS reads PRETTY_NAME. os-release(5): /etc/os-release goes before
// /usr/lib/os-release, and the name is "Linux" where neither sets one.
func readOS(t Tree) Fact[string] {
	var facts []Fact[string]
	for _, p := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		facts = append(facts, Convert(t.Text(p), "", func(s string) (string, error) {
			vars := parseOSRelease(s)
			name := cmp.Or(vars["PRETTY_NAME"], strings.TrimSpace(vars["NAME"]+" "+vars["VERSION"]))
			if name == "" {
				return "", errors.New("neither PRETTY_NAME nor NAME is set")
			}
			return name, nil
		}))
	}
	return firstKnown(facts...)
}

// parseOSRelease reads assignments in the shell's form, as os-release(5) allows
// them: quotes, and backslashes within double quotes, but no expansion.
func parseOSRelease(s string) map[string]string {
	vars := map[string]string{}
	for line := range strings.Lines(s) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || key == "" || key[0] == '#' {
			continue
		}
		vars[key] = unquoteShell(value)
	}
	return vars
}

func unquoteShell(s string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			if c == '\\' && quote != '\'' && i+1 < len(s) {
				i++
				c = s[i]
			}
			if c >= ' ' && c != 0x7f { // goes to a terminal later
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

// readArch gives Go's name of the architecture (amd64, arm64). A recording tells
// it by /proc/sys/kernel/arch (Linux 6.1), the shape of /proc/cpuinfo or the
// ending that distributions give to the kernel's release.
func readArch(t Tree, cpu cpuinfo, release string) Fact[string] {
	names := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64",
		"ppc64le": "ppc64le", "ppc64": "ppc64", "s390x": "s390x", "riscv64": "riscv64", "loongarch64": "loong64"}
	const file = "/proc/sys/kernel/arch"
	machine, ok := t.Text(file).Get()
	if t.Live() {
		return Known(runtime.GOARCH, "", "architecture that hostlab was built for")
	}
	if ok {
		if name := names[machine]; name != "" {
			machine = name
		}
		return Known(machine, "", file)
	}
	if name := cpu.arch(); name != "" {
		return Known(name, "", cpuinfoPath)
	}
	for ending, name := range names {
		if strings.HasSuffix(release, ending) {
			return Known(name, "", "/proc/sys/kernel/osrelease")
		}
	}
	return absentFact[string](file, "nothing in the recording tells the architecture")
}

const dmiDir = "/sys/class/dmi/id/"

func dmi(t Tree, name string) Fact[string] { return notEmpty(t.Text(dmiDir + name)) }

// joinFacts puts those that are known behind each other. The first is left out where the next
// one repeats it, as the product's name does the vendor's.
func joinFacts(facts ...Fact[string]) Fact[string] {
	out := firstKnown(facts...)
	var words, files []string
	for _, f := range facts {
		if f.State != StateOK {
			continue
		}
		if len(words) == 1 && strings.HasPrefix(f.Value, words[0]) {
			words, files, out.Source = nil, nil, f.Source
		}
		words, files = append(words, f.Value), append(files, path.Base(f.Source))
	}
	if out.State == StateOK {
		out.Value = strings.Join(words, " ")
	}
	if len(files) > 1 && strings.HasPrefix(out.Source, "/") {
		out.Source = path.Dir(out.Source) + "/{" + strings.Join(files, ",") + "}"
	}
	return out
}

// readProduct names the machine by DMI, or by the device tree as Arm boards do.
func readProduct(t Tree) Fact[string] {
	product := joinFacts(dmi(t, "sys_vendor"), dmi(t, "product_name"))
	return firstKnown(product, Convert(t.Text("/proc/device-tree/model"), "", func(s string) (string, error) {
		return strings.TrimRight(s, "\x00"), nil
	}))
}

// readConfig reads those lines of the kernel's configuration that facts come from: what the running kernel shows, else
// the file that the distribution put beside it.
func readConfig(t Tree, release string) Fact[string] {
	files := []string{"/proc/config.gz"}
	known := release != "" && !strings.Contains(release, "/")
	if known {
		files = append(files, "/boot/config-"+release, "/lib/modules/"+release+"/config")
	}
	f := first(files, func(file string) Fact[string] { return configLines(t, file) })
	switch {
	case f.State == StateOK && known:
		t.stated("/boot/config-"+release, f.Value) // the whole would be larger than all else
	case f.State == StateAbsent:
		f.Reason = "the kernel's configuration is not to be seen here"
	}
	return f
}

func configLines(t Tree, file string) Fact[string] {
	b, err := t.quiet().Read(file)
	if err != nil {
		return Unknown[string](file, err)
	}
	var r io.Reader = bytes.NewReader(b)
	if path.Ext(file) == ".gz" {
		if r, err = gzip.NewReader(r); err != nil {
			return Unknown[string](file, fmt.Errorf("not a gzip file: %w", err))
		}
	}
	const most = 4 << 20 // kernel configurations have some 300 kB
	text, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return Unknown[string](file, err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "CONFIG_HZ=") || strings.HasPrefix(line, "CONFIG_PREEMPT") {
			lines.WriteString(line)
		}
	}
	return Known(lines.String(), "", file)
}

func configHz(config Fact[string]) Fact[int64] {
	hz := Convert(config, "Hz", func(lines string) (int64, error) {
		v, ok := lineOf(lines, "CONFIG_HZ=")
		if !ok {
			return 0, none("no line CONFIG_HZ=")
		}
		hz, err := strconv.ParseInt(v, 10, 64)
		if err != nil || hz <= 0 {
			return 0, fmt.Errorf("expected a number after CONFIG_HZ=, found %s", clip(v))
		}
		return hz, nil
	})
	if hz.State == StateOK {
		hz.Source += " CONFIG_HZ"
	}
	return hz
}

// preemptions are the kernel's models of preemption, by the word that switches them on (preempt= of the command line;
// kernel/sched/core.c, sched_dynamic_mode, Linux 6.13) and the option of the configuration that makes them the default.
var preemptions = []struct{ word, option string }{{"rt", "CONFIG_PREEMPT_RT"}, {"lazy", "CONFIG_PREEMPT_LAZY"},
	{"none", "CONFIG_PREEMPT_NONE"}, {"voluntary", "CONFIG_PREEMPT_VOLUNTARY"}, {"full", "CONFIG_PREEMPT"}}

// readPreemption reads when the kernel takes a CPU from a program that is within it. Only debugfs shows the model in
// force where it can be chosen at boot; else the command line and the configuration tell it.
func readPreemption(t Tree, config Fact[string]) Fact[string] {
	const file, cmdline = "/sys/kernel/debug/sched/preempt", "/proc/cmdline"
	force := Convert(t.Text(file), "", func(s string) (string, error) {
		for word := range strings.FieldsSeq(s) {
			if active, ok := strings.CutPrefix(word, "("); ok {
				return strings.TrimSuffix(active, ")"), nil
			}
		}
		return "", fmt.Errorf("expected a word in parentheses, found %s", clip(s))
	})
	if force.State == StateOK {
		return force
	}
	facts := []Fact[string]{force}
	if version := t.Text("/proc/version"); strings.Contains(version.Value, "PREEMPT_DYNAMIC") {
		facts = append(facts, Convert(t.Text(cmdline), "", func(s string) (string, error) {
			model := ""
			for word := range strings.FieldsSeq(s) {
				for _, p := range preemptions { // the kernel takes the last that it knows
					if word == "preempt="+p.word {
						model = p.word
					}
				}
			}
			if model == "" {
				return "", none("no preempt=")
			}
			return model, nil
		}))
	}
	return firstKnown(append(facts, Convert(config, "", func(lines string) (string, error) {
		for _, p := range preemptions {
			if _, ok := lineOf(lines, p.option+"=y"); ok {
				return p.word, nil
			}
		}
		return "", none("the configuration names no model of preemption")
	}))...)
}

// MachineHash tells machines apart without giving their ids away: machine-id(5) asks for a keyed hash. The id is read
// past the tree, so that no recording holds it. "" where there is none, as in most containers.
func MachineHash() string {
	id, err := os.ReadFile("/etc/machine-id")
	if id = bytes.TrimSpace(id); err != nil || len(id) < 32 {
		return ""
	}
	keyed := hmac.New(sha256.New, id)
	keyed.Write([]byte("hostlab fleet"))
	return hex.EncodeToString(keyed.Sum(nil)[:16])
}
