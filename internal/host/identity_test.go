package host

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

func TestReadIdentity(t *testing.T) {
	id := readIdentity(tree(t, `-- proc/sys/kernel/hostname --
db1
-- proc/sys/kernel/osrelease --
5.14.0-427.el9.x86_64
-- etc/os-release -> ../usr/lib/os-release --
-- usr/lib/os-release --
NAME="Red Hat Enterprise Linux"
# PRETTY_NAME="no"
PRETTY_NAME="Red Hat \"RHEL\" 9.4"
-- boot/config-5.14.0-427.el9.x86_64 --
# CONFIG_HZ_100 is not set
CONFIG_HZ_1000=y
CONFIG_HZ=1000
-- proc/cpuinfo --
processor	: 0
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz
microcode	: 0xd0003a5
flags		: fpu lm

processor	: 1
model name	: another
-- sys/class/dmi/id/sys_vendor --
HPE
-- sys/class/dmi/id/product_name --
ProLiant DL380 Gen10
-- sys/class/dmi/id/bios_vendor --
HPE
-- sys/class/dmi/id/bios_version --
U30
-- sys/class/dmi/id/bios_date --
!errno EACCES
`))
	want := Identity{
		Hostname:     Known("db1", "", "/proc/sys/kernel/hostname"),
		OS:           Known(`Red Hat "RHEL" 9.4`, "", "/etc/os-release"),
		Kernel:       Known("5.14.0-427.el9.x86_64", "", "/proc/sys/kernel/osrelease"),
		Arch:         Known("amd64", "", "/proc/cpuinfo"),
		CPUModel:     Known("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", "", "/proc/cpuinfo"),
		CPUVendor:    Known("GenuineIntel", "", "/proc/cpuinfo"),
		Microcode:    Known("0xd0003a5", "", "/proc/cpuinfo"),
		Product:      Known("HPE ProLiant DL380 Gen10", "", "/sys/class/dmi/id/{sys_vendor,product_name}"),
		BIOS:         Known("HPE U30", "", "/sys/class/dmi/id/{bios_vendor,bios_version}"),
		ClockTicksHz: Known[int64](1000, "Hz", "/boot/config-5.14.0-427.el9.x86_64 CONFIG_HZ"),
		Preemption:   Fact[string]{Source: "/sys/kernel/debug/sched/preempt", State: StateAbsent, Reason: "no such file or directory"},
	}
	testkit.Same(t, want, id)
}

func TestReadIdentityElsewhere(t *testing.T) {
	id := readIdentity(tree(t, armCPU+"-- proc/version --\nLinux version 6.1.0-28-arm64 (x@y) #1 SMP\n-- proc/sys/kernel/arch --\naarch64\n"+
		"-- sys/devices/system/cpu/x --\n-- etc/os-release --\nNAME=Void\n-- proc/device-tree/model --\nAmpere Altra␀\n"))
	got := []string{id.OS.Value, id.Kernel.Value, id.Arch.Value, id.CPUModel.Value, id.CPUVendor.Value, id.Product.Value,
		string(id.Hostname.State), string(id.Microcode.State), string(id.ClockTicksHz.State)}
	want := []string{"Void", "6.1.0-28-arm64", "arm64", "Neoverse N1", "Arm", "Ampere Altra", "absent", "absent", "absent"}
	testkit.Same(t, want, got)
	empty := readIdentity(tree(t, "-- proc/sys/x --\n-- sys/x --\n"))
	for _, f := range []Fact[string]{empty.Hostname, empty.OS, empty.Kernel, empty.Arch, empty.CPUModel, empty.Product, empty.BIOS} {
		if f.State != StateAbsent || f.Source == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestProcessorModels(t *testing.T) {
	for _, c := range []struct{ cpuinfo, model, vendor, arch string }{
		{"system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\nCPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3C6000/D\n\nprocessor : 1\nModel Name: x\n",
			"Loongson-3C6000/D", "Loongson-64bit", "loong64"},
		{"processor\t: 0\nhart\t\t: 2\nisa\t\t: rv64imafdc_zicntr\nuarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\n", "sifive,u74-mc", "0x489", "riscv64"},
		{"processor\t: 0\nisa\t\t: rv64imafdc\n", "absent", "absent", "riscv64"},
		{"processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\nrevision\t: 2.2 (pvr 004e 0202)\n", "POWER9", "absent", "absent"},
		{"processor\t: 0\ncpu\t\t: POWER8E, altivec supported\n", "POWER8E", "absent", "absent"},
		{"vendor_id       : IBM/S390\n# processors    : 4\nprocessor 0: version = 00,  identification = 0A1234,  machine = 3931\n\ncpu number : 0\n",
			"IBM z16 (machine type 3931)", "IBM/S390", "s390x"},
		{"vendor_id       : IBM/S390\nprocessor 0: version = FF,  identification = 0A1234,  machine = 9999\n", "IBM (machine type 9999)", "IBM/S390", "s390x"},
	} {
		id := readIdentity(tree(t, "-- proc/cpuinfo --\n"+c.cpuinfo))
		got := []string{id.CPUModel.Or(string(id.CPUModel.State)), id.CPUVendor.Or(string(id.CPUVendor.State)), id.Arch.Or(string(id.Arch.State))}
		testkit.Same(t, []string{c.model, c.vendor, c.arch}, got, c.cpuinfo)
	}
}

func TestConfigOfTheRunningKernel(t *testing.T) {
	tr := tree(t, "-- proc/x --\n")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(strings.Repeat("# CONFIG_X is not set\n", 5000) + "CONFIG_HZ=250\n"))
	testkit.OK(t, errors.Join(err, z.Close()))
	file := filepath.Join(tr.Root, "proc/config.gz")
	testkit.OK(t, os.WriteFile(file, b.Bytes(), 0o644))
	if f := configHz(readConfig(tr, "6.1")); f.Value != 250 || f.Unit != "Hz" {
		t.Errorf("%+v", f)
	}
	testkit.OK(t, os.WriteFile(file, []byte("garbage"), 0o644))
	if f := configHz(readConfig(tr, "6.1")); f.State != StateError || !strings.Contains(f.Reason, "not a gzip file") {
		t.Errorf("%+v", f)
	}
}

func TestPreemption(t *testing.T) {
	const dynamic = "-- proc/version --\nLinux version 6.18.5 (x) #1 SMP PREEMPT_DYNAMIC y\n"
	for archive, want := range map[string]string{
		"-- sys/kernel/debug/sched/preempt --\nnone voluntary (full) lazy\n-- boot/config-6.1 --\nCONFIG_PREEMPT_NONE=y\n":                "full",
		dynamic + "-- proc/cmdline --\npreempt=full quiet preempt=lazy preempt=nosuch ro\n-- boot/config-6.1 --\nCONFIG_PREEMPT_NONE=y\n": "lazy",
		dynamic + "-- proc/cmdline --\nquiet ro\n-- boot/config-6.1 --\nCONFIG_PREEMPT_VOLUNTARY=y\n":                                     "voluntary",
		// The option is for kernels that can choose.
		"-- proc/cmdline --\npreempt=none\n-- boot/config-6.1 --\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT=y\n": "rt",
		"-- boot/config-6.1 --\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT=y\n":                      "full",
		dynamic + "-- proc/cmdline --\nquiet ro\n":                                                         "",
		"-- sys/kernel/debug/sched/preempt --\nnone full\n":                                                "",
	} {
		tr := tree(t, archive)
		f := readPreemption(tr, readConfig(tr, "6.1"))
		if f.Value != want || (f.State == StateOK) != (want != "") {
			t.Errorf("%q: %+v, want %q", archive, f, want)
		}
	}
}

// Whatever a name holds, quoting it as a shell does and reading it gives it back.
func TestUnquoteShell(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		s := rapid.StringMatching(`[ -~äß€]*`).Draw(t, "s")
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(s) + `"`
		if got := unquoteShell(quoted); got != s {
			t.Errorf("%s gives %q, want %q", quoted, got, s)
		}
	})
}

func FuzzOSRelease(f *testing.F) {
	f.Add("PRETTY_NAME=\"Debian \\\"12\\\"\"\nNAME='x'\n")
	f.Add("=\n\\\n\"")
	f.Fuzz(func(t *testing.T, s string) {
		for k, v := range parseOSRelease(s) {
			if k == "" || strings.ContainsAny(v, "\n\x1b\x00") {
				t.Errorf("%q = %q", k, v)
			}
		}
	})
}

func FuzzCPUInfo(f *testing.F) {
	f.Add([]byte("processor\t: 0\nflags\t: a b\n\nprocessor\t: 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := parseCPUInfo(b)
		c.model()
		c.vendor()
		if c.err == nil && len(c.fields) == 0 {
			t.Error("nothing, without an error")
		}
	})
}
