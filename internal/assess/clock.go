package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/counters"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/trace"
	"hostlab/internal/watch"
)

// ClockSource counts at which clock a service runs.
type ClockSource interface {
	// Read returns what was counted until now, by CPU; by -1 where that is of all CPUs.
	Read(now time.Time) (map[int]Ran, error)
	// Highest is the clock that a busy loop on this host reaches now, Hz.
	Highest() (float64, error)
	// About says what is read, and how good that is.
	About() (source string, evidence result.Evidence)
	Close()
}

// Ran is for how long something was on a CPU, and how many cycles that took.
type Ran struct{ Cycles, Seconds float64 }

// leastStretches of a minute make an interval.
const leastStretches = 3

// clockMeter reads a source at the end of each stretch.
type clockMeter struct {
	source ClockSource
	read   []map[int]Ran
	err    error // why there is nothing to read
}

// newClockMeter opens the counters of the service's own threads, or else those of all CPUs.
func newClockMeter(target trace.Target) clockMeter {
	source, err := openThreads(target)
	if err == nil {
		return clockMeter{source: source}
	}
	cpus, none := openCPUs(host.Tree{})
	if none == nil {
		return clockMeter{source: cpus}
	}
	if runtime.GOOS != "linux" {
		err = none
	}
	if errors.Is(err, counters.ErrNone) {
		err = fmt.Errorf("%w; give this guest a virtual PMU, or run turbostat on the hypervisor's host", err)
	}
	return clockMeter{err: err}
}

// watch reads at the end of each sixtieth of the time.
func (c *clockMeter) watch(ctx context.Context, lasts time.Duration) {
	for end := time.Now().Add(lasts); c.source != nil && c.err == nil; wait(ctx, max(lasts/60, watch.Shortest)) {
		c.look(time.Now())
		if ctx.Err() != nil || time.Now().After(end) {
			return
		}
	}
}

func (c *clockMeter) look(now time.Time) {
	var r map[int]Ran
	if r, c.err = c.source.Read(now); c.err == nil {
		c.read = append(c.read, r)
	}
}

func (c *clockMeter) close() {
	if c.source != nil {
		c.source.Close()
	}
}

func (c *clockMeter) fill(m *Minute, w *watching, facts *host.Facts) {
	if !w.of.Here() {
		return
	}
	if w.options.Counters {
		m.Unseen[lever.Clock] = "this stretch is too short to read the clock of its CPUs; name a longer one with --for"
		return
	}
	var err error
	if m.Clock, err = c.frequency(w.scheduler.seen, facts); err != nil {
		m.Unseen[lever.Clock] = err.Error()
	}
}

// frequency is the clock of the stretches together. A CPU counts by the share of its work that was
// the service's, where that is known.
func (c *clockMeter) frequency(seen *trace.Result, facts *host.Facts) (*Frequency, error) {
	if c.err != nil {
		return nil, c.err
	}
	own := map[int]float64{}
	if seen != nil {
		for _, cpu := range seen.CPUs {
			own[cpu.Number] = cpu.Run / max(cpu.Busy, 1e-9)
		}
	}
	var cycles, seconds []float64
	for i := 1; i < len(c.read); i++ {
		x, s := 0.0, 0.0
		for cpu, now := range c.read[i] {
			weight, known := own[cpu]
			if !known {
				weight = 1
			}
			before := c.read[i-1][cpu]
			x, s = x+weight*(now.Cycles-before.Cycles), s+weight*(now.Seconds-before.Seconds)
		}
		if s > 0 {
			cycles, seconds = append(cycles, x), append(seconds, s)
		}
	}
	if len(cycles) < leastStretches {
		return nil, fmt.Errorf("it ran in %d stretches of time, but an interval takes %d; watch longer with --for",
			len(cycles), leastStretches)
	}
	reached, err := c.source.Highest()
	e := stats.RatioOfSums(cycles, seconds, 0.05)
	switch {
	case err != nil:
		return nil, err
	case !(e.Value > 0) || !(reached > 0):
		return nil, errors.New("the cycle counter stands still: probably a hypervisor hides it")
	}
	f := &Frequency{Mean: e.Value, Low: max(0, e.Low), High: e.High, N: e.N, Highest: reached, Limit: reached}
	if facts != nil {
		for _, p := range facts.Frequency.Policies {
			// A low limit of the policy holds a loop back too, so the base frequency counts at least.
			f.Highest = max(f.Highest, float64(p.Base.Or(0)))
			f.Limit = max(f.Limit, f.Highest, float64(p.HWMax.Or(0)))
		}
		if facts.Windows != nil {
			for _, p := range facts.Windows.Processors {
				f.Highest = max(f.Highest, float64(p.Max.Or(0))) // likewise
				f.Limit = max(f.Limit, f.Highest)
			}
		}
	}
	f.Source, f.Evidence = c.source.About()
	return f, nil
}

// threadClock counts the cycles of a service's own threads, and of those that they start.
type threadClock []counters.Counter

func openThreads(target trace.Target) (ClockSource, error) {
	var c threadClock
	for _, pid := range target.Processes() {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, task := range tasks {
			tid, _ := strconv.Atoi(task.Name())
			counter, err := counters.Thread(tid, counters.Cycles)
			if errors.Is(err, counters.ErrEnded) {
				continue
			}
			if err != nil {
				c.Close()
				return nil, err
			}
			c = append(c, counter)
		}
	}
	if len(c) == 0 {
		return nil, errors.New("none of its threads can be seen")
	}
	return c, nil
}

func (c threadClock) Read(time.Time) (map[int]Ran, error) {
	var all Ran
	for _, counter := range c {
		n, err := counter.Read()
		if err != nil {
			return nil, err
		}
		all.Cycles, all.Seconds = all.Cycles+n.Value, all.Seconds+n.Seconds
	}
	return map[int]Ran{-1: all}, nil
}

func (c threadClock) Highest() (best float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := counters.Thread(0, counters.Cycles)
	if err != nil {
		return 0, err
	}
	defer own.Close()
	spin(rise)
	for range 5 {
		a, err1 := own.Read()
		spin(rise / 5)
		b, err2 := own.Read()
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		best = max(best, (b.Value-a.Value)/(b.Seconds-a.Seconds))
	}
	return best, nil
}

func (c threadClock) About() (string, result.Evidence) {
	return "cycles of its own threads", result.Measured
}

func (c threadClock) Close() {
	for _, counter := range c {
		counter.Close()
	}
}

// rise is how long a loop may take to reach its clock: governors look every 4 to 10 ms
// (Documentation/admin-guide/pm/cpufreq.rst), and conservative ones go up by steps.
const rise = 100 * time.Millisecond

func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// cpuClock reads the clock of CPUs while they are busy, with anybody's work.
type cpuClock struct {
	sampler watch.Counter
	ran     map[int]Ran
	busy    map[int]float64 // s since boot, up to which ran counts
}

func openCPUs(tree host.Tree) (*cpuClock, error) {
	s, err := watch.OpenHere(context.Background(), watch.Config{Tree: tree})
	if err != nil {
		return nil, err
	}
	if i := s.Info(); i.Effective == "" && len(i.Highest) == 0 {
		s.Close()
		return nil, errors.New("this host shows no CPU frequency")
	}
	return &cpuClock{sampler: s, ran: map[int]Ran{}, busy: map[int]float64{}}, nil
}

// Read books a CPU's busy time at the clock that was read after it.
func (c *cpuClock) Read(now time.Time) (map[int]Ran, error) {
	r, err := c.sampler.Read(now)
	if err != nil {
		return nil, err
	}
	out := map[int]Ran{}
	for _, cpu := range r.CPUs {
		busy := cpu.Times.Busy()
		if hz := c.hertz(cpu); hz > 0 {
			if before, known := c.busy[cpu.ID]; known {
				x := c.ran[cpu.ID]
				c.ran[cpu.ID] = Ran{x.Cycles + hz*(busy-before), x.Seconds + busy - before}
			}
			c.busy[cpu.ID] = busy
		}
		out[cpu.ID] = c.ran[cpu.ID]
	}
	return out, nil
}

// hertz is the effective clock where the processor counts, else what the driver tells; 0: not known now.
func (c *cpuClock) hertz(cpu watch.CPUReading) float64 {
	hz := cpu.Frequency
	if c.sampler.Info().Effective != "" {
		hz = cpu.Effective
	}
	if math.IsNaN(hz) {
		return 0
	}
	return hz
}

func (c *cpuClock) Highest() (best float64, err error) {
	before, err := c.sampler.Read(time.Now())
	if err != nil {
		return 0, err
	}
	const most = max(3*rise, watch.Shortest)
	go spin(most + rise) // to the end while the clock is read
	time.Sleep(most)
	after, err := c.sampler.Read(time.Now())
	for _, cpu := range slices.Concat(before.CPUs, after.CPUs) {
		best = max(best, c.hertz(cpu))
	}
	return best, err
}

func (c *cpuClock) About() (string, result.Evidence) {
	if e := c.sampler.Info().Effective; e != "" {
		return e + " of the CPUs while they were busy", result.Measured
	}
	return requested + " of the CPUs", result.Measured
}

func (c *cpuClock) Close() { c.sampler.Close() }
