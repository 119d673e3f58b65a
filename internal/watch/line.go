package watch

import (
	"fmt"
	"strings"

	"hostlab/internal/result"
)

// Percent writes a share: "12 %", "unknown".
func Percent(v float64) string {
	if !known(v) {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

// Text is a sample in one line for people and logs. What is unknown is left out: it
// was said before the first line.
func (s Sample) Text() string {
	t := s.Total()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  busy %s", s.At.Local().Format("15:04:05"), Percent(t.Busy()))
	if known(t.Busy()) {
		fmt.Fprintf(&b, " (user %.0f, system %.0f, iowait %.0f, steal %.0f)", 100*t.User, 100*t.System, 100*t.IOWait, 100*t.Steal)
	}
	if known(t.Quarter) && t.CPUs >= 4 { // of fewer, a quarter is no CPU
		fmt.Fprintf(&b, "  busiest quarter does %s", Percent(t.Quarter))
	}
	if known(t.Ratio) {
		fmt.Fprintf(&b, "  clock %s of max", Percent(t.Ratio))
		if t.CPUs > 1 {
			fmt.Fprintf(&b, " (%.0f to %.0f)", 100*t.LeastRatio, 100*t.MostRatio)
		}
	}
	if known(t.Effective) {
		fmt.Fprintf(&b, "  while busy %s", result.Format(t.Effective, "Hz"))
	}
	if known(t.Deep) {
		fmt.Fprintf(&b, "  deep sleep %s", Percent(min(1, t.Deep)))
	}
	if p := s.Pressure[0].Some; known(p) {
		fmt.Fprintf(&b, "  waits for CPU %s", Percent(min(1, p)))
	}
	for _, d := range s.Disks {
		b.WriteString("  " + d.Text())
	}
	if m, n := s.Commit(); n > 0 {
		fmt.Fprintf(&b, "  commit %s (n %d)", result.Format(m, "s"), n)
	}
	return b.String()
}

// Text is what a disk did, in a few words.
func (d Disk) Text() string {
	out := d.Name + " write " + wait(d.PerWrite, d.Writes)
	if known(d.Flushes) {
		out += ", flush " + wait(d.PerFlush, d.Flushes)
	}
	return out
}

func wait(each, n float64) string {
	if !known(each) {
		return "none"
	}
	if each == 0 { // the kernel counts whole ms (diskstats_show, Linux 6.12)
		return fmt.Sprintf("below %s (n %.0f)", result.Format(1e-3/n, "s"), n)
	}
	return fmt.Sprintf("%s (n %.0f)", result.Format(each, "s"), n)
}

// Object is a sample for JSON.
type Object struct {
	At       string                `json:"at"` // RFC 3339, its end
	Seconds  float64               `json:"seconds"`
	Busy     float64               `json:"busy"`
	Quarter  float64               `json:"busiest_quarter"` // share of all work
	CPUs     []ObjectCPU           `json:"cpus"`
	Pressure map[string][2]float64 `json:"pressure"` // share of the time in which some task waited, and all
	Disks    []Disk                `json:"log_disks"`
	Commits  []float64             `json:"commits"` // s
	Unknown  []Unknown             `json:"unknown,omitempty"`
}

// ObjectCPU is a CPU of an Object.
type ObjectCPU struct {
	CPU
	Named map[string]float64 `json:"idle_states,omitempty"`
}

// Object returns a sample for JSON.
func (s Sample) Object(info Info) Object {
	t := s.Total()
	o := Object{At: s.At.Format("2006-01-02T15:04:05.000Z07:00"), Seconds: s.Seconds, Busy: t.Busy(), Quarter: t.Quarter,
		Pressure: map[string][2]float64{}, Disks: s.Disks, Commits: s.Commits}
	for _, c := range s.CPUs {
		named := map[string]float64{}
		for i, v := range c.States {
			named[info.States[c.ID][i].Name] = v
		}
		o.CPUs = append(o.CPUs, ObjectCPU{c, named})
	}
	for i, p := range s.Pressure {
		o.Pressure[Pressures[i]] = [2]float64{p.Some, p.Full}
	}
	return o
}
