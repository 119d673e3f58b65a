package host

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// block finds block devices in sysfs by their kernel names.
type block struct{ t Tree }

// allBlock has a link of each disk and each partition.
const allBlock = "/sys/class/block/"

// dir returns the directory of a device or partition; "" if there is none.
func (b block) dir(name string) string {
	if name == "" || strings.Contains(name, "/") || !b.t.Exists(allBlock+name) {
		return ""
	}
	return allBlock + name
}

// where returns the path of the hardware behind a disk, as the kernel's device
// tree has it: its parts name the transport (session1, rport-0:0-1, usb1).
func (b block) where(name string) string {
	link, _ := readLink(b.t, allBlock+name)
	return link
}

// diskOf returns the disk that a partition is on; "" for whole devices. The kernel gives each partition a file of this
// name (block/partitions/core.c, Linux 6.12). The directory above proves nothing: above an NVMe namespace it is the
// controller or the subsystem, and above an eMMC's boot area the disk that it is no part of. Where a recording lacks
// the file, a partition is known by its lack of a queue.
func (b block) diskOf(name string) string {
	parent := path.Base(path.Dir(b.where(name)))
	dir := b.dir(name)
	if b.t.Exists(dir+"/partition") || !b.t.Live() && b.dir(parent) != "" && !b.t.Exists(dir+"/queue") {
		return parent
	}
	return ""
}

// byNumber returns the name of the device with a number MAJ:MIN; "" if unknown.
func (b block) byNumber(dev string) string {
	if link, err := readLink(b.t, "/sys/dev/block/"+dev); err == nil {
		return path.Base(link)
	}
	names, _ := b.t.Dir(allBlock)
	for _, n := range names {
		if b.t.Text(allBlock+n+"/dev").Or("") == dev {
			return n
		}
	}
	return ""
}

// slaves lists the devices that a stacked device writes to.
func (b block) slaves(name string) []string {
	list, _ := b.t.Dir(b.dir(name) + "/slaves")
	return list
}

// device reads a whole disk (or dm, md, loop) and its queue.
func (b block) device(name string) BlockDevice {
	class, _ := b.class(name)
	d := BlockDevice{Name: name, Model: b.model(name), Class: class}
	fill(b.t, b.dir(name), &d)
	d.Queues = b.queues(name)
	return d
}

// queues counts the hardware queues of a device, each a directory below mq. A recording has the names that were asked
// for.
func (b block) queues(name string) Fact[int64] {
	dir := b.dir(name) + "/mq"
	names, err := b.t.Dir(dir)
	if err != nil {
		return Unknown[int64](dir, err)
	}
	n := int64(0)
	for _, q := range names {
		if isNumber(q) && b.t.Exists(dir+"/"+q) {
			n++
		}
	}
	if n == 0 {
		return absentFact[int64](dir, "it has no queues of its own")
	}
	return Known(n, "", dir)
}

// model joins vendor and model. SATA disks all have the vendor "ATA".
func (b block) model(name string) Fact[string] {
	dev := b.dir(name) + "/device/"
	vendor, model := notEmpty(b.t.Text(dev+"vendor")), notEmpty(b.t.Text(dev+"model"))
	if v := vendor.Or("ATA"); v == "ATA" || strings.HasPrefix(v, "0x") { // virtio has its PCI number there
		vendor = Fact[string]{}
	}
	if model.State != StateOK {
		return firstKnown(model, notEmpty(b.t.Text(dev+"name"))) // mmc
	}
	return joinFacts(vendor, model)
}

// disks lists all whole devices that hold something: no RAM disks, no free loop
// or nbd devices, no empty drives, and no hidden paths of NVMe multipathing.
func (b block) disks() []BlockDevice {
	names, _ := b.t.Dir("/sys/block")
	list := []BlockDevice{}
	for _, n := range names {
		kind, dir := b.kind(n), "/sys/block/"+n
		switch {
		case kind == "zram" || kind == "ram":
		case kind == "loop" && notEmpty(b.t.Text(dir+"/loop/backing_file")).State == StateAbsent:
		case b.t.Text(dir+"/size").Or("") == "0" || b.t.Text(dir+"/hidden").Or("") == "1":
		default:
			list = append(list, b.device(n))
		}
	}
	return list
}

// kinds maps beginnings of kernel names to kinds, Documentation/admin-guide/
// devices.txt. Longer beginnings come before the ones they contain. The class is that of all
// of a kind, and queue says that they have queue settings which mean something.
var kinds = []struct {
	prefix, kind, class string
	queue               bool
}{
	{"nvme", "nvme", "", true}, {"pmem", "pmem", ClassPmem, false}, {"sd", "scsi", "", true}, {"sr", "optical", "", false},
	{"xvd", "xen", ClassVirtual, true}, {"vd", "virtio", ClassVirtual, true}, // the host decides what is behind it
	{"dm-", "dm", "", false}, {"md", "md", "", false}, {"loop", "loop", "", false}, {"fd", "floppy", "", false},
	{"zram", "zram", ClassMemory, false}, {"ram", "ram", ClassMemory, false}, {"rbd", "rbd", ClassNetwork, true},
	{"nbd", "nbd", "", false}, {"drbd", "drbd", "", true}, {"zd", "zvol", "", true}, // names of ZFS on Linux
	{"mmcblk", "mmc", ClassSSD, true}, {"mtdblock", "mtd", ClassSSD, true}, {"bcache", "bcache", "", true},
	{"dasd", "dasd", "", true}, {"ublkb", "ublk", "", true}, {"", "block", "", true},
}

// kindOf is the kind by the kernel's name alone.
func kindOf(name string) (kind, class string, queue bool) {
	for _, k := range kinds {
		if strings.HasPrefix(name, k.prefix) {
			return k.kind, k.class, k.queue
		}
	}
	return "", "", false // the last prefix is empty
}

// HasQueue reports a whole disk whose queue settings mean something, by its kernel
// name: no loop, RAM or optical device, and no stacked one, which hands requests on.
func HasQueue(name string) bool {
	_, _, queue := kindOf(name)
	return queue
}

// IsStacked reports a device that is made of others (dm, md), by its kernel name.
func IsStacked(name string) bool {
	kind, _, _ := kindOf(name)
	return kind == "dm" || kind == "md"
}

// kind names what a device is. LVM, dm-crypt and others write what a device-mapper
// device is for in front of its UUID; the target itself is not in sysfs.
func (b block) kind(name string) string {
	kind, _, _ := kindOf(name)
	switch kind {
	case "dm":
		return dmKind(b.t.Text(b.dir(name) + "/dm/uuid").Or(""))
	case "md":
		if level := b.t.Text(b.dir(name) + "/md/level").Or(""); level != "" {
			return "md-" + level
		}
	}
	return kind
}

func dmKind(uuid string) string {
	prefix, _, _ := strings.Cut(strings.ToLower(uuid), "-")
	switch {
	case prefix == "":
		return "dm"
	case prefix == "lvm" || prefix == "crypt" || prefix == "dmraid":
		return prefix
	case prefix == "mpath":
		return "multipath"
	case strings.HasPrefix(prefix, "part"): // kpartx makes part1-mpath-...
		return "partition"
	}
	return "dm-" + prefix
}

// label is the name that people know a layer by.
func (b block) label(name, kind string) string {
	dir := b.dir(name)
	switch {
	case strings.HasPrefix(name, "dm-"):
		return b.t.Text(dir + "/dm/name").Or("")
	case strings.HasPrefix(kind, "md"):
		s := b.t.Text(dir + "/md/raid_disks").Or("")
		if s != "" {
			s += " disks"
		}
		if n := b.t.Text(dir + "/md/degraded").Or("0"); n != "0" && s != "" {
			s += ", " + n + " missing"
		}
		return s
	case kind == "loop":
		return b.t.Text(dir + "/loop/backing_file").Or("")
	}
	return b.model(name).Or("")
}

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
