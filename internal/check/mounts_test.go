package check

import (
	"testing"

	"hostlab/internal/host"
)

// onNFS puts a database's log on NFS, with settings of the network.
func onNFS(options string, set ...func(n *host.Network)) func(*host.Facts) {
	return func(f *host.Facts) {
		logOn(host.ClassNetwork, "nfs4", options)(f)
		for _, s := range set {
			s(&f.Network)
		}
	}
}

// onNFSv3 puts a server's data there.
func onNFSv3(kind string, set func(n *host.Network)) func(*host.Facts) {
	return func(f *host.Facts) {
		logOn(host.ClassNetwork, "nfs", "rw,hard,vers=3")(f)
		f.Storage[0].Purpose = kind + " data"
		f.Data, f.Storage = f.Storage, nil
		set(&f.Network)
	}
}

// nfs has the values of SAP's note, but one.
func nfs(slots, most int64, largest int) func(n *host.Network) {
	return func(n *host.Network) {
		n.NFSSlots = known(slots, "/proc/sys/sunrpc/tcp_max_slot_table_entries")
		n.RmemMax, n.WmemMax = size(most, netDir+"core/rmem_max"), size(most, netDir+"core/wmem_max")
		n.TCPRmem, n.TCPWmem = known([]int{4096, 87380, largest}, netDir+"ipv4/tcp_rmem"),
			known([]int{4096, 16384, largest}, netDir+"ipv4/tcp_wmem")
		n.NetdevBacklog, n.NoMetricsSave = known[int64](300000, netDir+"core/netdev_max_backlog"),
			known[int64](1, netDir+"ipv4/tcp_no_metrics_save")
	}
}

func stalled(io, memory float64) func(*host.Facts) {
	return kern(func(k *host.Kernel) {
		k.StalledIO, k.StalledMemory = known(io, "/proc/pressure/io"), known(memory, "/proc/pressure/memory")
	})
}

// virtio has a disk with hardware queues, and CPUs.
func virtio(queues int64, cpus int) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Threads = known(cpus, "/sys/devices/system/cpu/online")
		f.Block = []host.BlockDevice{{Name: "vda", Queues: known(queues, "/sys/block/vda/mq")},
			{Name: "sda", Queues: known[int64](1, "/sys/block/sda/mq")}}
	}
}

// below puts a file system below that of a log.
func below(point, fsType, options string) func(s *host.Storage) {
	return func(s *host.Storage) {
		s.Below = append(s.Below, host.Mounted{MountPoint: known(point, "/proc/self/mountinfo"),
			FSType:  known(fsType, "/proc/self/mountinfo "+point),
			Options: known(options, "/proc/self/mountinfo "+point)})
	}
}

func kernelOf(release string) func(*host.Facts) {
	return func(f *host.Facts) { f.Identity.Kernel = known(release, "uname") }
}

const mib16 = 16 << 20

var mountCases = []lookCase{
	{id: "STO-009", name: "ext4", want: Finding, facts: logOn(host.ClassSSD, "ext4", "rw,relatime,nobarrier"),
		remedy: "mount -o remount,barrier /db"},
	{id: "STO-009", name: "ext3's word", want: Finding, facts: logOn(host.ClassSSD, "ext3", "rw,barrier=0"),
		remedy: "mount -o remount,barrier=1 /db"},
	{id: "STO-009", name: "f2fs", want: Finding, facts: logOn(host.ClassSSD, "f2fs", "rw,fsync_mode=nobarrier"),
		remedy: "fsync_mode=posix"},
	{id: "STO-009", name: "the data alone", want: Finding, remedy: "mount -o remount,barrier /db",
		facts: func(f *host.Facts) {
			logOn(host.ClassSSD, "ext4", "rw,nobarrier")(f)
			f.Data, f.Storage = f.Storage, nil
			logOn(host.ClassSSD, "ext4", "rw")(f)
		}},
	{id: "STO-009", name: "an overlay that syncs nothing", want: Finding, remedy: "a volume of its own",
		facts: logOn(host.ClassSSD, "overlay", "rw,lowerdir=/l,upperdir=/u,volatile")},
	{id: "STO-009", name: "an overlay in newer words", want: Finding,
		facts: logOn(host.ClassSSD, "overlay", "rw,upperdir=/u,fsync=volatile")},
	{id: "STO-009", name: "an overlay that hands flushes on", want: OK,
		facts: logOn(host.ClassSSD, "overlay", "rw,upperdir=/u", below("/", "ext4", "rw"))},
	{id: "STO-009", name: "what an overlay is on", want: Finding, evidence: "rw,nobarrier",
		remedy: "mount -o remount,barrier /srv", facts: logOn(host.ClassSSD, "overlay", "rw,upperdir=/srv/u",
			below("/srv", "ext4", "rw,nobarrier"))},
	{id: "STO-009", name: "what a loop device is on", want: Unknown, detail: "zfs get sync /tank",
		facts: logOn(host.ClassSSD, "xfs", "rw", below("/tank", "zfs", "rw,xattr"))},
	{id: "STO-009", name: "XFS takes no remount", want: Finding, remedy: "sudo umount /db",
		facts: logOn(host.ClassSSD, "xfs", "rw,nobarrier")},
	{id: "STO-009", name: "bcachefs", want: Finding, facts: logOn(host.ClassSSD, "bcachefs", "rw,journal_flush_disabled")},
	{id: "STO-009", name: "SMB that sends no flush", want: Finding,
		facts: logOn(host.ClassNetwork, "cifs", "rw,vers=3.1.1,nostrictsync")},
	{id: "STO-009", name: "SMB", want: Unknown, detail: "who serves it (SMB) decides",
		facts: logOn(host.ClassNetwork, "cifs", "rw,vers=3.1.1")},
	{id: "STO-009", name: "NFS", want: Unknown, detail: "the file server decides",
		facts: logOn(host.ClassNetwork, "nfs4", "rw,hard")},
	{id: "STO-009", name: "FUSE", want: Unknown, detail: "the program that serves it",
		facts: logOn(host.ClassSSD, "fuse.mergerfs", "rw")},
	{id: "STO-009", name: "a hypervisor's", want: Unknown, detail: "who serves it (virtiofs) decides",
		facts: logOn(host.ClassVirtual, "virtiofs", "rw")},
	{id: "STO-009", name: "a file system of later", want: Unknown, detail: "its documentation",
		facts: logOn(host.ClassSSD, "foofs", "rw")},
	{id: "STO-009", name: "a file system of later, with the usual word", want: Finding,
		facts: logOn(host.ClassSSD, "foofs", "rw,nobarrier")},
	{id: "STO-009", name: "old ext3 by default", want: Unknown, detail: "barrier=1",
		facts: also(kernelOf("2.6.32-754.el6"), logOn(host.ClassSSD, "ext3", "rw"))},
	{id: "STO-009", name: "old ext3 with barriers", want: OK,
		facts: also(kernelOf("2.6.32-754.el6"), logOn(host.ClassSSD, "ext3", "rw,barrier=1"))},
	{id: "STO-009", name: "memory, of which STO-006 speaks", want: NotApplicable,
		facts: logOn(host.ClassMemory, "tmpfs", "rw")},
	{id: "STO-009", name: "on", want: OK, facts: logOn(host.ClassSSD, "ext4", "rw,relatime,barrier=1")},
	{id: "STO-009", name: "no log", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "STO-009", name: "a log that may not be seen", want: Unknown, facts: hiddenLog},

	{id: "STO-010", name: "soft", want: Finding, facts: onNFS("rw,soft,vers=4.1"), remedy: "sudo umount /db"},
	{id: "STO-010", name: "the data alone", want: Finding, facts: func(f *host.Facts) {
		onNFS("rw,soft")(f)
		f.Data, f.Storage = f.Storage, nil
	}},
	{id: "STO-010", name: "softerr", want: Finding, facts: onNFS("rw,softerr")},
	{id: "STO-010", name: "a loop device's file on a soft mount", want: Finding, remedy: "sudo umount /nfs",
		facts: logOn(host.ClassNetwork, "xfs", "rw", below("/nfs", "nfs4", "rw,soft"))},
	{id: "STO-010", name: "hard", want: OK, facts: onNFS("rw,hard")},
	{id: "STO-010", name: "a disk", want: NotApplicable, facts: logOn(host.ClassSSD, "ext4", "rw"),
		detail: "no log directory lies on NFS"},
	{id: "STO-010", name: "not readable", want: Unknown, facts: logOn(host.ClassNetwork, "", "", func(s *host.Storage) {
		s.FSType, s.Options = denied[string]("/proc/self/mountinfo"), denied[string]("/proc/self/mountinfo")
	})},

	{id: "STO-011", name: "few slots", want: Finding, facts: onNFS("rw,hard", nfs(64, mib16, mib16)),
		remedy: "sunrpc.tcp_max_slot_table_entries=128"},
	{id: "STO-011", name: "HANA's files on NFSv3, and the kernel's default", want: Finding,
		facts:  onNFSv3("hana", nfs(65536, mib16, mib16)),
		detail: "up to 65536 requests", remedy: "echo 'options sunrpc tcp_max_slot_table_entries=128' | sudo tee " +
			"/etc/modprobe.d/90-hostlab-tcp_max_slot_table_entries.conf"},
	{id: "STO-011", name: "HANA's files on NFSv3, and NetApp's", want: OK, facts: onNFSv3("hana", nfs(128, mib16, mib16))},
	{id: "STO-011", name: "PostgreSQL's files on NFSv3", want: Finding,
		facts: onNFSv3("postgresql", nfs(65536, mib16, mib16))},
	{id: "STO-011", name: "small buffers", want: Finding, facts: onNFS("rw,hard", nfs(65536, 212992, 6291456)),
		remedy: "net.ipv4.tcp_rmem=4096 87380 16777216"},
	{id: "STO-011", name: "the note's", want: OK, facts: onNFS("rw,hard", nfs(128, mib16, mib16))},
	{id: "STO-011", name: "more than the note's", want: OK, facts: onNFS("rw,hard", nfs(65536, 1<<27, 1<<27))},
	{id: "STO-011", name: "a small backlog, and metrics kept", want: Finding, remedy: "net.core.netdev_max_backlog=300000",
		facts: onNFS("rw,hard", nfs(128, mib16, mib16), func(n *host.Network) {
			n.NetdevBacklog, n.NoMetricsSave = known[int64](1000, netDir+"core/netdev_max_backlog"),
				known[int64](0, netDir+"ipv4/tcp_no_metrics_save")
		})},
	{id: "STO-011", name: "a disk", want: NotApplicable, facts: logOn(host.ClassSSD, "xfs", "rw"),
		detail: "no log directory lies on NFS"},
	{id: "STO-011", name: "denied", want: Unknown,
		facts: onNFS("rw,hard", nfs(128, mib16, mib16),
			func(n *host.Network) { n.RmemMax = denied[int64](netDir + "core/rmem_max") })},

	{id: "STO-012", name: "a quarter", want: Finding, facts: stalled(0.25, 0), evidence: "25.00 % of the last 5 minutes",
		remedy: "hostlab assess"},
	{id: "STO-012", name: "a tenth", want: OK, facts: stalled(0.10, 0)},
	{id: "STO-012", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "STO-012", name: "garbled", want: Unknown,
		facts: kern(func(k *host.Kernel) { k.StalledIO = failed[float64]("/proc/pressure/io") })},

	{id: "STO-013", name: "one", want: Finding, facts: virtio(1, 8), evidence: "/sys/block/vda/mq = 1",
		remedy: "queues='4'"},
	{id: "STO-013", name: "one for each CPU", want: OK, facts: virtio(8, 8)},
	{id: "STO-013", name: "two CPUs", want: NotApplicable, facts: virtio(1, 2), detail: "fewer than 4 CPUs"},
	{id: "STO-013", name: "no virtual disk", want: NotApplicable,
		facts: func(f *host.Facts) { f.Topology.Threads = known(8, "online") }},
	{id: "STO-013", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		virtio(1, 8)(f)
		f.Block[0].Queues = denied[int64]("/sys/block/vda/mq")
	}},

	{id: "MEM-011", name: "5 %", want: Finding, facts: stalled(0, 0.05), evidence: "5.00 % of the last 5 minutes",
		remedy: "ps -eo"},
	{id: "MEM-011", name: "1 %", want: OK, facts: stalled(0, 0.01)},
	{id: "MEM-011", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "MEM-011", name: "denied", want: Unknown,
		facts: kern(func(k *host.Kernel) { k.StalledMemory = denied[float64]("/proc/pressure/memory") })},
}

// More requests than NetApp's servers take weigh for HANA, whose note says so, and are information for others.
func TestRequestsOfNFSWeigh(t *testing.T) {
	for kind, want := range map[string]Severity{"hana": Low, "postgresql": Info} {
		if r := (lookCase{id: "STO-011", facts: onNFSv3(kind, nfs(65536, mib16, mib16))}).run(t); r.Status != Finding ||
			r.Severity != want {
			t.Errorf("%s: %s, %s", kind, r.Status, r.Severity)
		}
	}
	if r := (lookCase{id: "STO-011", facts: onNFSv3("postgresql", nfs(65536, 212992, mib16))}).run(t); r.Severity != Low {
		t.Errorf("with small buffers: %s", r.Severity)
	}
}
