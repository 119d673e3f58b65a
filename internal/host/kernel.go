package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

func readKernel(t Tree) Kernel {
	k := Kernel{
		Mitigations: readMitigations(t),
		Sem:         Convert(t.Text("/proc/sys/kernel/sem"), "", parseSem),
		PressureCPU: readPressure(t, "cpu"),
		PressureIO:  readPressure(t, "io"),
	}
	fill(t, "", &k)
	return k
}

func readMitigations(t Tree) []Mitigation {
	const dir = "/sys/devices/system/cpu/vulnerabilities"
	names, _ := t.Dir(dir)
	list := make([]Mitigation, 0, len(names))
	for _, n := range names {
		list = append(list, Mitigation{Name: n, Text: t.Text(dir + "/" + n)})
	}
	return list
}

func parseSem(s string) ([]int, error) {
	sem, err := parseInts(s)
	if err != nil || len(sem) != 4 {
		return nil, fmt.Errorf("expected four numbers, found %s", clip(s))
	}
	return sem, nil
}

// readPressure reads the share of the last minute in which some task waited for
// a resource (Documentation/accounting/psi.rst).
func readPressure(t Tree, resource string) Fact[float64] {
	file := "/proc/pressure/" + resource
	f := unmask(t, procFact(t, file, func(p procfs.FS) (float64, error) {
		s, err := p.PSIStatsForResource(resource)
		if err != nil {
			return 0, err
		}
		if s.Some == nil || !(s.Some.Avg60 >= 0 && s.Some.Avg60 <= 100) {
			return 0, fmt.Errorf("no line some with a percentage")
		}
		return s.Some.Avg60 / 100, nil
	}))
	switch {
	case f.State != StateOK && f.Reason == syscall.EOPNOTSUPP.Error():
		// The files are there, but accounting was not switched on at boot.
		f.State, f.Reason = StateAbsent, "pressure accounting is off; the kernel option psi=1 turns it on"
	case f.State == StateAbsent:
		f.Reason = "the kernel does not account pressure (CONFIG_PSI)"
	}
	return f
}

func readMemory(t Tree) Memory {
	const meminfoPath = "/proc/meminfo"
	info := unmask(t, procFact(t, meminfoPath, procfs.FS.Meminfo))
	field := func(name, unit string, get func(procfs.Meminfo) *uint64) Fact[int64] {
		f := Convert(info, unit, func(i procfs.Meminfo) (int64, error) {
			if p := get(i); p != nil && *p < 1<<63 {
				return int64(*p), nil
			}
			return 0, fmt.Errorf("no line %s", name)
		})
		if info.State == StateOK && f.State == StateError {
			f.State = StateAbsent // a kernel built without it has no such line
		}
		f.Source = meminfoPath + " " + name
		return f
	}
	total := field("MemTotal", "B", func(i procfs.Meminfo) *uint64 { return i.MemTotalBytes })
	m := Memory{
		Total:         total,
		SwapTotal:     field("SwapTotal", "B", func(i procfs.Meminfo) *uint64 { return i.SwapTotalBytes }),
		HugePageSize:  field("Hugepagesize", "B", func(i procfs.Meminfo) *uint64 { return i.HugepagesizeBytes }),
		HugePages:     field("HugePages_Total", "", func(i procfs.Meminfo) *uint64 { return i.HugePagesTotal }),
		HugePagesFree: field("HugePages_Free", "", func(i procfs.Meminfo) *uint64 { return i.HugePagesFree }),
		ShmSize:       shmSize(readMounts(t, selfMounts), total),
		PageSize:      readPageSize(t),
	}
	fill(t, "", &m)
	return m
}

// shmSize tells how large /dev/shm may grow. The kernel shows size= only where
// it is not the default, half of the memory (shmem_show_options, Linux 6.12).
func shmSize(m mountTable, total Fact[int64]) Fact[int64] {
	const dir = "/dev/shm"
	if m.err != nil {
		return Unknown[int64](m.path, m.err)
	}
	mnt := m.find(dir)
	if mnt == nil || mnt.point != dir {
		return absentFact[int64](m.path, dir+" is not a mount of its own")
	}
	if mnt.fsType != "tmpfs" {
		return absentFact[int64](m.path, dir+" is "+mnt.fsType+", which has no size option")
	}
	source := m.path + " size of " + dir
	opt, set := mnt.option("size")
	if percent, ok := strings.CutSuffix(opt, "%"); ok || !set {
		share := int64(50)
		if ok {
			v, err := strconv.ParseInt(percent, 10, 64)
			if err != nil || v < 0 || v > 1000 {
				return Unknown[int64](source, fmt.Errorf("expected a percentage, found %s", clip(opt)))
			}
			share = v
		}
		f := Convert(total, "B", func(v int64) (int64, error) { return v / 100 * share, nil })
		f.Source = fmt.Sprintf("%s: %d %% of %s", source, share, total.Source)
		if !set {
			f.Source = fmt.Sprintf("%s not set: half of %s", source, total.Source)
		}
		return f
	}
	v, err := parseSize(opt)
	if err != nil {
		return Unknown[int64](source, err)
	}
	return Known(v, "B", source)
}

// parseSize reads a number of bytes with the kernel's endings (memparse).
func parseSize(s string) (int64, error) {
	num, shift := s, 0
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmgtpe", s[n-1]|0x20); i >= 0 {
			num, shift = s[:n-1], 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(num, 10, 64)
	if err != nil || v < 0 || v<<shift>>shift != v {
		return 0, fmt.Errorf("expected a size like 48K, found %s", clip(s))
	}
	return v << shift, nil
}

// pageSizeFile is where a recording keeps the page size, in bytes: no file of the
// kernel tells it in words.
const pageSizeFile = "/.hostlab/pagesize"

// readPageSize asks the C library's way on the machine itself. In a recording
// without it, amd64 has pages of 4 KiB only, while arm64 has three sizes.
func readPageSize(t Tree) Fact[int64] {
	if t.Live() {
		t.told(pageSizeFile, strconv.Itoa(os.Getpagesize()))
		return Known(int64(os.Getpagesize()), "B", "getpagesize")
	}
	f := t.Int(pageSizeFile, "B", 1)
	if v, ok := f.Get(); ok && (v < 512 || v&(v-1) != 0) {
		return Unknown[int64](pageSizeFile, fmt.Errorf("%d B is no page", v))
	}
	if f.State != StateAbsent {
		return f
	}
	if readCPUInfo(t).arch() == "amd64" {
		return Known[int64](4096, "B", "the only page size of amd64")
	}
	return absentFact[int64](pageSizeFile, "the recording does not tell the page size")
}
