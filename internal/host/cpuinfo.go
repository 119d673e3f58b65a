package host

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
)

const cpuinfoPath = "/proc/cpuinfo"

// cpuinfoHead is more than one block of /proc/cpuinfo takes: the longest seen,
// on Sapphire Rapids, has 3 kB.
const cpuinfoHead = 12 << 10

// cpuinfo holds the first processor's block of /proc/cpuinfo. prometheus/procfs
// would parse the blocks of all CPUs, in the form of the architecture that it
// was compiled for; a recording may come from another one.
type cpuinfo struct {
	fields map[string]string // by the kernel's own names, without the padding
	err    error
}

func readCPUInfo(t Tree) cpuinfo {
	b, err := t.head(cpuinfoPath, cpuinfoHead)
	if err != nil {
		return cpuinfo{err: err}
	}
	return parseCPUInfo(b)
}

// parseCPUInfo reads up to the end of the block of the first processor. LoongArch and others describe the system
// before it.
func parseCPUInfo(b []byte) cpuinfo {
	c := cpuinfo{fields: map[string]string{}}
	processor := false
	for line := range bytes.Lines(b) {
		key, value, ok := strings.Cut(string(line), ":")
		key = strings.TrimSpace(key)
		if !ok {
			if processor && key == "" {
				break
			}
			continue
		}
		processor = processor || strings.HasPrefix(strings.ToLower(key), "processor")
		if key != "" {
			if _, twice := c.fields[key]; !twice {
				c.fields[key] = strings.TrimSpace(value)
			}
		}
	}
	if len(c.fields) == 0 {
		c.err = errors.New("no line with a name and a value")
	}
	return c
}

// text returns the first of some fields that has a value.
func (c cpuinfo) text(keys ...string) Fact[string] {
	if c.err != nil {
		return Unknown[string](cpuinfoPath, c.err)
	}
	for _, k := range keys {
		if v := c.fields[k]; v != "" {
			return Known(v, "", cpuinfoPath)
		}
	}
	return absentFact[string](cpuinfoPath, "no line "+strings.Join(keys, " or "))
}

// arch tells the architecture by the shape of the block; "" if it does not.
func (c cpuinfo) arch() string {
	switch {
	case c.fields["vendor_id"] != "" && c.has("lm"):
		return "amd64"
	case c.fields["CPU implementer"] != "" && c.fields["CPU architecture"] == "8":
		return "arm64"
	case c.fields["vendor_id"] == "IBM/S390":
		return "s390x"
	case c.fields["CPU Family"] == "Loongson-64bit":
		return "loong64"
	case strings.HasPrefix(c.fields["isa"], "rv64"):
		return "riscv64"
	}
	return ""
}

func (c cpuinfo) has(flag string) bool {
	return slices.Contains(strings.Fields(c.fields["flags"]), flag)
}

// Arm processors have no name in /proc/cpuinfo, only the numbers of MIDR_EL1.
// Those of servers are named here, after arch/arm64/include/asm/cputype.h of
// Linux 6.12.
var (
	armVendors = map[string]string{
		"0x41": "Arm", "0x42": "Broadcom", "0x43": "Cavium", "0x46": "Fujitsu", "0x48": "HiSilicon",
		"0x4e": "NVIDIA", "0x50": "Applied Micro", "0x51": "Qualcomm", "0x61": "Apple", "0x6d": "Microsoft",
		"0xc0": "Ampere",
	}
	armParts = map[string]string{
		"0x41/0xd03": "Cortex-A53", "0x41/0xd05": "Cortex-A55", "0x41/0xd07": "Cortex-A57", "0x41/0xd08": "Cortex-A72",
		"0x41/0xd0b": "Cortex-A76", "0x41/0xd0c": "Neoverse N1", "0x41/0xd40": "Neoverse V1", "0x41/0xd49": "Neoverse N2",
		"0x41/0xd4a": "Neoverse E1", "0x41/0xd4f": "Neoverse V2", "0x41/0xd83": "Neoverse V3AE",
		"0x41/0xd84": "Neoverse V3", "0x41/0xd8e": "Neoverse N3", "0x43/0x0af": "ThunderX2", "0x46/0x001": "A64FX",
		"0x48/0xd01": "Kunpeng 920", "0x48/0xd02": "Kunpeng 920B", "0x50/0x000": "X-Gene", "0x6d/0xd49": "Azure Cobalt 100",
		"0xc0/0xac3": "Ampere-1", "0xc0/0xac4": "Ampere-1A", "0xc0/0xac5": "Ampere-1B",
	}
)

// Machine types of IBM Z by their names, after arch/s390/include/asm/elf.h of Linux 6.12 and IBM's announcements.
var (
	mainframes = map[string]string{
		"2097": "z10 EC", "2098": "z10 BC", "2817": "z196", "2818": "z114", "2827": "zEC12", "2828": "zBC12", "2964": "z13",
		"2965": "z13s",
		"3906": "z14", "3907": "z14 ZR1", "8561": "z15", "8562": "z15 T02", "3931": "z16", "3932": "z16 A02", "9175": "z17",
	}
	machineType = lazyre.New(`machine = (\w+)`)
)

func (c cpuinfo) model() Fact[string] {
	impl, part := c.fields["CPU implementer"], c.fields["CPU part"]
	// LoongArch, RISC-V and Power have words of their own; of Power's, "POWER9 (architected), altivec supported", the
	// first is the processor's.
	name := c.text("model name", "Processor", "cpu model", "Model Name", "uarch", "cpu")
	if c.fields["cpu"] != "" && name.Value == c.fields["cpu"] {
		name.Value = strings.TrimSpace(name.Value[:strings.IndexAny(name.Value+"(", "(,")])
	}
	if m := machineType.FindStringSubmatch(c.fields["processor 0"]); m != nil {
		name = Known(strings.Join(strings.Fields("IBM "+mainframes[m[1]]+" (machine type "+m[1]+")"), " "), "", cpuinfoPath)
	}
	if name.State == StateOK || impl == "" {
		return name
	}
	if name := armParts[impl+"/"+part]; name != "" {
		return Known(name, "", cpuinfoPath+" CPU implementer and part")
	}
	return Known("Arm implementer "+impl+" part "+part, "", cpuinfoPath)
}

func (c cpuinfo) vendor() Fact[string] {
	if name := armVendors[c.fields["CPU implementer"]]; name != "" {
		return Known(name, "", cpuinfoPath+" CPU implementer")
	}
	return c.text("vendor_id", "CPU implementer", "CPU Family", "mvendorid")
}
