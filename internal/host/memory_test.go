package host

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

const meminfo = `-- proc/meminfo --
MemTotal:       16384000 kB
MemAvailable:    8192000 kB
SwapTotal:             0 kB
HugePages_Total:      10
HugePages_Free:        4
Hugepagesize:       2048 kB
`

func TestReadMemory(t *testing.T) {
	m := readMemory(tree(t, meminfo+guestCPU+`-- proc/sys/kernel/shmmax --
18446744073692774399
-- proc/sys/kernel/shmall --
18446744073692774399
-- proc/sys/vm/swappiness --
x
-- proc/sys/vm/dirty_bytes --
0
-- sys/kernel/mm/transparent_hugepage/enabled --
always [madvise] never
-- sys/kernel/mm/transparent_hugepage/shmem_enabled --
always within_size advise [never] deny force
-- sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled --
always [inherit] madvise never
-- sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled --
always inherit madvise [never]
-- sys/kernel/mm/transparent_hugepage/hugepages-64MB/enabled --
x
-- proc/swaps --
Filename				Type		Size		Used		Priority
/dev/zram0                              partition	8388604		0		100
/swapfile                               file		1048572		0		-2
-- sys/kernel/mm/ksm/run --
!errno EACCES
-- proc/self/mountinfo --
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:9 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=65536k,inode64
`))
	for _, c := range []struct{ got, want any }{
		{m.Total, Known[int64](16384000<<10, "B", "/proc/meminfo MemTotal")},
		{m.Available, Known[int64](8192000<<10, "B", "/proc/meminfo MemAvailable")},
		{m.SwapOn, Known("/dev/zram0,/swapfile", "", "/proc/swaps")},
		{m.ShmemEnabled.Value.Active, "never"},
		{len(m.THPSizes), 2}, {m.THPSizes[0].Size, int64(64 << 10)}, {m.THPSizes[0].Enabled.Value.Active, "never"},
		{m.THPSizes[1].Enabled.Value.Active, "inherit"},
		{m.SwapTotal, Known[int64](0, "B", "/proc/meminfo SwapTotal")},
		{m.HugePageSize, Known[int64](2<<20, "B", "/proc/meminfo Hugepagesize")},
		{m.HugePages, Known[int64](10, "", "/proc/meminfo HugePages_Total")},
		{m.HugePagesFree, Known[int64](4, "", "/proc/meminfo HugePages_Free")},
		{m.ShmMax, Known[uint64](18446744073692774399, "B", "/proc/sys/kernel/shmmax")},
		{m.ShmAll.Value, uint64(18446744073692774399)},
		{m.THPEnabled.Value.Active, "madvise"},
		{m.KSM.State, StateDenied}, {m.NUMABalancing.State, StateAbsent}, {m.Swappiness.State, StateError},
		{m.DirtyBytes, Known[int64](0, "B", "/proc/sys/vm/dirty_bytes")},
		{m.ShmSize, Known[int64](64<<20, "B", "/proc/self/mountinfo size of /dev/shm")},
		{m.PageSize, Known[int64](4096, "B", "the only page size of amd64")},
	} {
		testkit.Same(t, c.want, c.got)
	}
}

func TestMeminfoThatCannotBeRead(t *testing.T) {
	for archive, want := range map[string]State{
		"-- proc/meminfo --\n!errno EACCES\n":   StateDenied,
		"-- proc/meminfo --\nMemTotal: x kB\n":  StateError,
		"-- proc/x --\n":                        StateAbsent,
		"-- x --\n":                             StateMasked, // an empty /proc proves nothing
		"-- proc/meminfo --\nMemFree: 12 kB\n":  StateAbsent, // no such line
		"-- proc/meminfo --\nMemTotal: 12 MB\n": StateError,
	} {
		f := readMemory(tree(t, archive)).Total
		if f.State != want || f.Reason == "" || strings.Contains(f.Reason, "/tmp") {
			t.Errorf("%q: %+v", archive, f)
		}
	}
}

func TestShmSize(t *testing.T) {
	total := Known[int64](1000, "B", "/proc/meminfo MemTotal")
	for _, tt := range []struct {
		lines string
		want  int64
		state State
		say   string
	}{
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw", 500, StateOK, "half of"},
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw,size=75%", 750, StateOK, "75 % of"},
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw,size=2G", 2 << 30, StateOK, ""},
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw,size=4k\n3 2 0:10 / /dev/shm rw - tmpfs t rw,size=8k", 8192, StateOK, ""},
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw,size=-1", 0, StateError, ""},
		{"2 1 0:9 / /dev/shm rw - tmpfs t rw,size=9999999999g", 0, StateError, ""},
		{"2 1 0:9 / /dev rw - devtmpfs t rw,size=4k", 0, StateAbsent, ""},
		{"2 1 0:9 / /dev/shm rw - ext4 /dev/sda rw", 0, StateAbsent, ""},
	} {
		m := mountTable{path: selfMounts, mounts: parseMounts("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n" + tt.lines)}
		f := shmSize(m, total)
		if f.Value != tt.want || f.State != tt.state || !strings.Contains(f.Source, tt.say) {
			t.Errorf("%s: %+v", tt.lines, f)
		}
	}
}

func TestReadKernel(t *testing.T) {
	k := readKernel(tree(t, `-- proc/cmdline --
quiet mitigations=off
-- proc/sys/kernel/sem --
32000	1024000000	500	32000
-- proc/sys/fs/aio-max-nr --
18446744073709551615
-- sys/module/nvme_core/parameters/io_timeout --
30
-- sys/devices/system/cpu/vulnerabilities/meltdown --
Not affected
-- sys/devices/system/cpu/vulnerabilities/bhi --
!errno EACCES
-- etc/tuned/active_profile --
-- proc/pressure/cpu --
some avg10=1.00 avg60=12.50 avg300=0.00 total=1
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
-- proc/pressure/io --
!errno EOPNOTSUPP
`))
	for _, c := range []struct{ got, want any }{
		{k.Cmdline.Value, "quiet mitigations=off"},
		{k.Sem.Value, []int{32000, 1024000000, 500, 32000}},
		{k.AIOMaxNr.Value, uint64(1<<64 - 1)},
		{k.NVMeIOTimeout, Known[uint64](30, "s", "/sys/module/nvme_core/parameters/io_timeout")},
		{len(k.Mitigations), 2}, {k.Mitigations[0].Text.State, StateDenied}, {k.Mitigations[1].Text.Value, "Not affected"},
		{k.TunedProfile.State, StateAbsent}, {k.Clocksource.State, StateAbsent},
		{k.PressureCPU, Known(0.125, "", "/proc/pressure/cpu")},
		{k.PressureIO.State, StateAbsent},
		{k.PressureIO.Reason, "pressure accounting is off; the kernel option psi=1 turns it on"},
	} {
		testkit.Same(t, c.want, c.got)
	}
	for _, s := range []string{"", "1 2 3", "1 2 3 x", "1 2 3 4 5"} {
		if f := readKernel(tree(t, "-- proc/sys/kernel/sem --\n"+s+"\n")).Sem; f.State != StateError {
			t.Errorf("%q is taken for four numbers", s)
		}
	}
}

// What swap space lies on is not known from a file without its head, and there is none below a head alone.
func TestSwapOn(t *testing.T) {
	for text, want := range map[string]State{"Filename Type\n": StateAbsent, "x\n": StateError, "!errno EACCES\n": StateDenied, "Filename\n/a b c\n": StateOK} {
		testkit.Is(t, want, readMemory(tree(t, "-- proc/swaps --\n"+text)).SwapOn.State, text)
	}
}

const counterLines = `-- proc/self/net/netstat --
TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 0 17 19
IpExt: InNoRoutes InOctets
IpExt: 0 12345
-- proc/self/net/snmp --
Tcp: RtoAlgorithm ActiveOpens PassiveOpens
Tcp: 1 5 20000
-- proc/net -> self/net --
`

func TestReadNetwork(t *testing.T) {
	n := readNetwork(tree(t, counterLines+"-- proc/sys/net/core/somaxconn --\n4096\n-- proc/sys/net/ipv4/tcp_rmem --\n4096\t131072\t6291456\n"+
		"-- proc/sys/net/ipv4/tcp_wmem --\n4096 16384\n-- proc/sys/net/ipv4/ip_local_port_range --\n32768\t60999\n"+
		"-- proc/sys/net/ipv4/tcp_keepalive_time --\n7200\n-- proc/sys/sunrpc/tcp_max_slot_table_entries --\n!errno EACCES\n"))
	for _, c := range []struct{ got, want any }{
		{n.Somaxconn, Known[int64](4096, "", "/proc/sys/net/core/somaxconn")},
		{n.TCPRmem.Value, []int{4096, 131072, 6291456}}, {n.TCPWmem.State, StateError}, {n.PortRange.Value, []int{32768, 60999}},
		{n.KeepaliveTime, Known[int64](7200, "s", "/proc/sys/net/ipv4/tcp_keepalive_time")},
		{n.NFSSlots.State, StateDenied}, {n.SACK.State, StateAbsent},
		{n.ListenOverflows, Known[int64](17, "", "/proc/net/netstat TcpExt ListenOverflows")},
		{n.ListenDrops.Value, int64(19)}, {n.PassiveOpens.Value, int64(20000)},
	} {
		testkit.Same(t, c.want, c.got)
	}
}

// Counters that do not fit their names are no counterLines, and never 0.
func TestGarbledCounters(t *testing.T) {
	for text, want := range map[string]State{
		"TcpExt: A ListenOverflows\nTcpExt: 1\n":                  StateError,
		"TcpExt: A ListenOverflows\nTcpExt: 1 -2\n":               StateError,
		"TcpExt: A ListenOverflows\n":                             StateError,
		"TcpExt: A B\nTcpExt: 1 2\n":                              StateAbsent,
		"nothing of this form\n":                                  StateAbsent,
		"TcpExt: ListenOverflows\nTcpExt: 99999999999999999999\n": StateError,
	} {
		f := netCounter(tree(t, "-- proc/self/net/netstat --\n"+text+"-- proc/net -> self/net --\n"), "/proc/net/netstat", "TcpExt", "ListenOverflows")
		testkit.Is(t, want, f.State, text, f.Reason)
	}
}

func TestClockSync(t *testing.T) {
	for text, want := range map[string]Fact[bool]{
		"-- .hostlab/adjtimex --\n64\n":   Known(false, "", clockFile),
		"-- .hostlab/adjtimex --\n8193\n": Known(true, "", clockFile),
		"-- .hostlab/adjtimex --\n-1\n":   {Source: clockFile, State: StateError, Reason: "-1 is no status of a clock"},
		"-- proc/x --\n":                  {Source: clockFile, State: StateAbsent, Reason: "no such file or directory"},
	} {
		testkit.Same(t, want, readClockSync(tree(t, text)), "", text)
	}
}

func TestStalls(t *testing.T) {
	k := readKernel(tree(t, "-- proc/pressure/memory --\nsome avg10=9.00 avg60=8.00 avg300=7.00 total=1\nfull avg10=3.00 avg60=2.00 avg300=1.50 total=1\n"+
		"-- proc/pressure/io --\nsome avg10=9.00 avg60=8.00 avg300=7.00 total=1\n"))
	testkit.Is(t, 0.015, k.StalledMemory.Or(-1), "memory")
	if k.StalledIO.State != StateError || !strings.Contains(k.StalledIO.Reason, "no line full") || k.PressureIO.Or(-1) != 0.08 {
		t.Errorf("I/O: %+v, %+v", k.StalledIO, k.PressureIO)
	}
}

func TestQueuesOfADisk(t *testing.T) {
	two := disk("vda", "254:0", "pci0000:00/virtio0", with(flash, "mq/0/nr_tags", "128", "mq/1/nr_tags", "128", "mq/x/nr_tags", "1"))
	for archive, want := range map[string]int64{two: 2, virtioDisk: -1} {
		testkit.Is(t, want, (block{tree(t, archive)}).device("vda").Queues.Or(-1), "queues")
	}
}

func TestAccelerators(t *testing.T) {
	list := readAccelerators(tree(t, "-- sys/bus/dsa/devices/dsa0/wq0.0/state --\nenabled\n-- sys/bus/dsa/devices/dsa0/wq0.1/state --\ndisabled\n"+
		"-- sys/bus/dsa/devices/iax1/wq1.0/state --\ndisabled\n-- sys/bus/dsa/devices/wq0.0/state --\nenabled\n"))
	if len(list) != 2 || list[0].Name != "dsa0" || list[0].Queues.Or(-1) != 1 || list[1].Queues.Or(-1) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestUncore(t *testing.T) {
	const dir = "-- sys/devices/system/cpu/intel_uncore_frequency/uncore00/"
	f := readFrequency(tree(t, dir+"max_freq_khz --\n1800000\n"+dir+"initial_max_freq_khz --\n2500000\n"+dir+"elc_floor_freq_khz --\n0\n"+
		dir+"elc_low_threshold_percent --\n10\n"+dir+"elc_high_threshold_percent --\n94\n"+dir+"elc_high_threshold_enable --\n1\n"), Topology{})
	u := f.Uncore[0]
	if u.InitialMax.Value != 2500000000 || u.Max.Value != 1800000000 || u.ELCFloor.Or(-1) != 0 || u.ELCLow.Or(0) != 10 || u.ELCHigh.Or(0) != 94 || !u.ELCHighActive.Value {
		t.Errorf("%+v", u)
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n", "/mnt2/x")
	f.Add("1 1 0:1 / / rw - rootfs r rw\n2 1 0:2 / / rw - ext4 \\134\\040 rw\n2 2 0:3 / / rw - x y", "/")
	f.Fuzz(func(t *testing.T, s, path string) {
		m := mountTable{mounts: parseMounts(s)}
		for i := range m.mounts {
			if !strings.HasPrefix(m.mounts[i].point, "/") {
				t.Errorf("mount point %q", m.mounts[i].point)
			}
			m.mounts[i].options()
		}
		if strings.HasPrefix(path, "/") {
			if c := m.find(path); c != nil && m.rootMount() != nil && !within(path, c.point) {
				t.Errorf("%q is not within %q", path, c.point)
			}
		}
	})
}

// The kernel escapes blank, tab, newline and backslash; all else is as it is.
func TestUnescapeOctal(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		mangled := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(s)
		if got := unescapeOctal(mangled); got != s {
			t.Errorf("%q gives %q, want %q", mangled, got, s)
		}
	})
}

// Without overmounts, the kernel's way and the longest mount point agree.
func TestFindIsTheLongestWhereNothingIsHidden(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		points := rapid.SliceOfDistinct(rapid.StringMatching(`(/[ab]){1,4}`), func(s string) string { return s }).Draw(t, "points")
		m := mountTable{mounts: []mount{{id: 1, point: "/"}}}
		for len(points) > 0 { // outer mounts first, as they must be made
			least := 0
			for i := range points {
				if len(points[i]) < len(points[least]) {
					least = i
				}
			}
			p := points[least]
			points = append(points[:least], points[least+1:]...)
			m.mounts = append(m.mounts, mount{id: len(m.mounts) + 1, parent: m.longest(p).id, point: p})
		}
		path := rapid.StringMatching(`(/[ab]){1,6}`).Draw(t, "path")
		if got, want := m.find(path), m.longest(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	})
}

// Only what a user mounted is his: others may call theirs the same.
func TestUserMounts(t *testing.T) {
	got := UserMounts(tree(t, mountinfo(`36 35 98:0 / /home/eve/at rw - fuse.delay delay rw,user_id=54321,group_id=0`,
		`37 35 98:1 / /var/lib/with\040space rw,nosuid shared:1 - fuse.delay delay rw,user_id=0,group_id=0,allow_other`,
		`38 35 98:2 / /mnt rw - ext4 /dev/user_id=0 rw,user_id=0`, `39 35 98:3 / /odd rw - fuse.delay delay rw,user_id=00`)), "fuse.delay", 0)
	testkit.Same(t, map[int]string{37: "/var/lib/with space"}, got)
}
