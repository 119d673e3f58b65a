package host

import (
	"testing"

	"hostlab/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// at is the archive of a block device whose directory is anywhere below /sys/devices.
func at(name, dev, dir string, files map[string]string) string {
	dir = "devices/" + dir + "/" + name
	s := "-- sys/class/block/" + name + " -> ../../" + dir + " --\n-- sys/dev/block/" + dev + " -> ../../" + dir + " --\n" +
		"-- sys/block/" + name + " -> ../" + dir + " --\n-- sys/" + dir + "/dev --\n" + dev + "\n"
	for f, content := range files {
		s += "-- sys/" + dir + "/" + f + " --\n" + content + "\n"
	}
	return s
}

const (
	controller = "pci0000:00/0000:00:1d.0/0000:04:00.0/nvme/nvme1"
	subsystem  = "virtual/nvme-subsystem/nvme-subsys0"
	sata       = "pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block"
)

// namespaceOf is a whole NVMe disk as sysfs has it: below its controller, without a directory "block" between.
func namespaceOf(files map[string]string) string { return at("nvme1n1", "259:4", controller, files) }

var spinning = map[string]string{"queue/rotational": "1", "queue/write_cache": "write back", "device/vendor": "ATA", "device/model": "ST4000"}

func TestStackOfDevices(t *testing.T) {
	samsung := with(flash, "device/model", "SAMSUNG MZ1", "device/transport", "pcie")
	mount := func(fs, dev, source, opts string) string {
		return mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw", "2 1 "+dev+" / /data rw - "+fs+" "+source+" rw"+opts)
	}
	hdd := at("sdb", "8:16", sata, spinning) + at("sdb1", "8:17", sata+"/sdb", map[string]string{"partition": "1"})
	nvme0 := "pci0000:00/0000:00:1c.0/nvme/nvme0"
	fast := at("nvme0n1", "259:0", nvme0, samsung) + at("nvme0n1p1", "259:1", nvme0+"/nvme0n1", map[string]string{"partition": "1"})
	drbd := at("drbd0", "147:0", "virtual/block", with(flash, "slaves/nvme1n1/x", "")) + namespaceOf(samsung)
	for _, c := range []struct {
		name, archive string
		want          []string
		why           string // of an unknown class, in part
	}{
		{"a whole NVMe disk", namespaceOf(samsung) + mount("ext4", "259:4", "/dev/nvme1n1", ""),
			[]string{"nvme on /data ext4", "nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"LVM on one", namespaceOf(samsung) + disk("dm-0", "253:0", "virtual", with(flash, "dm/name", "vg-pg", "dm/uuid", "LVM-a")) +
			slave("dm-0", "nvme1n1") + mount("xfs", "253:0", "/dev/mapper/vg-pg", ""),
			[]string{"nvme on /data xfs", "dm-0 lvm vg-pg", "-nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"a volume of AWS", namespaceOf(with(flash, "device/model", "Amazon Elastic Block Store")) + mount("xfs", "259:4", "/dev/nvme1n1", ""),
			[]string{"virtual on /data xfs", "nvme1n1 nvme Amazon Elastic Block Store"}, ""},
		{"a volume of another cloud", guestCPU + namespaceOf(with(flash, "device/model", "Acme Block Storage", "device/transport", "pcie")) +
			mount("xfs", "259:4", "/dev/nvme1n1", ""), []string{"error on /data xfs", "nvme1n1 nvme Acme Block Storage"}, "a volume of its cloud"},
		{"flash that is passed through to a guest", guestCPU + namespaceOf(samsung) + mount("xfs", "259:4", "/dev/nvme1n1", ""),
			[]string{"nvme on /data xfs", "nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"flash of an unknown maker in a machine", metalCPU + namespaceOf(with(samsung, "device/model", "Acme SSD")) + mount("xfs", "259:4", "/dev/nvme1n1", ""),
			[]string{"nvme on /data xfs", "nvme1n1 nvme Acme SSD"}, ""},
		{"native multipath over PCIe", at("nvme1n1", "259:4", subsystem, with(samsung, "device/nvme0/transport", "pcie", "device/transport", "")) +
			mount("ext4", "259:4", "/dev/nvme1n1", ""), []string{"nvme on /data ext4", "nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"a transport that nobody knows", namespaceOf(with(samsung, "device/transport", "loop")) + mount("ext4", "259:4", "/dev/nvme1n1", ""),
			[]string{"error on /data ext4", "nvme1n1 nvme SAMSUNG MZ1"}, "nvme list shows its maker"},
		{"an eMMC's boot area is a disk", at("mmcblk0boot0", "179:8", "platform/mmc/mmc0/mmc0:0001/block/mmcblk0", flash) +
			at("mmcblk0", "179:0", "platform/mmc/mmc0/mmc0:0001/block", flash) + mount("ext4", "179:8", "/dev/mmcblk0boot0", ""),
			[]string{"ssd on /data ext4", "mmcblk0boot0 mmc"}, ""},
		{"bcachefs on an NVMe and a rotating disk", fast + hdd +
			"-- sys/fs/bcachefs/5f3c/dev-0/block -> ../../../../devices/" + nvme0 + "/nvme0n1/nvme0n1p1 --\n" +
			"-- sys/fs/bcachefs/5f3c/dev-1/block -> ../../../../devices/" + sata + "/sdb/sdb1 --\n" +
			mount("bcachefs", "0:40", "/dev/nvme0n1p1:/dev/sdb1", ""),
			[]string{"disk on /data bcachefs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1", "sdb1 partition", "-sdb scsi ST4000"}, ""},
		{"bcachefs whose members /sys hides", fast + hdd + mount("bcachefs", "259:1", "/dev/nvme0n1p1:/dev/sdb1", ""),
			[]string{"disk on /data bcachefs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1", "sdb1 partition", "-sdb scsi ST4000"}, ""},
		{"btrfs whose members /sys hides", fast + mount("btrfs", "0:33", "/dev/nvme0n1p1", ""),
			[]string{"error on /data btrfs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, "btrfs filesystem show"},
		{"XFS with its log on another disk", fast + hdd + mount("xfs", "259:1", "/dev/nvme0n1p1", ",logdev=/dev/sdb1,noquota"),
			[]string{"disk on /data xfs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1", "sdb1 partition", "-sdb scsi ST4000"}, ""},
		{"XFS with its log on a disk that is not seen", fast + mount("xfs", "259:1", "/dev/nvme0n1p1", ",logdev=/dev/sdz"),
			[]string{"error on /data xfs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, "does not show the device /dev/sdz"},
		{"DRBD that waits for its peer", drbd + "-- proc/drbd --\nversion: 8.4.11\n 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----\n" +
			mount("ext4", "147:0", "/dev/drbd0", ""), []string{"network on /data ext4", "drbd0 drbd", "-nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"DRBD that does not", drbd + "-- proc/drbd --\nversion: 8.4.11\n 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate A r-----\n" +
			mount("ext4", "147:0", "/dev/drbd0", ""), []string{"nvme on /data ext4", "drbd0 drbd", "-nvme1n1 nvme SAMSUNG MZ1"}, ""},
		{"DRBD that does not say", drbd + mount("ext4", "147:0", "/dev/drbd0", ""),
			[]string{"error on /data ext4", "drbd0 drbd", "-nvme1n1 nvme SAMSUNG MZ1"}, "drbdsetup status"},
		{"a volume of ZFS", at("zd16", "230:16", "virtual/block", flash) + mount("xfs", "230:16", "/dev/zd16", ""),
			[]string{"error on /data xfs", "zd16 zvol"}, "zpool status"},
		{"nbd", at("nbd0", "43:0", "virtual/block", flash) + mount("xfs", "43:0", "/dev/nbd0", ""),
			[]string{"error on /data xfs", "nbd0 nbd"}, "a program serves nbd0"},
		{"ublk", at("ublkb0", "259:9", "virtual/block", flash) + mount("xfs", "259:9", "/dev/ublkb0", ""),
			[]string{"error on /data xfs", "ublkb0 ublk"}, "ublk list"},
		{"a disk of an unknown maker", at("foo0", "250:0", "virtual/block", flash) + mount("xfs", "250:0", "/dev/foo0", ""),
			[]string{"error on /data xfs", "foo0 block"}, "no hardware of its own"},
		{"a DASD, which always says that it does not rotate", at("dasda", "94:0", "css0/0.0.0120/0.0.0120/block", with(flash, "device/x", "")) +
			mount("xfs", "94:0", "/dev/dasda", ""), []string{"error on /data xfs", "dasda dasd"}, "storage server"},
		{"a SCSI disk that a module makes of memory", at("sdc", "8:32", "pseudo_0/adapter0/host3/target3:0:0/3:0:0:0/block",
			with(flash, "device/vendor", "Linux", "device/model", "scsi_debug")) + mount("xfs", "8:32", "/dev/sdc", ""),
			[]string{"error on /data xfs", "sdc scsi Linux scsi_debug"}, "sdc"},
		{"a disk of PowerVM's I/O server", at("sda", "8:0", "vio/30000002/host0/target0:0:1/0:0:1:0/block", with(flash, "device/vendor", "AIX", "device/model", "VDASD")) +
			mount("xfs", "8:0", "/dev/sda", ""), []string{"virtual on /data xfs", "sda scsi AIX VDASD"}, ""},
		{"memory that the command line calls persistent", at("pmem0", "259:9", "platform/e820_pmem/ndbus0/region0/namespace0.0/block", with(flash, "queue/dax", "1")) +
			mount("ext4", "259:9", "/dev/pmem0", ""), []string{"error on /data ext4", "pmem0 pmem"}, "dmidecode"},
		{"a SATA disk", hdd + mount("xfs", "8:16", "/dev/sdb", ""), []string{"disk on /data xfs", "sdb scsi ST4000"}, ""},
		{"a partition of a recording without its file", at("sdb", "8:16", sata, spinning) + at("sdb1", "8:17", sata+"/sdb", nil) +
			mount("xfs", "8:17", "/dev/sdb1", ""), []string{"disk on /data xfs", "sdb1 partition", "-sdb scsi ST4000"}, ""},
	} {
		s := StorageOf(withPath(t, tree(t, c.archive), "/data"), "/data")
		testkit.Is(t, "", cmp.Diff(c.want, show(s)), c.name, "-want +got)", s.Class)
		testkit.Has(t, s.Class.Reason, c.why, c.name)
		for _, l := range s.Stack {
			if cache := l.Queue; cache != nil && cache.WriteCache.State != StateOK && l.Kind != "dm" {
				t.Errorf("%s: the cache of %s is not read", c.name, l.Name)
			}
		}
	}
}

// Whether flushes reach the disk is up to each file system on the way.
func TestFileSystemsBelow(t *testing.T) {
	for _, c := range []struct {
		name, archive, path string
		want                []string
	}{
		{"an overlay's upper directory", "-- up/a --\n" + virtioDisk + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw,nobarrier",
			"2 1 0:60 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up,workdir=/w"), "/merged/x", []string{"/ ext4 rw,nobarrier"}},
		{"a loop device's file", virtioDisk + disk("loop0", "7:0", "virtual", with(flash, "loop/backing_file", "/var/disk.img")) +
			mountinfo("1 0 254:0 / / rw - btrfs /dev/vda rw", "2 1 7:0 / /img rw - xfs /dev/loop0 rw"), "/img", []string{"/ btrfs rw"}},
		{"a disk", virtioDisk + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw"), "/x", nil},
	} {
		var got []string
		for _, m := range StorageOf(withPath(t, tree(t, c.archive), c.path), c.path).Below {
			got = append(got, m.MountPoint.Value+" "+m.FSType.Value+" "+m.Options.Value)
		}
		testkit.Same(t, c.want, got, c.name)
	}
}
