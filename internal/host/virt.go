package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

func readVirt(t Tree) Virt {
	return Virt{
		Hypervisor: readHypervisor(t),
		Container:  readContainer(t),
		Steal:      readSteal(t),
	}
}

// Technology is the hypervisor without what is known of the product around it:
// "kvm" of "kvm (Amazon EC2)". ok is false where it is not known.
func (v Virt) Technology() (name string, ok bool) {
	h, ok := v.Hypervisor.Get()
	name, _, _ = strings.Cut(h, " (")
	return name, ok
}

// vendors maps what DMI says of a guest to its hypervisor. The first row that
// fits counts. Both texts are prefixes. Where certain is false, the vendor also
// sells hardware, and the processor's hypervisor flag must agree.
var vendors = []struct {
	vendor, product string
	hypervisor      string
	certain         bool
}{
	{"VMware", "", "vmware", true},
	{"innotek", "VirtualBox", "virtualbox", true},
	{"Oracle", "VirtualBox", "virtualbox", true},
	{"Parallels", "", "parallels", true},
	{"Xen", "", "xen", true},
	{"", "HVM domU", "xen", true},
	{"BHYVE", "", "bhyve", true},
	{"", "BHYVE", "bhyve", true},
	{"Apple", "Apple Virtualization", "apple", true},
	{"Bochs", "", "bochs", true},
	{"QEMU", "", "qemu", true}, // kvm where the clock says so, see below
	{"Red Hat", "KVM", "kvm", true},
	{"Red Hat", "RHEV", "kvm", true},
	{"oVirt", "", "kvm", true},
	{"OpenStack", "", "kvm", true},
	{"RDO", "OpenStack", "kvm", true},
	{"", "OpenStack", "kvm", true},
	{"Nutanix", "AHV", "kvm", true},
	{"KVM", "", "kvm", true},
	{"", "KVM", "kvm", true},
	{"Google", "Google Compute Engine", "kvm (Google Cloud)", false},
	{"Amazon EC2", "", "kvm (Amazon EC2)", false},
	{"Alibaba Cloud", "", "kvm (Alibaba Cloud)", false},
	{"Tencent Cloud", "", "kvm (Tencent Cloud)", false},
	{"Huawei Cloud", "", "kvm (Huawei Cloud)", false},
	{"DigitalOcean", "", "kvm (DigitalOcean)", false},
	{"Hetzner", "", "kvm (Hetzner)", false},
	{"Akamai", "", "kvm (Akamai)", false},
	{"Linode", "", "kvm (Akamai)", false},
	{"Scaleway", "", "kvm (Scaleway)", false},
	{"Vultr", "", "kvm (Vultr)", false},
	{"UpCloud", "", "kvm (UpCloud)", false},
	{"Exoscale", "", "kvm (Exoscale)", false},
	{"Microsoft", "Virtual Machine", "hyper-v", true},
}

// azureTag is the chassis asset tag of each Azure guest (Microsoft's cloud-init
// data source looks for it, too).
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// dmiHypervisor returns the hypervisor that DMI names, and whether that alone
// proves a guest. Its state is "" where DMI names none.
func dmiHypervisor(t Tree) (name Fact[string], certain bool) {
	name, certain = vendorHypervisor(dmi(t, "sys_vendor"), dmi(t, "product_name"))
	if name.State != StateOK {
		return name, false
	}
	switch tag := dmi(t.keeping(knownTag), "chassis_asset_tag"); tag.Or("") {
	case azureTag:
		return Known("hyper-v (Azure)", "", tag.Source), true
	case "OracleCloud.com":
		return Known("kvm (Oracle Cloud)", "", tag.Source), true
	}
	return name, certain
}

// vendorHypervisor looks up what a machine is called. Its state is "" for those that are
// none of a hypervisor's.
func vendorHypervisor(vendor, product Fact[string]) (name Fact[string], certain bool) {
	for _, v := range vendors {
		if !strings.HasPrefix(vendor.Or(""), v.vendor) || !strings.HasPrefix(product.Or(""), v.product) {
			continue
		}
		source := vendor.Source
		if v.product != "" {
			source = product.Source
		}
		if v.hypervisor == "kvm (Amazon EC2)" && strings.Contains(product.Or(""), ".metal") {
			return Fact[string]{}, false // the customer has the whole machine
		}
		return Known(v.hypervisor, "", source), v.certain
	}
	return Fact[string]{}, false
}

// readHypervisor puts the witnesses in the order of what they prove: Xen's own
// file; DMI names that only guests have; the processor's hypervisor flag, with
// DMI, ACPI or the clocks for a name; where processors have no flag, what a mainframe
// lists, the device tree, and who made the machine.
func readHypervisor(t Tree) Fact[string] {
	const xen = "/sys/hypervisor/type"
	if kind, ok := notEmpty(t.Text(xen)).Get(); ok {
		if strings.Contains(t.Text("/proc/xen/capabilities").Or(""), "control_d") {
			kind += " (control domain)"
		}
		return Known(kind, "", xen)
	}
	name, certain := dmiHypervisor(t)
	clocks := t.Text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
	if name.Value == "qemu" && strings.Contains(clocks.Or(""), "kvm-clock") {
		return Known("kvm", "", name.Source+" and "+clocks.Source)
	}
	if certain {
		return name
	}
	cpu := readCPUInfo(t)
	switch {
	case cpu.has("hypervisor"):
		flag := cpuinfoPath + " flag hypervisor"
		if name.State == StateOK {
			return name.from(name.Source + " and " + flag)
		}
		return nameByClock(t, clocks, flag)
	case cpu.fields["vendor_id"] == "User Mode Linux":
		return Known("user-mode Linux", "", cpuinfoPath)
	case cpu.fields["flags"] != "": // which x86 alone has
		return Known("none", "", cpuinfoPath+": no flag hypervisor")
	case name.State == StateOK: // Arm in a cloud
		return name
	}
	if f := firstKnown(mainframe(t), treeHypervisor(t)); f.State == StateOK {
		return f
	}
	if cpu.err != nil {
		return Unknown[string](cpuinfoPath, cpu.err)
	}
	return makerOrGuest(t)
}

// makers begin the names of those whose machines are no guests. Of any other name DMI does not tell whether it is a
// maker's or a hypervisor's.
var makers = []string{"Dell", "HP", "Hewlett", "Lenovo", "Supermicro", "GIGABYTE", "Giga Computing", "FUJITSU",
	"Fujitsu", "HUAWEI", "Huawei",
	"Inspur", "IEIT", "H3C", "New H3C", "xFusion", "Sugon", "ASRock", "ASUS", "Ampere", "Cavium", "Marvell", "Foxconn",
	"Quanta", "Wiwynn",
	"Cisco", "IBM", "Intel", "NVIDIA", "Apple", "LENOVO", "Loongson", "SiFive", "Raspberry Pi"}

// makerOrGuest decides by who made the machine, where no processor's flag does.
func makerOrGuest(t Tree) Fact[string] {
	vendor := dmi(t, "sys_vendor")
	name, known := vendor.Get()
	metal := strings.Contains(dmi(t, "product_name").Or(""), ".metal") // of AWS, whose customer has the whole machine
	switch {
	case !known:
		return absentFact[string](cpuinfoPath,
			"this architecture has no hypervisor flag, and neither DMI nor a device tree tells")
	case metal || slices.ContainsFunc(makers, func(m string) bool { return strings.HasPrefix(name, m) }):
		return Known("none", "", fmt.Sprintf("%ssys_vendor: %s makes machines", dmiDir, clip(name)))
	}
	return Unknown[string](dmiDir+"sys_vendor",
		fmt.Errorf("this architecture has no hypervisor flag, and %s may be a maker's name or a "+
			"hypervisor's: systemd-detect-virt may know it", clip(name)))
}

const sysinfoPath = "/proc/sysinfo"

// sysinfoLines leaves of a mainframe's description what is read. Others hold serial numbers and names of guests.
var sysinfoLines = matching(lazyre.New(`(?m)^(Type|LPAR Number|VM\d\d Control Program):.*$`))

// mainframe reads the hypervisors of an IBM Z as it lists them: VM00 is the one right below, VM01 the one below that,
// and so on down to the firmware's partitions.
func mainframe(t Tree) Fact[string] {
	text := t.keeping(sysinfoLines).Text(sysinfoPath)
	for level := range 100 {
		program, ok := lineOf(text.Or(""), fmt.Sprintf("VM%02d Control Program:", level))
		switch {
		case !ok:
			continue
		case strings.HasPrefix(program, "KVM"):
			program = "kvm"
		case strings.HasPrefix(program, "z/VM"):
			program = "z/VM"
		}
		return Known(program, "", fmt.Sprintf("%s VM%02d Control Program", sysinfoPath, level))
	}
	if _, ok := lineOf(text.Or(""), "LPAR Number:"); ok {
		return Known("PR/SM", "", sysinfoPath+" LPAR Number")
	}
	return Fact[string]{}
}

// nameByClock names a hypervisor that hides its DMI by what it offers as clock,
// and Firecracker by the maker of its ACPI tables, which only root can read.
func nameByClock(t Tree, clocks Fact[string], flag string) Fact[string] {
	const facp = "/sys/firmware/acpi/tables/FACP"
	if b, err := t.keeping(makerOf).Read(facp); err == nil && len(b) >= 16 && string(b[10:16]) == "FIRECK" {
		return Known("kvm (Firecracker)", "", facp+" and "+flag)
	}
	for _, c := range []struct{ clock, name string }{
		{"kvm-clock", "kvm"}, {"hyperv_clocksource", "hyper-v"}, {"xen", "xen"},
	} {
		if strings.Contains(clocks.Or(""), c.clock) {
			return Known(c.name, "", clocks.Source+" and "+flag)
		}
	}
	return Known(unknownHypervisor, "", flag)
}

const unknownHypervisor = "unknown hypervisor"

// boards begin what device trees call machines that hypervisors make up, and those of which the name alone says that
// nothing is below. Any other is that of a board with its maker's name.
var boards = []struct{ word, hypervisor string }{
	{"linux,dummy-virt", "kvm"}, // of QEMU, kvmtool and Firecracker on Arm
	{"qemu,", "qemu"}, {"riscv-virtio", "qemu"}, {"xen,", "xen"}, {"ibm,powernv", "none"},
	{"linux,dummy", unknownHypervisor}, {"-virtio", unknownHypervisor},
}

// treeHypervisor reads what a device tree says of the machine: hypervisors that have an interface describe it, the
// board may be one that a hypervisor makes up, and PowerVM names its partitions.
func treeHypervisor(t Tree) Fact[string] {
	for _, dir := range []string{"/proc/device-tree/", "/sys/firmware/devicetree/base/"} {
		own, board := notEmpty(t.Text(dir+"hypervisor/compatible")), notEmpty(t.Text(dir+"compatible"))
		for _, c := range []struct{ word, name string }{{"linux,kvm", "kvm"}, {"xen,xen", "xen"}, {"vmware", "vmware"}} {
			if strings.Contains(own.Or(""), c.word) {
				return Known(c.name, "", own.Source)
			}
		}
		if own.State == StateOK {
			return Known(unknownHypervisor, "", own.Source)
		}
		for _, b := range boards {
			if strings.Contains(board.Or(""), b.word) {
				return Known(b.hypervisor, "", board.Source)
			}
		}
		for _, partition := range []string{dir + "ibm,partition-name", "/proc/ppc64/lparcfg"} {
			if board.State == StateOK && t.Exists(partition) {
				return Known("PowerVM", "", partition)
			}
		}
		// A machine's own firmware is called by smc, a hypervisor by hvc (Devicetree binding arm/psci.yaml).
		if call := t.Text(dir + "psci/method"); strings.HasPrefix(call.Or(""), "hvc") {
			return Known(unknownHypervisor, "", call.Source)
		}
		if board.State == StateOK {
			return Known("none", "", board.Source)
		}
	}
	return Fact[string]{}
}

// readSteal reads the share of all CPU time since boot that the hypervisor gave
// to others. Only the first line of /proc/stat is needed; with many CPUs and
// interrupts the rest is most of the work of a parser.
func readSteal(t Tree) Fact[float64] {
	const file = "/proc/stat"
	b, err := t.head(file, 1024)
	if err != nil {
		return Unknown[float64](file, err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	share, err := parseSteal(line)
	if err != nil {
		return Unknown[float64](file, err)
	}
	return Known(share, "", file+" steal")
}

// parseSteal reads "cpu user nice system idle iowait irq softirq steal guest
// guest_nice" in ticks; guest times are part of user and nice already.
func parseSteal(line string) (float64, error) {
	const words, steal = 9, 8
	f := strings.Fields(line)
	if len(f) < words || f[0] != "cpu" {
		return 0, fmt.Errorf("expected cpu and eight numbers, found %s", clip(line))
	}
	var sum, stolen float64
	for i := 1; i < words; i++ {
		v, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("expected cpu and eight numbers, found %s", clip(line))
		}
		sum += float64(v)
		if i == steal {
			stolen = float64(v)
		}
	}
	if sum == 0 {
		return 0, errors.New("no CPU time is accounted")
	}
	return stolen / sum, nil
}
