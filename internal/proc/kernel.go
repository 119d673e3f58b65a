package proc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"time"
)

// Times are the CPU times of one CPU since boot in s (proc_stat(5)). User
// holds the time of guests, which the kernel counts there too. NaN: not counted.
type Times struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal float64
}

// Busy is the time in which the CPU worked for this machine: without steal.
func (t Times) Busy() float64 {
	busy := t.User + t.System
	for _, v := range []float64{t.Nice, t.IRQ, t.SoftIRQ} {
		if !math.IsNaN(v) { // Windows counts them with the others
			busy += v
		}
	}
	return busy
}

// CPUTimes are those of one CPU that is online.
type CPUTimes struct {
	ID int
	Times
}

// MaxCPUs is the most that Linux supports (CONFIG_NR_CPUS on x86, 6.12) with room to spare.
const MaxCPUs = 65536

// ParseCPUs reads the lines of single CPUs of /proc/stat. It is written by hand since it runs once
// a second on hundreds of lines. Kernels before 2.6.11 have fewer columns than eight.
func ParseCPUs(b []byte) (into []CPUTimes, err error) {
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
		if !ok || id >= MaxCPUs || len(into) > 0 && int(id) <= into[len(into)-1].ID {
			return nil, fmt.Errorf("/proc/stat: expected CPUs in order, found %.40q", line)
		}
		var v [8]float64
		for i := range v {
			var n uint64
			if n, rest, ok = leading(rest); !ok {
				return nil, fmt.Errorf("/proc/stat: expected eight numbers, found %.60q", line)
			}
			v[i] = float64(n) / float64(time.Second/Tick)
		}
		into = append(into, CPUTimes{ID: int(id),
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

// WholeNumber reads a file of one whole number that is not negative.
func WholeNumber(b []byte) (float64, error) {
	n, rest, ok := leading(b)
	if !ok || len(rest) > 0 {
		return math.NaN(), fmt.Errorf("expected a whole number, found %.40q", b)
	}
	return float64(n), nil
}

// ParsePressure reads a file of /proc/pressure. That of the CPU had no line "full"
// before Linux 5.13.
func ParsePressure(b []byte) (Pressure, error) {
	s := Pressure{math.NaN(), math.NaN()}
	for line := range bytes.Lines(b) {
		_, total, ok := bytes.Cut(line, []byte("total="))
		if !ok {
			return s, fmt.Errorf("expected total=, found %.60q", line)
		}
		us, err := WholeNumber(bytes.TrimSpace(total))
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
	if math.IsNaN(s.Some) {
		return s, errors.New("there is no line some")
	}
	return s, nil
}

// Pressure is the time in s in which some task waited for a resource, or all did, since boot or since its control group was made
// (Documentation/accounting/psi.rst); NaN.
type Pressure struct{ Some, Full float64 }

// ReadPressure reads a file of /proc/pressure, or a control group's.
func ReadPressure(file string) (Pressure, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Pressure{math.NaN(), math.NaN()}, err
	}
	return ParsePressure(b)
}
