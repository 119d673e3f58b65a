package watch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hostlab/internal/counters"
	"hostlab/internal/proc"
)

// Windows' performance counters are means between two looks. They are summed up here, so that a Reading holds totals,
// as those of Linux do; they begin at 0 when the watch does.
const (
	userTime    = `\Processor Information(*)\% User Time`
	systemTime  = `\Processor Information(*)\% Privileged Time`
	idleTime    = `\Processor Information(*)\% Idle Time`
	ofMaximum   = `\Processor Information(*)\% of Maximum Frequency`
	performance = `\Processor Information(*)\% Processor Performance`
	queueLength = `\System\Processor Queue Length`
	switchRate  = `\System\Context Switches/sec`
	writeRate   = `\LogicalDisk(*)\Disk Writes/sec`
	writeTime   = `\LogicalDisk(*)\Avg. Disk sec/Write`
)

type counterCPU struct {
	id       int
	instance string
	nominal  float64 // Hz; 0 unknown
}

// tallies sums the counters up.
type tallies struct {
	cpus   []counterCPU
	volume string // of the log, as the counters name it; "" none
	info   Info
	total  Reading
}

func newTallies(hostname string, cpus []counterCPU, volume string) *tallies {
	t := &tallies{cpus: cpus, volume: volume, info: Info{Hostname: hostname, Highest: map[int]float64{}}}
	for _, c := range cpus {
		// Windows does not tell what the hypervisor took, or who waits for a disk.
		times := proc.Times{Nice: unknown, IRQ: unknown, SoftIRQ: unknown, IOWait: unknown, Steal: unknown}
		t.total.CPUs = append(t.total.CPUs, CPUReading{ID: c.id, Times: times, Frequency: unknown, Effective: unknown})
		if c.nominal > 0 {
			t.info.Highest[c.id] = c.nominal
		}
	}
	for i := range t.total.Pressure {
		t.total.Pressure[i] = proc.Pressure{Some: unknown, Full: unknown}
	}
	if volume != "" {
		t.info.Disks = []string{volume}
		t.total.Disks = []DiskReading{{Name: volume, Flushes: unknown, FlushTime: unknown}}
	}
	return t
}

// of is the value of one instance; a counter without instances has one value.
func of(s counters.Series, instance string) (float64, error) {
	if s.Err != nil {
		return unknown, s.Err
	}
	for _, v := range s.Values {
		switch {
		case instance != "" && v.Instance != instance:
		case v.Err != nil:
			return unknown, v.Err
		default:
			return v.Value, nil
		}
	}
	return unknown, fmt.Errorf("the counter has no instance %q", instance)
}

// percentage is that of a frequency: 0 is none.
func percentage(s counters.Series, instance string) (float64, error) {
	v, err := of(s, instance)
	if err == nil && v <= 0 {
		return unknown, errors.New("0 % is no frequency: the counter counts nothing here")
	}
	return v, err
}

// add sums means over so many seconds up. It returns why a quantity is unknown, by its name: of CPUs, why it is of all.
func (t *tallies) add(seconds float64, series map[string]counters.Series) map[string]error {
	why, seen := map[string]error{}, map[string]bool{}
	note := func(what string, err error) bool {
		switch {
		case err == nil:
			seen[what] = true
		case why[what] == nil:
			why[what] = err
		}
		return err == nil
	}
	cpus := slices.Clone(t.total.CPUs) // readings that were handed out keep theirs
	for i, c := range t.cpus {
		r := &cpus[i]
		user, err1 := of(series[userTime], c.instance)
		system, err2 := of(series[systemTime], c.instance)
		idle, err3 := of(series[idleTime], c.instance)
		busy := 0.0
		if note("CPU use", cmp.Or(err1, err2, err3)) {
			busy = seconds * (user + system) / 100
			r.Times.User += seconds * user / 100
			r.Times.System += seconds * system / 100
			r.Times.Idle += seconds * idle / 100
		}
		r.Frequency, r.Effective = unknown, unknown
		nominal := t.info.Highest[c.id]
		scale := func(what, path string) float64 {
			v, err := percentage(series[path], c.instance)
			if err == nil && !(nominal > 0) {
				err = errors.New("CallNtPowerInformation tells no nominal frequency")
			}
			if !note(what, err) {
				return unknown
			}
			return v / 100 * nominal
		}
		r.Frequency = scale("frequency", ofMaximum)
		if hz := scale("effective frequency", performance); busy >= leastBusy {
			r.Effective = hz
		}
	}
	t.total.CPUs = cpus
	s := System{unknown, unknown}
	var err error
	s.Queue, err = of(series[queueLength], "")
	note("processor queue", err)
	s.Switches, err = of(series[switchRate], "")
	note("context switches", err)
	t.total.System = &s
	if t.volume != "" {
		rate, err1 := of(series[writeRate], t.volume)
		each, err2 := of(series[writeTime], t.volume)
		if d := t.total.Disks[0]; note("log device", cmp.Or(err1, err2)) {
			d.Writes += seconds * rate
			d.WriteTime += seconds * rate * each
			t.total.Disks = []DiskReading{d}
		}
	}
	maps.DeleteFunc(why, func(what string, _ error) bool { return seen[what] })
	return why
}

// begin keeps what the first means say is unknown, and what Windows never tells, and sets all totals to 0.
func (t *tallies) begin(first map[string]counters.Series) {
	fresh := newTallies(t.info.Hostname, t.cpus, t.volume)
	why := t.add(1, first)
	t.total, t.info = fresh.total, fresh.info
	for _, what := range slices.Sorted(maps.Keys(why)) {
		t.info.Unknown = append(t.info.Unknown, Unknown{what, why[what].Error()})
	}
	if why["effective frequency"] == nil {
		t.info.Effective = "% Processor Performance"
	}
	if why["frequency"] != nil {
		t.info.Highest = map[int]float64{}
	}
	if why["log device"] != nil {
		t.volume, t.info.Disks, t.total.Disks = "", nil, nil
	}
	t.info.Unknown = append(t.info.Unknown,
		Unknown{"idle states, pressure, iowait, steal, log flushes", "Windows has no counter of them"})
}

// Counter reads the counters of a system: Linux' files, or Windows' performance counters.
type Counter interface {
	Info() Info
	Read(now time.Time) (Reading, error)
	Close()
}
