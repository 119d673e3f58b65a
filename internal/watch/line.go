package watch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
)

// Percent writes a share: "12 %", "unknown".
func Percent(v float64) string {
	if !known(v) {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

// Part is what a sample says of one thing; its text is "" where that is unknown.
type Part struct{ Name, Text string }

// Parts are a sample in words.
func (s Sample) Parts(info Info) []Part {
	t := s.Total()
	all, clock := "", ""
	var waits []string
	if known(t.Busy()) {
		all = fmt.Sprintf("busy %s (user %.0f, sys %.0f", Percent(t.Busy()), 100*t.User, 100*t.System)
		if known(t.IOWait) && known(t.Steal) {
			all += fmt.Sprintf(", iowait %.0f, steal %.0f", 100*t.IOWait, 100*t.Steal)
		}
		all += ")"
	}
	if known(t.Quarter) && t.CPUs >= 4 { // of fewer, a quarter is no CPU
		all += fmt.Sprintf(", busiest quarter %.0f %%", 100*t.Quarter)
	}
	if known(t.Ratio) {
		clock = fmt.Sprintf("%s of the highest (%.0f to %.0f)", Percent(t.Ratio), 100*t.LeastRatio, 100*t.MostRatio)
	}
	if known(t.Effective) {
		clock = strings.TrimPrefix(clock+", while busy "+result.Format(t.Effective, "Hz"), ", ")
	}
	for i, p := range s.Pressure {
		if known(p.Some) {
			waits = append(waits, Pressures[i]+" "+Percent(min(1, p.Some)))
		}
	}
	parts := []Part{{"All", all}, {"Clock", clock}, {"Sleep", s.sleep(info, t)}, {"Waits", strings.Join(waits, ", ")}}
	if waits != nil {
		parts[3].Text += " of the time some task waited"
	}
	if s.System != nil {
		parts[3].Text = s.System.text()
	}
	for _, d := range s.Disks {
		text := d.Name + " write " + wait(d.PerWrite, d.Writes)
		if known(d.Flushes) {
			text += ", flush " + wait(d.PerFlush, d.Flushes)
		}
		parts = append(parts, Part{"Log", text})
	}
	if m, n := s.Commit(); n > 0 {
		parts = append(parts, Part{"Commit", fmt.Sprintf("%s (n %d)", result.Format(m, "s"), n)})
	}
	return parts
}

func (s System) text() string {
	var out []string
	if known(s.Queue) {
		out = append(out, fmt.Sprintf("queue %.0f threads", s.Queue))
	}
	if known(s.Switches) {
		out = append(out, fmt.Sprintf("%.0f switches/s", s.Switches))
	}
	return strings.Join(out, ", ")
}

// sleep is the mean share of each idle state, by its name; "" where the machine tells none.
func (s Sample) sleep(info Info, t Total) string {
	if !known(t.Deep) {
		return ""
	}
	var names []string
	share := map[string]float64{}
	for _, c := range s.CPUs {
		for i, x := range c.States {
			name := info.States[c.ID][i].Name
			if _, ok := share[name]; !ok {
				names = append(names, name)
			}
			if known(x) {
				share[name] += min(1, x) / float64(len(s.CPUs))
			}
		}
	}
	for i, n := range names {
		names[i] = n + " " + Percent(share[n])
	}
	return fmt.Sprintf("%s (deep %s)", strings.Join(names, ", "), Percent(min(1, t.Deep)))
}

// Text is a sample in one line for people and logs. What is unknown is left out: it
// was said before the first line.
func (s Sample) Text(info Info) string {
	out := s.At.Local().Format("15:04:05")
	for i, p := range s.Parts(info) {
		switch {
		case p.Text == "":
		case i == 0:
			out += "  " + p.Text
		default:
			out += "  " + strings.ToLower(p.Name) + " " + p.Text
		}
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
	document.Head
	At       string                `json:"at"` // RFC 3339, its end
	Seconds  float64               `json:"seconds"`
	Busy     float64               `json:"busy"`
	Quarter  float64               `json:"busiest_quarter"` // share of all work
	CPUs     []ObjectCPU           `json:"cpus"`
	Pressure map[string][2]float64 `json:"pressure"` // share of the time in which some task waited, and all
	Disks    []Disk                `json:"log_disks"`
	Commits  []float64             `json:"commits"` // s
	System   *System               `json:"windows,omitempty"`
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
	o := Object{Head: document.Head{Kind: "watch-sample", Schema: 1},
		At: s.At.Format("2006-01-02T15:04:05.000Z07:00"), Seconds: s.Seconds, Busy: t.Busy(), Quarter: t.Quarter,
		Pressure: map[string][2]float64{}, Disks: s.Disks, Commits: s.Commits, System: s.System}
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
