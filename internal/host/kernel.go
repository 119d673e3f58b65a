package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func readKernel(t Tree) Kernel {
	k := Kernel{Mitigations: readMitigations(t), ClockSynced: readClockSync(t)}
	fill(t, "", &k)
	k.Threads, k.RemoveIPC = readThreads(t), readRemoveIPC(t)
	k.SaptuneNotes = Convert(t.Text("/etc/sysconfig/saptune"), "", parseSaptune)
	if sem, ok := k.Sem.Get(); ok && len(sem) != 4 {
		k.Sem = Unknown[[]int](k.Sem.Source, fmt.Errorf("expected four numbers, found %d", len(sem)))
	}
	return k
}

// readThreads reads how many threads there are, of "0.00 0.01 0.05 2/345 6789".
func readThreads(t Tree) Fact[int64] {
	const file = "/proc/loadavg"
	return Convert(t.Text(file), "", func(s string) (int64, error) {
		if f := strings.Fields(s); len(f) == 5 {
			_, all, _ := strings.Cut(f[3], "/")
			if n, err := strconv.ParseInt(all, 10, 64); err == nil && n > 0 {
				return n, nil
			}
		}
		return 0, fmt.Errorf("expected the number of threads, found %s", clip(s))
	})
}

// parseSaptune finds the notes that saptune applies at boot, in the order that it keeps (saptune(8)).
func parseSaptune(s string) (string, error) {
	for line := range strings.Lines(s) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "NOTE_APPLY_ORDER="); ok {
			if notes := strings.Join(strings.Fields(strings.Trim(list, `"'`)), " "); notes != "" {
				return notes, nil
			}
		}
	}
	return "", none("saptune applies no note")
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

// readPressure reads the share of time in which tasks waited for a resource: some task or all of them (full), over the
// last 60 or 300 seconds (Documentation/accounting/psi.rst).
func readPressure(t Tree, file, who, span string) Fact[float64] {
	b, err := t.Read(file)
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP):
		// The files are there, but accounting was not switched on at boot.
		err = none("pressure accounting is off; the kernel option psi=1 turns it on")
	case errors.Is(err, fs.ErrNotExist):
		err = none("the kernel does not account pressure (CONFIG_PSI)")
	}
	if err != nil {
		return Unknown[float64](file, err)
	}
	line, _ := lineOf(string(b), who+" ")
	_, rest, _ := strings.Cut(line, span+"=")
	text, _, _ := strings.Cut(rest, " ")
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return Unknown[float64](file, fmt.Errorf("no line %s with a percentage", who))
	}
	return Known(percent/100, "", file)
}

func readMemory(t Tree) Memory {
	m := Memory{PageSize: readPageSize(t)}
	fill(t, "", &m)
	m.ShmSize = shmSize(readMounts(t, selfMounts), m.Total)
	m.Monitors = Convert(m.Monitors, "", func(s string) (string, error) { return strings.Join(strings.Fields(s), " "), nil })
	if m.Monitors.State == StateAbsent && t.Exists(ResctrlDir) {
		m.Monitors.Reason = "resctrl is not mounted; " + MountResctrl + " shows it"
	}
	m.SwapOn = Convert(t.Text("/proc/swaps"), "", parseSwaps)
	for _, kB := range hugeSizes(t, poolDir) {
		pool := HugePool{Size: kB << 10}
		fill(t, fmt.Sprintf("%s/hugepages-%dkB", poolDir, kB), &pool)
		m.HugePools = append(m.HugePools, pool)
	}
	for _, kB := range hugeSizes(t, thpDir) {
		size := THPSize{Size: kB << 10}
		fill(t, fmt.Sprintf("%s/hugepages-%dkB", thpDir, kB), &size)
		m.THPSizes = append(m.THPSizes, size)
	}
	return m
}

// ResctrlDir is where the kernel shows its counters of memory traffic once it is mounted. The empty directory is there
// where kernel and processor could (fs/resctrl/rdtgroup.c, resctrl_init). hostlab never mounts it: that changes what
// other programs see.
const (
	ResctrlDir   = "/sys/fs/resctrl"
	MountResctrl = "sudo mount -t resctrl resctrl " + ResctrlDir
)

const (
	thpDir  = "/sys/kernel/mm/transparent_hugepage"
	poolDir = "/sys/kernel/mm/hugepages"
)

// hugeSizes lists the sizes of huge pages of which a directory tells, in KiB.
func hugeSizes(t Tree, dir string) (sizes []int64) {
	names, _ := t.Dir(dir)
	for _, n := range names {
		text, ok := strings.CutPrefix(n, "hugepages-")
		kB, err := strconv.ParseInt(strings.TrimSuffix(text, "kB"), 10, 32)
		if ok && err == nil && n == fmt.Sprintf("hugepages-%dkB", kB) {
			sizes = append(sizes, kB)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// parseSwaps lists what swap space lies on: the first word of each line behind the head of /proc/swaps.
func parseSwaps(s string) (string, error) {
	head, rest, _ := strings.Cut(s, "\n")
	if !strings.HasPrefix(head, "Filename") {
		return "", fmt.Errorf("expected a head, found %s", clip(head))
	}
	var on []string
	for line := range strings.Lines(rest) {
		if words := strings.Fields(line); len(words) > 0 {
			on = append(on, words[0])
		}
	}
	if on == nil {
		return "", none("there is no swap space")
	}
	return strings.Join(on, ","), nil
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

// pageSizeFile is where a recording keeps the page size, in bytes: no file of the
// kernel tells it in words.
const pageSizeFile = "/.hostlab/pagesize"

// readPageSize asks the C library's way on the machine itself. In a recording
// without it, amd64 has pages of 4 KiB only, while arm64 has three sizes.
func readPageSize(t Tree) Fact[int64] {
	if t.Live() {
		t.stated(pageSizeFile, strconv.Itoa(os.Getpagesize()))
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

// clockFile is where a recording keeps the status word that adjtimex(2) gives, since no file of the kernel has it.
const clockFile = "/.hostlab/adjtimex"

// unsynchronised is STA_UNSYNC of adjtimex(2): no program keeps the clock with a time server, as far as the kernel
// knows.
const unsynchronised = 0x40

// readClockSync tells whether the clock is synchronised.
func readClockSync(t Tree) Fact[bool] {
	status := t.Int(clockFile, "", 1)
	if t.Live() {
		now, err := clockStatus()
		if err != nil {
			return Unknown[bool]("adjtimex", err)
		}
		t.stated(clockFile, strconv.Itoa(now))
		status = Known(int64(now), "", "adjtimex")
	}
	return Convert(status, "", func(v int64) (bool, error) {
		if v < 0 || v > 0xffff {
			return false, fmt.Errorf("%d is no status of a clock", v)
		}
		return v&unsynchronised == 0, nil
	})
}

// logindDirs hold systemd-logind's configuration, the first wins: of files of one name in the drop-in
// directories, that of the first directory holds (systemd.conf.d(5)).
var logindDirs = []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"}

// readRemoveIPC reads whether logind removes a user's shared memory and semaphores when the last session of that
// user ends. A drop-in wins over the main file, and of drop-ins the one whose name sorts last.
func readRemoveIPC(t Tree) Fact[string] {
	const key = "RemoveIPC"
	main := absentFact[string](logindDirs[0]+"/logind.conf", "not set: the distribution's default holds")
	for _, dir := range slices.Backward(logindDirs) {
		if f := loginValue(t, dir+"/logind.conf", key); f.State != StateAbsent {
			main = f
		}
	}
	dropIns := map[string]string{} // name -> file
	for _, dir := range slices.Backward(logindDirs) {
		names, _ := t.Dir(dir + "/logind.conf.d")
		for _, n := range names {
			if path.Ext(n) == ".conf" {
				dropIns[n] = dir + "/logind.conf.d/" + n
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(dropIns)) {
		if f := loginValue(t, dropIns[n], key); f.State != StateAbsent {
			main = f
		}
	}
	return main
}

// loginValue reads the last value of a key below [Login]; absent where there is none.
func loginValue(t Tree, file, key string) Fact[string] {
	f := t.keeping(loginLines).Text(file)
	return Convert(f, "", func(s string) (string, error) {
		values := parseConf(s, []string{"Login"})
		if v := values[key]; v != "" {
			return v, nil
		}
		return "", none("not set: the distribution's default holds")
	})
}

// loginLines leaves the lines that are read.
func loginLines(data []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") || strings.HasPrefix(line, "RemoveIPC") {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, "\n"))
}
