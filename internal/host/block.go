package host

import (
	"path"
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
