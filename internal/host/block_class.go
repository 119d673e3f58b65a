package host

import (
	"fmt"
	"slices"
	"strings"
)

// slowest orders the classes by what a durable write to them takes, slowest
// first. A write to a mirror or stripe has ended when its slowest part has, so
// the first of these among the disks of a stack is the stack's class. "virtual"
// hides what it is, and stands before everything local that is known.
var slowest = []string{ClassNetwork, ClassDisk, ClassVirtual, ClassSSD, ClassNVMe, ClassPmem, ClassMemory}

// stackClass returns the class that decides; "" if one of the parts is unknown,
// since that one might be slower than the rest.
func stackClass(classes []string) string {
	for _, c := range slowest {
		if slices.Contains(classes, c) && (c == ClassNetwork || !slices.Contains(classes, "")) {
			return c
		}
	}
	return ""
}

// class tells the class of one disk; "" for stacked devices (dm, md, loop) and for what sysfs does not tell. why says
// then what would.
func (b block) class(name string) (class, why string) {
	kind, class, _ := kindOf(name)
	switch why = "/sys does not tell what " + name + " is"; {
	case class == ClassPmem && strings.Contains(b.where(name), "/e820_pmem"): // neither ACPI nor a device tree describes it
		return "", "it may be ordinary memory that memmap= on the kernel's command line gives to " + name +
			"; dmidecode -t memory lists non-volatile modules"
	case class != "":
	case kind == "nvme":
		class = b.nvmeClass(name)
		why = "/sys does not tell whether " + name +
			" is flash of this machine or a volume of its cloud; nvme list shows its maker"
	case kind == "scsi":
		class = b.scsiClass(name)
	case kind == "block" && b.onBus(name):
		class = b.byRotation(name)
	case kind == "drbd":
		return b.drbdClass(name)
	case tells[kind] != "":
		why = fmt.Sprintf(tells[kind], name)
	}
	return class, why
}

// tells says of kinds of disks that are no hardware of this machine who knows what is behind them. Their rotational
// flag is what their driver chose.
var tells = map[string]string{
	"zvol":  "ZFS makes %s and does not show its disks in /sys; zpool status lists them",
	"nbd":   "a program serves %s, on this host or on another; its arguments tell (pgrep -af nbd)",
	"ublk":  "a program serves %s; ublk list names it",
	"dasd":  "the storage server decides what is behind %s; lsdasd -l tells of its volumes",
	"block": "%s has no hardware of its own in /sys; its maker's tool tells what is behind it",
}

// buses begin the paths of hardware in /sys/devices. What is elsewhere there was made by software: virtual, pseudo_0 of
// scsi_debug, tcm_loop_0 of LIO.
var buses = []string{"pci", "platform/", "LNXSYSTM", "soc", "css", "vio/", "xen", "vbd-", "ocp", "amba", "mmc", "usb",
	"acpi"}

// onBus reports whether hardware is behind a disk: it has a device, on a bus.
func (b block) onBus(name string) bool {
	_, path, ok := strings.Cut(b.where(name), "devices/")
	return ok && b.t.Exists(b.dir(name)+"/device") &&
		slices.ContainsFunc(buses, func(bus string) bool { return strings.HasPrefix(path, bus) })
}

// drbdClass tells whether a write to a replicated disk waits for the network, as version 8 says in /proc/drbd: "0:
// cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----". Protocols C and B do, A does not.
func (b block) drbdClass(name string) (class, why string) {
	for line := range strings.Lines(b.t.Text("/proc/drbd").Or("")) {
		if w := strings.Fields(line); len(w) > 4 && w[0] == strings.TrimPrefix(name, "drbd")+":" {
			switch w[4] {
			case "C", "B":
				return ClassNetwork, ""
			case "A":
				return "", ""
			}
		}
	}
	return "", "whether writes to " + name +
		" wait for its peer is not to be seen; drbdsetup status and the protocol of the resource tell"
}

// volumes are the models by which hypervisors and clouds show volumes of theirs
// as if they were disks. The rotational flag of such a disk proves nothing.
// Local flash that a cloud passes through has other names ("Amazon EC2 NVMe
// Instance Storage", "nvme_card", "Microsoft NVMe Direct Disk").
var volumes = []string{
	"Amazon Elastic Block Store", "nvme_card-pd", "Google PersistentDisk", "MSFT NVMe Accelerator", "QEMU", "VBOX",
	"ORCL-VBOX", "VMware", "Msft Virtual Disk", "NUTANIX VDISK", "XENSRC PVDISK", "Virtual disk", "VirtualDisk", "BHYVE",
	"Parallels", "virtio", "Alibaba Cloud Elastic Block",
}

// flashDrives are how models of NVMe drives begin, and those of local flash that clouds pass through. In a guest a
// drive of another name may be a volume of a cloud that hostlab does not know.
var flashDrives = []string{
	"Amazon EC2 NVMe Instance Storage", "nvme_card", "Microsoft NVMe Direct Disk", "SAMSUNG", "MZ", "INTEL", "SSDP",
	"SOLIDIGM", "KIOXIA",
	"TOSHIBA", "KCD", "KXG", "WDC", "WD", "WUS", "HGST", "SanDisk", "Micron", "MTFD", "CT", "SK hynix", "SKHynix", "HFS",
	"Seagate", "KINGSTON",
	"Dell", "HPE", "Lenovo", "HUAWEI HWE", "HWE", "Memblaze", "ScaleFlux", "DAPUSTOR", "APPLE SSD", "ADATA",
}

func isVolume(model string) bool { return beginsAs(model, volumes) }

// beginsAs reports whether a model begins as one of a list, in any case.
func beginsAs(model string, list []string) bool {
	return slices.ContainsFunc(list, func(v string) bool {
		return len(model) >= len(v) && strings.EqualFold(model[:len(v)], v)
	})
}

// nvmeClass looks at the model and at the transport. A namespace with several
// paths belongs to a subsystem, whose controllers have the transports.
func (b block) nvmeClass(name string) string {
	if isVolume(b.model(name).Or("")) {
		return ClassVirtual
	}
	dev := b.dir(name) + "/device"
	transports := []string{b.t.Text(dev + "/transport").Or("")}
	if transports[0] == "" {
		entries, _ := b.t.Dir(dev)
		for _, e := range entries {
			if n, ok := strings.CutPrefix(e, "nvme"); ok && isNumber(n) {
				transports = append(transports, b.t.Text(dev+"/"+e+"/transport").Or(""))
			}
		}
	}
	class := ""
	for _, tr := range transports {
		switch tr {
		case "tcp", "rdma", "fc":
			return ClassNetwork
		case "pcie", "apple-nvme":
			class = ClassNVMe
		}
	}
	if slices.Equal(transports, []string{""}) && b.onBus(name) { // before Linux 4.8, which had no other than PCIe
		class = ClassNVMe
	}
	if model, known := b.model(name).Get(); class == ClassNVMe && known && !beginsAs(model, flashDrives) && guest(b.t) {
		return ""
	}
	return class
}

// guest reports a machine of which it is known that a hypervisor is below.
func guest(t Tree) bool {
	hypervisor, known := readHypervisor(t).Get()
	return known && hypervisor != "none"
}

// scsiClass tells disks behind a fabric (iSCSI, Fibre Channel) from local ones:
// a commit there ends in the storage array, whatever the LUN says it is.
func (b block) scsiClass(name string) string {
	where := b.where(name) + "/"
	switch {
	case isVolume(b.model(name).Or("")):
		return ClassVirtual
	case strings.Contains(where, "/session"), strings.Contains(where, "/rport-"):
		return ClassNetwork
	case strings.Contains(where, "/vmbus"), strings.Contains(where, "VMBUS"), strings.Contains(where, "/virtio"):
		return ClassVirtual
	case strings.Contains(where, "/vio/"): // PowerVM's: its I/O server decides
		return ClassVirtual
	case !b.onBus(name):
		return ""
	}
	return b.byRotation(name)
}

func (b block) byRotation(name string) string {
	rotating, ok := b.t.Bool(b.dir(name) + "/queue/rotational").Get()
	switch {
	case !ok:
		return ""
	case rotating:
		return ClassDisk
	}
	return ClassSSD
}
