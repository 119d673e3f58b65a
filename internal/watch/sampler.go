package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

const cpuRoot = "/sys/devices/system/cpu/cpu"

// Config says what is watched.
type Config struct {
	Tree   host.Tree
	LogDir string // whose disks are watched; "" none
}

// Sampler reads a machine's counters. It holds the files open that it reads. It is
// not safe for concurrent use.
type Sampler struct {
	tree     host.Tree
	held     *host.Holder
	stat     *host.Held
	disks    *host.Held
	pressure [len(Pressures)]*host.Held
	cpus     map[int]*cpuFiles
	clock    clock
	info     Info
	said     map[string]bool
	buf      []byte
	slow     bool // reading frequencies takes long: do it side by side
}

type cpuFiles struct {
	frequency *host.Held // nil: the CPU has none
	states    []*host.Held
	last      tally
}

// Open finds out what is to be had on a machine. What is not is in Info.Unknown; an
// error is only a machine without /proc/stat.
func Open(cfg Config) (*Sampler, error) {
	s := &Sampler{tree: cfg.Tree, held: host.NewHolder(cfg.Tree, heldFiles()), cpus: map[int]*cpuFiles{},
		said: map[string]bool{},
		info: Info{Highest: map[int]float64{}, States: map[int][]IdleState{}}}
	s.info.Hostname = cfg.Tree.Text("/proc/sys/kernel/hostname").Or("")
	s.stat = s.held.File("/proc/stat")
	b, err := s.stat.Read(&s.buf)
	if err != nil {
		return nil, err
	}
	cpus, err := proc.ParseCPUs(b)
	if err != nil {
		return nil, err
	}
	for i, name := range Pressures {
		s.pressure[i] = s.held.File("/proc/pressure/" + name)
		b, err := s.pressure[i].Read(&s.buf)
		if err == nil {
			_, err = proc.ParsePressure(b)
		}
		if err != nil {
			s.pressure[i] = nil
			s.without("pressure", err)
		}
	}
	for _, c := range cpus {
		s.files(c.ID)
	}
	if len(s.info.Highest) == 0 {
		s.without("frequency",
			fmt.Errorf("%s0/cpufreq: not there or no answer; the host, not this machine, sets its clock, or no "+
				"driver does", cpuRoot))
	}
	if len(s.info.States) == 0 {
		s.without("idle states",
			fmt.Errorf("%s0/cpuidle: not there; a hypervisor keeps them for itself, or no driver is loaded",
				cpuRoot))
	}
	if cfg.LogDir != "" {
		s.findDisks(cfg.LogDir)
	}
	ids := make([]int, len(cpus))
	for i, c := range cpus {
		ids[i] = c.ID
	}
	if s.tree.Live() {
		s.clock, s.info.Effective, err = newClock(ids)
	} else {
		err = errors.New("it is counted by the machine itself, and this is a recorded one")
	}
	if err != nil {
		s.without("effective frequency", err)
	}
	return s, nil
}

// Read reads what a sampler opens, once, so that a recording has it.
func Read(t host.Tree) {
	if s, err := Open(Config{Tree: t}); err == nil {
		s.Close()
	}
}

// without notes once why something is unknown.
func (s *Sampler) without(what string, err error) {
	if !s.said[what] {
		s.said[what] = true
		s.info.Unknown = append(s.info.Unknown, Unknown{what, err.Error()})
	}
}

// files finds the files of a CPU, also of one that comes online later.
func (s *Sampler) files(id int) *cpuFiles {
	if f := s.cpus[id]; f != nil {
		return f
	}
	f := &cpuFiles{}
	s.cpus[id] = f
	dir := fmt.Sprintf("%s%d/", cpuRoot, id)
	if hz, ok := s.tree.Int(dir+"cpufreq/cpuinfo_max_freq", "Hz", 1000).Get(); ok && hz > 0 {
		s.info.Highest[id] = float64(hz)
		f.frequency = s.held.File(dir + "cpufreq/scaling_cur_freq")
	}
	const most = 32 // CPUIDLE_STATE_MAX is 10 in Linux 6.12
	for i := range most {
		state := fmt.Sprintf("%scpuidle/state%d/", dir, i)
		name, ok := s.tree.Word(state + "name").Get()
		us, there := s.tree.Int(state+"latency", "", 1).Get()
		if !ok || !there {
			break
		}
		s.info.States[id] = append(s.info.States[id], IdleState{Name: name, Latency: float64(us) / 1e6})
		f.states = append(f.states, s.held.File(state+"time"))
	}
	return f
}

// findDisks finds the whole disks under the log directory. Layers above them, as LVM,
// are left out: device mapper counts no flushes of its own.
func (s *Sampler) findDisks(dir string) {
	st := host.StorageOf(s.tree, dir)
	deepest := 0
	for _, l := range st.Stack {
		if l.Queue != nil {
			deepest = max(deepest, l.Depth)
		}
	}
	var names []string
	for _, l := range st.Stack {
		if l.Queue != nil && l.Depth == deepest && !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	if len(names) == 0 {
		s.without("log device", fmt.Errorf("no disk is seen under %s", dir))
		return
	}
	s.disks = s.held.File("/proc/diskstats")
	b, err := s.disks.Read(&s.buf)
	if err == nil {
		_, err = parseDisks(b, names)
	}
	if err != nil {
		s.disks = nil
		s.without("log device", err)
		return
	}
	s.info.Disks = names
}

// Info returns what is known of the machine.
func (s *Sampler) Info() Info { return s.info }

// Close closes all files.
func (s *Sampler) Close() {
	s.held.Close()
	if s.clock != nil {
		s.clock.close()
	}
}

// Read reads all counters at a time, which the caller tells.
func (s *Sampler) Read(now time.Time) (Reading, error) {
	r := Reading{At: now}
	b, err := s.stat.Read(&s.buf)
	if err != nil {
		return r, err
	}
	times, err := proc.ParseCPUs(b)
	if err != nil {
		return r, err
	}
	r.CPUs = make([]CPUReading, len(times))
	for i, t := range times {
		c := &r.CPUs[i]
		*c = CPUReading{ID: t.ID, Times: t.Times, Frequency: unknown, Effective: unknown}
		f := s.files(c.ID)
		c.States = s.states(f)
		if s.clock != nil {
			c.Effective = s.effective(f, c, now)
		}
	}
	s.frequencies(r.CPUs)
	for i, f := range s.pressure {
		r.Pressure[i] = proc.Pressure{Some: unknown, Full: unknown}
		if f == nil {
			continue
		}
		if b, err := f.Read(&s.buf); err == nil {
			r.Pressure[i], _ = proc.ParsePressure(b) // unknown where it has become unreadable
		}
	}
	if s.disks != nil {
		if b, err := s.disks.Read(&s.buf); err == nil {
			r.Disks, _ = parseDisks(b, s.info.Disks)
		}
	}
	return r, nil
}

func (s *Sampler) states(f *cpuFiles) []float64 {
	if len(f.states) == 0 {
		return nil
	}
	out := make([]float64, len(f.states))
	for i, file := range f.states {
		out[i] = unknown
		if b, err := file.Read(&s.buf); err == nil {
			if us, err := proc.WholeNumber(b); err == nil {
				out[i] = us / 1e6
			}
		}
	}
	return out
}

// Reading frequencies can wait: before Linux 5.16 up to 20 ms for each CPU that had
// not been asked for a while, which in a row would take 512 of them 10 s.
const (
	slowReading  = 50 * time.Millisecond
	slowSideways = 64
)

func (s *Sampler) frequencies(cpus []CPUReading) {
	began := time.Now()
	read := func(c *CPUReading, buf *[]byte) {
		f := s.cpus[c.ID].frequency
		if f == nil {
			return
		}
		if b, err := f.Read(buf); err == nil && !strings.HasPrefix(string(b), "<") { // <unknown>
			if khz, err := proc.WholeNumber(b); err == nil && khz > 0 {
				c.Frequency = khz * 1e3
			}
		}
	}
	if !s.slow {
		for i := range cpus {
			read(&cpus[i], &s.buf)
		}
		s.slow = time.Since(began) > slowReading && len(cpus) > 1
		return
	}
	var wg sync.WaitGroup
	for w := range min(slowSideways, len(cpus)) {
		wg.Go(func() {
			var buf []byte
			for i := w; i < len(cpus); i += slowSideways {
				read(&cpus[i], &buf)
			}
		})
	}
	wg.Wait()
	s.slow = time.Since(began) > slowReading/slowSideways // a machine that was merely busy once goes back
}

// clock counts what CPUs do while they are busy.
type clock interface {
	// read returns what a CPU has counted. It interrupts that CPU, so that idle
	// ones are not asked.
	read(cpu int) (counts, error)
	close()
}

// counts are a CPU's counters. Either Actual, Reference and TSC are there, or Actual
// alone, which then counts cycles while not idle.
type counts struct{ Actual, Reference, TSC float64 }

// tally is when a CPU was last asked.
type tally struct {
	at     time.Time
	busy   float64 // s since boot
	counts counts
}

// leastBusy is how long a CPU must have been busy since it was asked before it is
// asked again, in s: /proc/stat counts in ticks of 10 ms, and a frequency read from
// less than five of them could be off by a fifth.
const leastBusy = 0.05

// effective returns the frequency at which the CPU worked while it was busy since it
// was last asked. Its counters stand still while it sleeps.
func (s *Sampler) effective(f *cpuFiles, c *CPUReading, now time.Time) float64 {
	busy := c.Times.Busy()
	if !f.last.at.IsZero() && busy-f.last.busy < leastBusy {
		return unknown
	}
	got, err := s.clock.read(c.ID)
	if err != nil {
		s.without("effective frequency", err)
		return unknown
	}
	last := f.last
	f.last = tally{now, busy, got}
	if last.at.IsZero() {
		return unknown
	}
	return hertz(last, f.last)
}

func hertz(a, b tally) float64 {
	actual := b.counts.Actual - a.counts.Actual
	if actual <= 0 {
		return unknown
	}
	if reference := b.counts.Reference - a.counts.Reference; reference > 0 {
		// MPERF counts at the rate of the TSC while not idle (Intel SDM, volume 3, 15.2).
		rate := (b.counts.TSC - a.counts.TSC) / b.at.Sub(a.at).Seconds()
		return actual / reference * rate
	}
	return actual / (b.busy - a.busy)
}
