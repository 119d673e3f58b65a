package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Cycles of the processor, while it does not sleep.
var Cycles = Event{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES}

// times asks for an event's times besides its value, since a counter that several users want
// is shared out over time.
const times = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING

// Group counts several events of a CPU at the same time.
type Group []int // file descriptors; the first leads

// CPU begins to count on a CPU, for all tasks. That takes CAP_PERFMON (Linux 5.8) or a
// kernel.perf_event_paranoid of 0 or less.
func CPU(cpu int, events ...Event) (g Group, err error) {
	leader := -1
	for _, e := range events {
		attr := unix.PerfEventAttr{Type: e.Kind, Config: e.Config, Read_format: times | unix.PERF_FORMAT_GROUP}
		fd, err := open(&attr, -1, cpu, leader)
		if err != nil {
			g.Close()
			return nil, err
		}
		g = append(g, fd)
		leader = g[0]
	}
	return g, nil
}

// Read returns the count of each event.
func (g Group) Read() ([]float64, error) {
	w, err := read(g[0], 3+len(g)) // number, time enabled, time running, values
	if err != nil {
		return nil, err
	}
	for i := range g {
		w[3+i] *= scale(w[1], w[2])
	}
	return w[3:], nil
}

// Close ends counting.
func (g Group) Close() {
	for _, fd := range g {
		unix.Close(fd)
	}
}

// Counter counts an event of a thread.
type Counter struct{ fd int }

// Thread begins to count for a thread, 0 this one, and for all threads and processes that it
// starts from now on. Its own time takes an owner of the process and a
// kernel.perf_event_paranoid of 1 or less, or CAP_PERFMON.
func Thread(tid int, e Event) (Counter, error) {
	fd, err := open(&unix.PerfEventAttr{Type: e.Kind, Config: e.Config, Read_format: times, Bits: unix.PerfBitInherit},
		tid, -1,
		-1)
	return Counter{fd}, err
}

// Read returns what was counted of all of them. Time enabled passes while one of them runs.
func (c Counter) Read() (Count, error) {
	w, err := read(c.fd, 3) // value, time enabled, time running
	if err != nil {
		return Count{}, err
	}
	return Count{w[0] * scale(w[1], w[2]), w[1] / 1e9}, nil
}

// Close ends counting.
func (c Counter) Close() { unix.Close(c.fd) }

func open(attr *unix.PerfEventAttr, tid, cpu, leader int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := unix.PerfEventOpen(attr, tid, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		return -1, fmt.Errorf(
			"the kernel refused to count cycles: it takes root, CAP_PERFMON or kernel.perf_event_paranoid of 0 or "+
				"less (it is %s), and containers often forbid it",
			strings.TrimSpace(string(paranoid)))
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV),
		errors.Is(err, unix.ENOSYS):
		return -1, ErrNone
	case errors.Is(err, unix.ESRCH):
		return -1, ErrEnded
	case err != nil:
		return -1, fmt.Errorf("perf_event_open: %w", err)
	}
	return fd, nil
}

func read(fd, words int) ([]float64, error) {
	buf := make([]byte, 8*words)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, fmt.Errorf("reading a counter: %w", err)
	}
	if n < len(buf) {
		return nil, errors.New("a counter has stopped")
	}
	out := make([]float64, words)
	for i := range out {
		out[i] = float64(binary.NativeEndian.Uint64(buf[8*i:]))
	}
	return out, nil
}

// scale is the share of the time that a counter had hardware, inverted.
func scale(enabled, running float64) float64 {
	if running <= 0 {
		return 1
	}
	return enabled / running
}
