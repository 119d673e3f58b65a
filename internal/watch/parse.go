package watch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"hostlab/internal/proc"
)

const userHZ = float64(time.Second / proc.Tick)

// maxCPUs is the most that Linux supports (CONFIG_NR_CPUS on x86, 6.12) with room to spare.
const maxCPUs = 65536

// parseStat reads the lines of single CPUs. It is written by hand since it runs once
// a second on hundreds of lines. Kernels before 2.6.11 have fewer columns than eight.
func parseStat(b []byte, into []CPUReading) ([]CPUReading, error) {
	into = into[:0]
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		rest, ok := bytes.CutPrefix(line, []byte("cpu"))
		if !ok {
			break // the CPUs come first, and what follows is long
		}
		if len(rest) == 0 || rest[0] == ' ' {
			continue // the sum
		}
		id, rest, ok := leading(rest)
		if !ok || id >= maxCPUs || len(into) > 0 && int(id) <= into[len(into)-1].ID {
			return nil, fmt.Errorf("/proc/stat: expected CPUs in order, found %.40q", line)
		}
		var v [8]float64
		for i := range v {
			var n uint64
			if n, rest, ok = leading(rest); !ok {
				return nil, fmt.Errorf("/proc/stat: expected eight numbers, found %.60q", line)
			}
			v[i] = float64(n) / userHZ
		}
		into = append(into, CPUReading{ID: int(id), Frequency: unknown, Effective: unknown,
			Times: Times{User: v[0], Nice: v[1], System: v[2], Idle: v[3], IOWait: v[4], IRQ: v[5], SoftIRQ: v[6], Steal: v[7]}})
	}
	if len(into) == 0 {
		return nil, errors.New("/proc/stat has no line of a CPU")
	}
	return into, nil
}

func leading(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		d := uint64(b[i] - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, b, false
		}
		n = n*10 + d
		i++
	}
	return n, b[i:], i > start && (i == len(b) || b[i] == ' ')
}

// number reads a file of one whole number that is not negative.
func number(b []byte) (float64, error) {
	n, rest, ok := leading(b)
	if !ok || len(rest) > 0 {
		return unknown, fmt.Errorf("expected a whole number, found %.40q", b)
	}
	return float64(n), nil
}

// parsePressure reads a file of /proc/pressure. That of the CPU had no line "full"
// before Linux 5.13.
func parsePressure(b []byte) (Stall, error) {
	s := Stall{unknown, unknown}
	for line := range bytes.Lines(b) {
		i := bytes.Index(line, []byte("total="))
		if i < 0 {
			return s, fmt.Errorf("expected total=, found %.60q", line)
		}
		us, err := number(bytes.TrimSpace(line[i+len("total="):]))
		if err != nil {
			return s, err
		}
		switch {
		case bytes.HasPrefix(line, []byte("some ")):
			s.Some = us / 1e6
		case bytes.HasPrefix(line, []byte("full ")):
			s.Full = us / 1e6
		}
	}
	if !known(s.Some) {
		return s, errors.New("there is no line some")
	}
	return s, nil
}

// parseDisks picks the named disks from /proc/diskstats. Flushes came with Linux
// 5.5. Times there are in ms.
func parseDisks(b []byte, names []string) ([]DiskReading, error) {
	var out []DiskReading
	for _, name := range names {
		found := false
		for line := range bytes.Lines(b) {
			f := bytes.Fields(line)
			if len(f) < 14 || string(f[2]) != name {
				continue
			}
			found = true
			d := DiskReading{Name: name, Flushes: unknown, FlushTime: unknown}
			var err error
			get := func(i int) float64 {
				v, e := strconv.ParseUint(string(f[i]), 10, 64)
				err = errors.Join(err, e)
				return float64(v)
			}
			d.Writes, d.WriteTime = get(7), get(10)/1e3
			if len(f) >= 20 {
				d.Flushes, d.FlushTime = get(18), get(19)/1e3
			}
			if err != nil {
				return nil, fmt.Errorf("/proc/diskstats: expected numbers, found %.80q", bytes.TrimSpace(line))
			}
			out = append(out, d)
		}
		if !found {
			return nil, fmt.Errorf("/proc/diskstats has no line of %s", name)
		}
	}
	return out, nil
}
