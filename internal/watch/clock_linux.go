package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

type perfClock struct {
	groups map[int][]int // file descriptors; the first leads
}

// newClock opens counters on CPUs: APERF, MPERF and TSC of the msr PMU, else the
// cycles of the core's own. Counting what other tasks do takes CAP_PERFMON (Linux
// 5.8) or a kernel.perf_event_paranoid of 0 or less.
func newClock(cpus []int) (clock, string, error) {
	if c, err := openPerf(cpus, msrEvents()); err == nil {
		return c, "APERF/MPERF", nil
	}
	cycles := []unix.PerfEventAttr{{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES}}
	c, err := openPerf(cpus, cycles)
	switch {
	case err == nil:
		return c, "cycles", nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		return nil, "", fmt.Errorf("perf_event_open was refused: it takes root, CAP_PERFMON or kernel.perf_event_paranoid of 0 or less (it is %s), and containers often forbid it",
			strings.TrimSpace(string(paranoid)))
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		return nil, "", errors.New("no CPU cycles to count: the hypervisor hides the counters, or the kernel has none")
	}
	return nil, "", fmt.Errorf("perf_event_open: %w", err)
}

// msrEvents are the events of the msr PMU, in the order of counts; nil without it.
func msrEvents() []unix.PerfEventAttr {
	const dir = "/sys/bus/event_source/devices/msr/"
	kind, err := os.ReadFile(dir + "type")
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	if err != nil {
		return nil
	}
	var out []unix.PerfEventAttr
	for _, name := range []string{"aperf", "mperf", "tsc"} {
		text, err := os.ReadFile(dir + "events/" + name)
		if err != nil {
			return nil
		}
		config, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "event=")
		if !ok {
			return nil
		}
		v, err := strconv.ParseUint(config, 0, 64)
		if err != nil {
			return nil
		}
		out = append(out, unix.PerfEventAttr{Type: uint32(n), Config: v})
	}
	return out
}

// readFormat asks for the group's times besides its values, since a counter that
// several users want is shared out over time.
const readFormat = unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING

func openPerf(cpus []int, events []unix.PerfEventAttr) (_ *perfClock, err error) {
	if len(events) == 0 {
		return nil, unix.ENOENT
	}
	c := &perfClock{groups: map[int][]int{}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	for _, cpu := range cpus {
		leader := -1
		for _, attr := range events {
			attr.Size, attr.Read_format = uint32(unsafe.Sizeof(attr)), readFormat
			fd, err := unix.PerfEventOpen(&attr, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				return nil, err
			}
			c.groups[cpu] = append(c.groups[cpu], fd)
			if leader < 0 {
				leader = fd
			}
		}
	}
	return c, nil
}

func (c *perfClock) read(cpu int) (counts, error) {
	fds := c.groups[cpu]
	if fds == nil {
		return counts{}, fmt.Errorf("CPU %d came online later", cpu)
	}
	var buf [6 * 8]byte // number, time enabled, time running, values
	n, err := unix.Read(fds[0], buf[:])
	if err != nil {
		return counts{}, fmt.Errorf("reading a counter of CPU %d: %w", cpu, err)
	}
	if n < (3+len(fds))*8 {
		return counts{}, fmt.Errorf("a counter of CPU %d has stopped", cpu)
	}
	word := func(i int) float64 { return float64(binary.NativeEndian.Uint64(buf[8*i:])) }
	scale := 1.0
	if running := word(2); running > 0 {
		scale = word(1) / running
	}
	out := counts{Actual: word(3) * scale}
	if len(fds) == 3 {
		out.Reference, out.TSC = word(4)*scale, word(5)*scale
	}
	return out, nil
}

func (c *perfClock) close() {
	for _, fds := range c.groups {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

// heldFiles is how many files may be held open: a half of what the process may have.
func heldFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 256
	}
	return int(min(l.Cur/2, 1<<20))
}
