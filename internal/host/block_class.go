package host

import (
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

// class tells the class of one disk; "" for stacked devices (dm, md, loop) and
// for what sysfs does not tell.
func (b block) class(name string) string {
	switch kind, class, _ := kindOf(name); kind {
	case "nvme":
		return b.nvmeClass(name)
	case "scsi":
		return b.scsiClass(name)
	case "dasd", "block", "ublk":
		return b.byRotation(name)
	default:
		return class
	}
}

// volumes are the models by which hypervisors and clouds show volumes of theirs
// as if they were disks. The rotational flag of such a disk proves nothing.
// Local flash that a cloud passes through has other names ("Amazon EC2 NVMe
// Instance Storage", "nvme_card", "Microsoft NVMe Direct Disk").
var volumes = []string{
	"Amazon Elastic Block Store", "nvme_card-pd", "Google PersistentDisk", "MSFT NVMe Accelerator", "QEMU", "VBOX",
	"ORCL-VBOX", "VMware", "Msft Virtual Disk", "NUTANIX VDISK", "XENSRC PVDISK", "Virtual disk", "VirtualDisk", "BHYVE",
	"Parallels", "virtio",
}

func isVolume(model string) bool {
	for _, v := range volumes {
		if len(model) >= len(v) && strings.EqualFold(model[:len(v)], v) {
			return true
		}
	}
	return false
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
	for _, tr := range transports {
		switch tr {
		case "tcp", "rdma", "fc":
			return ClassNetwork
		}
	}
	return ClassNVMe
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
