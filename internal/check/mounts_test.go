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
		n.TCPRmem, n.TCPWmem = known([]int{4096, 87380, largest}, netDir+"ipv4/tcp_rmem"), known([]int{4096, 16384, largest}, netDir+"ipv4/tcp_wmem")
		n.NetdevBacklog, n.NoMetricsSave = known[int64](300000, netDir+"core/netdev_max_backlog"), known[int64](1, netDir+"ipv4/tcp_no_metrics_save")
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
		f.Block = []host.BlockDevice{{Name: "vda", Queues: known(queues, "/sys/block/vda/mq")}, {Name: "sda", Queues: known[int64](1, "/sys/block/sda/mq")}}
	}
}

const mib16 = 16 << 20

var mountCases = []lookCase{
	{id: "STO-009", name: "ext4", want: Finding, facts: logOn(host.ClassSSD, "ext4", "rw,relatime,nobarrier"), remedy: "mount -o remount,barrier /db"},
	{id: "STO-009", name: "ext3's word", want: Finding, facts: logOn(host.ClassSSD, "ext3", "rw,barrier=0"), remedy: "mount -o remount,barrier=1 /db"},
	{id: "STO-009", name: "f2fs", want: Finding, facts: logOn(host.ClassSSD, "f2fs", "rw,fsync_mode=nobarrier"), remedy: "fsync_mode=posix"},
	{id: "STO-009", name: "the data alone", want: Finding, remedy: "mount -o remount,barrier /db", facts: func(f *host.Facts) {
		logOn(host.ClassSSD, "ext4", "rw,nobarrier")(f)
		f.Data, f.Storage = f.Storage, nil
		logOn(host.ClassSSD, "ext4", "rw")(f)
	}},
	{id: "STO-009", name: "on", want: OK, facts: logOn(host.ClassSSD, "ext4", "rw,relatime,barrier=1")},
	{id: "STO-009", name: "no log", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "STO-009", name: "a log that may not be seen", want: Unknown, facts: hiddenLog},

	{id: "STO-010", name: "soft", want: Finding, facts: onNFS("rw,soft,vers=4.1"), remedy: "sudo umount /db"},
	{id: "STO-010", name: "the data alone", want: Finding, facts: func(f *host.Facts) {
		onNFS("rw,soft")(f)
		f.Data, f.Storage = f.Storage, nil
	}},
	{id: "STO-010", name: "softerr", want: Finding, facts: onNFS("rw,softerr")},
	{id: "STO-010", name: "hard", want: OK, facts: onNFS("rw,hard")},
	{id: "STO-010", name: "a disk", want: NotApplicable, facts: logOn(host.ClassSSD, "ext4", "rw"), detail: "no log directory lies on NFS"},
	{id: "STO-010", name: "not readable", want: Unknown, facts: logOn(host.ClassNetwork, "", "", func(s *host.Storage) {
		s.FSType, s.Options = denied[string]("/proc/self/mountinfo"), denied[string]("/proc/self/mountinfo")
	})},

	{id: "STO-011", name: "few slots", want: Finding, facts: onNFS("rw,hard", nfs(64, mib16, mib16)), remedy: "sunrpc.tcp_max_slot_table_entries=128"},
	{id: "STO-011", name: "HANA's files on NFSv3, and the kernel's default", want: Finding, facts: onNFSv3("hana", nfs(65536, mib16, mib16)),
		detail: "up to 65536 requests", remedy: "echo 'options sunrpc tcp_max_slot_table_entries=128' | sudo tee /etc/modprobe.d/90-hostlab-tcp_max_slot_table_entries.conf"},
	{id: "STO-011", name: "HANA's files on NFSv3, and NetApp's", want: OK, facts: onNFSv3("hana", nfs(128, mib16, mib16))},
	{id: "STO-011", name: "PostgreSQL's files on NFSv3", want: Finding, facts: onNFSv3("postgresql", nfs(65536, mib16, mib16))},
	{id: "STO-011", name: "small buffers", want: Finding, facts: onNFS("rw,hard", nfs(65536, 212992, 6291456)), remedy: "net.ipv4.tcp_rmem=4096 87380 16777216"},
	{id: "STO-011", name: "the note's", want: OK, facts: onNFS("rw,hard", nfs(128, mib16, mib16))},
	{id: "STO-011", name: "more than the note's", want: OK, facts: onNFS("rw,hard", nfs(65536, 1<<27, 1<<27))},
	{id: "STO-011", name: "a small backlog, and metrics kept", want: Finding, remedy: "net.core.netdev_max_backlog=300000", facts: onNFS("rw,hard", nfs(128, mib16, mib16), func(n *host.Network) {
		n.NetdevBacklog, n.NoMetricsSave = known[int64](1000, netDir+"core/netdev_max_backlog"), known[int64](0, netDir+"ipv4/tcp_no_metrics_save")
	})},
	{id: "STO-011", name: "a disk", want: NotApplicable, facts: logOn(host.ClassSSD, "xfs", "rw"), detail: "no log directory lies on NFS"},
	{id: "STO-011", name: "denied", want: Unknown, facts: onNFS("rw,hard", nfs(128, mib16, mib16), func(n *host.Network) { n.RmemMax = denied[int64](netDir + "core/rmem_max") })},

	{id: "STO-012", name: "a quarter", want: Finding, facts: stalled(0.25, 0), evidence: "25.00 % of the last 5 minutes", remedy: "hostlab assess"},
	{id: "STO-012", name: "a tenth", want: OK, facts: stalled(0.10, 0)},
	{id: "STO-012", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "STO-012", name: "garbled", want: Unknown, facts: kern(func(k *host.Kernel) { k.StalledIO = failed[float64]("/proc/pressure/io") })},

	{id: "STO-013", name: "one", want: Finding, facts: virtio(1, 8), evidence: "/sys/block/vda/mq = 1", remedy: "queues='4'"},
	{id: "STO-013", name: "one for each CPU", want: OK, facts: virtio(8, 8)},
	{id: "STO-013", name: "two CPUs", want: NotApplicable, facts: virtio(1, 2), detail: "fewer than 4 CPUs"},
	{id: "STO-013", name: "no virtual disk", want: NotApplicable, facts: func(f *host.Facts) { f.Topology.Threads = known(8, "online") }},
	{id: "STO-013", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		virtio(1, 8)(f)
		f.Block[0].Queues = denied[int64]("/sys/block/vda/mq")
	}},

	{id: "MEM-011", name: "5 %", want: Finding, facts: stalled(0, 0.05), evidence: "5.00 % of the last 5 minutes", remedy: "ps -eo"},
	{id: "MEM-011", name: "1 %", want: OK, facts: stalled(0, 0.01)},
	{id: "MEM-011", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "MEM-011", name: "denied", want: Unknown, facts: kern(func(k *host.Kernel) { k.StalledMemory = denied[float64]("/proc/pressure/memory") })},
}

// More requests than NetApp's servers take weigh for HANA, whose note says so, and are information for others.
func TestRequestsOfNFSWeigh(t *testing.T) {
	for kind, want := range map[string]Severity{"hana": Low, "postgresql": Info} {
		if r := (lookCase{id: "STO-011", facts: onNFSv3(kind, nfs(65536, mib16, mib16))}).run(t); r.Status != Finding || r.Severity != want {
			t.Errorf("%s: %s, %s", kind, r.Status, r.Severity)
		}
	}
	if r := (lookCase{id: "STO-011", facts: onNFSv3("postgresql", nfs(65536, 212992, mib16))}).run(t); r.Severity != Low {
		t.Errorf("with small buffers: %s", r.Severity)
	}
}
