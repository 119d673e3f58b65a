package host

import (
	"strings"
	"testing"

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
