package assess

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Interrupts are what interrupts and the work that they leave behind (softirqs) took of the CPUs meanwhile.
type Interrupts struct {
	CPU    int     `json:"cpu"`    // the one with most
	Most   float64 `json:"most"`   // share of its time
	Others float64 `json:"others"` // mean share of the time of the others
	Source string  `json:"source"` // device whose interrupts arrived there most; "": not known
	// Service is the mean share of the time of the CPUs that the service may use; nil: not known. Outside: CPU is none of
	// them; nil: not known, either.
	Service *float64 `json:"service"`
	Outside *bool    `json:"outside,omitempty"`
	// Local is set where most packets went between programs of this host: the work for those is a softirq, too, and no
	// device's.
	Local bool `json:"local,omitempty"`
}

// Loads are what each CPU did, by its number, small enough for days: a byte is a share of the time in 1/250.
type Loads struct {
	Busy []byte `json:"busy"` // for anybody; 255: not known, as of a CPU that is off
	// Interrupts are theirs and their softirqs'; nil: no CPU had any worth a byte.
	Interrupts []byte `json:"interrupts,omitempty"`
	// share of the time in which some task of the host waited for a CPU; nil: not known
	Pressure *float64 `json:"pressure"`
}

// One is a share of 1 in a byte of Loads, and NoLoad one that is not known.
const (
	One    = 250
	NoLoad = 255
)

// interruptions counts them, by CPU and by source, and all else that CPUs did.
type interruptions struct {
	times    []proc.CPUTimes
	sources  map[string][]float64 // by CPU, in the order of times
	pressure proc.Pressure        // s
	packets  [2]uint64            // that this host has got: over loopback, and from others
	at       time.Time
}

func countInterrupts() (c interruptions) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return c // on Windows, or where /proc is masked
	}
	if c.times, err = proc.ParseCPUs(stat); err != nil {
		return interruptions{}
	}
	list, _ := os.ReadFile("/proc/interrupts")
	c.sources, c.at = parseInterrupts(list, len(c.times)), time.Now()
	if c.pressure, err = proc.ReadPressure("/proc/pressure/cpu"); err != nil {
		c.pressure.Some = math.NaN()
	}
	if of, err := procfs.NewFS("/proc"); err == nil {
		devices, _ := of.NetDev()
		for name, d := range devices {
			if name == "lo" {
				c.packets[0] += d.RxPackets
			} else {
				c.packets[1] += d.RxPackets
			}
		}
	}
	return c
}

// whole is all of a CPU's time.
func whole(t proc.CPUTimes) float64 { return t.Busy() + t.Idle + t.IOWait + t.Steal }

// loads are those since an earlier count; nil: they are not known. A CPU that came or went has none.
func (c interruptions) loads(before interruptions) *Loads {
	if len(c.times) == 0 {
		return nil
	}
	last := c.times[len(c.times)-1].ID
	out := &Loads{Busy: bytes.Repeat([]byte{NoLoad}, last+1), Interrupts: make([]byte, last+1)}
	for _, now := range c.times {
		i := slices.IndexFunc(before.times, func(t proc.CPUTimes) bool { return t.ID == now.ID })
		if i < 0 {
			continue
		}
		was := before.times[i]
		if all := whole(now) - whole(was); all > 0 {
			share := func(s float64) byte { return byte(math.Round(One * min(1, max(0, s/all)))) }
			out.Busy[now.ID] = share(now.Busy() - was.Busy())
			out.Interrupts[now.ID] = share(now.IRQ + now.SoftIRQ - was.IRQ - was.SoftIRQ)
		}
	}
	if slices.Max(out.Interrupts) == 0 {
		out.Interrupts = nil
	}
	if lasted := c.at.Sub(before.at).Seconds(); lasted > 0 {
		out.Pressure = result.Finite(min(1, (c.pressure.Some-before.pressure.Some)/lasted))
	}
	return out
}

// parseInterrupts reads /proc/interrupts, " 24: 5 7 PCI-MSI 512000-edge virtio0-input.0", by the word behind the counts
// of the CPUs that names the device. Lines of the kernel's own interrupts, such as the timer's, have letters in place
// of the number, or no device.
func parseInterrupts(b []byte, cpus int) map[string][]float64 {
	out, lines := map[string][]float64{}, bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < cpus+2 || strings.Trim(f[0], "0123456789") != ":" {
			continue
		}
		device := f[len(f)-1]
		if device == "arch_timer" || device == "arm-pmu" || device == "timer" || strings.HasSuffix(device, "-edge") ||
			strings.HasSuffix(device, "-level") {
			continue // of arm64, of i8254, or a line without a device
		}
		counts := make([]float64, cpus)
		for i := range counts {
			n, err := strconv.ParseFloat(f[1+i], 64)
			if err != nil {
				return nil
			}
			counts[i] = n
		}
		out[f[0]+" "+device] = counts
	}
	return out
}

// since is what came since an earlier count; nil: that is not known. used are the CPUs that the service may use.
func (c interruptions) since(before interruptions, used []int) *Interrupts {
	same := func(a, b proc.CPUTimes) bool { return a.ID == b.ID }
	if len(c.times) < 2 || !slices.EqualFunc(c.times, before.times, same) { // CPUs came or went
		return nil
	}
	shares, sum, most := make([]float64, len(c.times)), 0.0, 0
	for i, now := range c.times {
		was := before.times[i]
		taken := now.IRQ + now.SoftIRQ - was.IRQ - was.SoftIRQ
		if all := whole(now) - whole(was); all > 0 && taken > 0 {
			shares[i] = taken / all
		}
		if sum += shares[i]; shares[i] > shares[most] {
			most = i
		}
	}
	out := &Interrupts{CPU: c.times[most].ID, Most: shares[most], Others: (sum - shares[most]) / float64(len(shares)-1)}
	out.Local = c.packets[0]-before.packets[0] > c.packets[1]-before.packets[1]
	if ours, n := 0.0, 0; len(used) > 0 {
		for i, t := range c.times {
			if slices.Contains(used, t.ID) {
				ours, n = ours+shares[i], n+1
			}
		}
		out.Service, out.Outside = result.Finite(ours/float64(n)), new(!slices.Contains(used, out.CPU))
	}
	highest := 0.0
	for name, counts := range c.sources {
		if n := counts[most]; before.sources[name] != nil && n-before.sources[name][most] > highest {
			highest = n - before.sources[name][most]
			_, out.Source, _ = strings.Cut(name, " ")
		}
	}
	return out
}

// Interrupts that one CPU has mostly are a cause from this share of its time on.
const interrupts = 0.25

// interrupted is one CPU that serves the interrupts of all, if the service is known to use it.
func (m *Minute) interrupted() []explain.Finding {
	i := m.Interrupts
	if i == nil || i.Most < interrupts || i.Others > i.Most/3 || i.Outside == nil || *i.Outside || i.Local ||
		m.Away() {
		return nil
	}
	most := 0.0
	for _, p := range []explain.PartName{explain.DatabaseCPU, explain.RunQueue, explain.Application, explain.Peers} {
		most += m.share(p).High
	}
	source, ours := "", ""
	if i.Service != nil && m.Host.Bound() {
		ours = fmt.Sprintf("; of the %s that the service may use, %s", screen.Count(m.Host.Allowed, "CPU"),
			result.Share(*i.Service))
	}
	if i.Source != "" {
		source = ", most often by " + screen.Clean(i.Source)
	}
	return []explain.Finding{{Parameter: "interrupts", Part: explain.DatabaseCPU, Number: i.Most,
		Unit: fmt.Sprintf("of CPU %d", i.CPU), N: -1, Plain: true,
		AtMost: result.Finite(min(1, most)), Elsewhere: true,
		Text: fmt.Sprintf("interrupts take %s of CPU %d%s, and %s of the others%s", result.Share(i.Most), i.CPU, source,
			result.Share(i.Others), ours),
		Step: "spread them: more queues of the device (network cards: ethtool -L), irqbalance, or rps_cpus of a card with one queue; " +
			"the study irq-affinity tries other CPUs"}}
}
