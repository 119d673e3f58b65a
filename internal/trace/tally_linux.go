package trace

import (
	"cmp"
	"math"
	"slices"
	"time"

	"hostlab/internal/chain"
	"hostlab/internal/host"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// tally adds up what windows showed.
type tally struct {
	s       *session
	tree    host.Tree
	cfg     Config
	budget  *budget
	began   uint64
	started time.Time
	ended   string

	rows, last map[int]*schedCpu
	windows    []sums
	bursts     []schedBurst
	lost       uint64 // beyond maxBursts
	cost       Cost
	inUse      float64 // s of CPU time of all tasks
	ends       *chain.Account
	words      map[int]uint32 // of PostgreSQL's processes, when the window was opened

	at            uint64     // when the cycle began
	cpu           uint64     // of this thread, then
	timed         [3]float64 // the programs' time before the window, after it and after the pause
	onNS, onSeen  float64    // of windows that were timed
	offNS, offRun float64
}

// sums are what one window showed, in ns of all CPUs together.
type sums struct{ at, length, run, queue, busy, overlap float64 }

// maxBursts is what predict reads (burstlog): 60 bytes each in memory.
const maxBursts = 4_000_000

func newTally(s *session, tree host.Tree, cfg Config) *tally {
	b := newBudget(cfg.Budget)
	b.detach = cfg.detach
	if cfg.Chains {
		b.least = chained
	}
	return &tally{s: s, tree: tree, cfg: cfg, budget: b, began: monotonic(), started: time.Now(),
		rows: map[int]*schedCpu{}, last: map[int]*schedCpu{}, ends: chain.New(!cfg.Sessions), words: map[int]uint32{}}
}

// before begins a cycle. The kernel times the programs in the first cycles and in one of 20: its own two readings
// of the clock are a part of what they then take.
func (t *tally) before() (err error) {
	n := len(t.windows)
	t.s.time(n < 3 || n%20 == 0)
	t.at, t.cpu = monotonic(), threadCPU()
	t.timed[0], err = t.s.programs()
	return err
}

// between the window and the pause.
func (t *tally) between() (err error) {
	t.timed[1], err = t.s.programs()
	if err != nil {
		return err
	}
	if err := t.s.drain(t.take); err != nil {
		return err
	}
	return t.follow()
}

func (t *tally) take(b *schedBurst) {
	if len(t.bursts) == maxBursts {
		t.lost++
		return
	}
	t.bursts = append(t.bursts, *b)
}

// leave detaches the programs for the pause. Before, each CPU accounts for the stretch that the window
// cut, and bursts that it cut end.
func (t *tally) leave() error {
	rest(shortest / 2)
	now := map[int]*schedCpu{}
	if err := t.s.read(now); err != nil {
		return err
	}
	t.s.settle(now)
	return t.s.detach()
}

// after the pause most CPUs have switched and accounted for the stretch that the window cut.
func (t *tally) after(length time.Duration) (err error) {
	if t.timed[2], err = t.s.programs(); err != nil {
		return err
	}
	if err := t.s.drain(t.take); err != nil {
		return err
	}
	t.rows, t.last = t.last, t.rows
	if err := t.s.read(t.rows); err != nil {
		return err
	}
	w := t.since(length)
	t.windows = append(t.windows, w)
	on, off := t.switches(t.rows)
	on0, off0 := t.switches(t.last)
	t.account(w, on-on0, off-off0)
	return nil
}

// since is what has been added to the rows.
func (t *tally) since(length time.Duration) sums {
	w := sums{at: float64(t.at - t.began), length: float64(length)}
	total := t.s.before()
	for _, c := range t.s.cpus {
		now, then := t.rows[c], t.last[c]
		if then == nil {
			then = &schedCpu{}
		}
		w.run += float64(now.Run - then.Run)
		w.overlap += float64(now.Overlap - then.Overlap)
		// Those that still wait have waited until the window's end.
		w.queue += float64(now.Queued-then.Queued) + float64(now.Waiting-then.Waiting)*float64(length)
		w.busy += busyTime(now.Busy, total) - busyTime(then.Busy, total-float64(length))
	}
	return w
}

// busyTime reads the word of kernel/sched.c.
func busyTime(word uint64, t float64) float64 {
	if busy := float64(int64(word) >> 1); word&1 == 0 {
		return busy
	} else {
		return busy + t
	}
}

func (t *tally) switches(rows map[int]*schedCpu) (on, off float64) {
	for _, r := range rows {
		on, off = on+float64(r.Counted), off+float64(r.Skipped)
	}
	return on, off
}

// account learns from a cycle what the next one may take.
func (t *tally) account(w sums, on, off float64) {
	b, lasted := t.budget, float64(monotonic()-t.at)
	reader := float64(threadCPU() - t.cpu)
	if t.s.stats != nil {
		t.onNS, t.onSeen = t.onNS+t.timed[1]-t.timed[0], t.onSeen+on
		t.offNS, t.offRun = t.offNS+t.timed[2]-t.timed[1], t.offRun+off
		// A few switches may hold one that was interrupted for long.
		if t.onSeen > 500 {
			b.on = t.onNS / t.onSeen
		}
		if t.offRun > 500 {
			b.off = t.offNS / t.offRun
		}
	}
	busy := w.busy / w.length
	rate := (on + off) / lasted
	if t.s.watch == nil { // what the window had is all that was seen
		rate = on / w.length
	}
	b.learn(rate*1e9, busy)
	b.reader = 0.7*b.reader + 0.3*reader/max(on, 1)
	c := &t.cost
	c.Switches, c.Watched = c.Switches+uint64(rate*lasted), c.Watched+uint64(on)
	c.Programs += (on*b.on + off*b.off) / 1e9
	c.Reader += reader / 1e9
	t.inUse += busy * lasted / 1e9
}

// finish counts what is still open and makes the result.
func (t *tally) finish() (*Result, error) {
	length := float64(monotonic()-t.began) / 1e9
	if t.s.watch != nil {
		t.s.settle(t.rows)
	}
	t.last, t.rows = t.rows, t.last
	if err := t.s.read(t.rows); err != nil {
		return nil, err
	}
	end := t.since(0)
	last := &t.windows[len(t.windows)-1]
	last.run, last.overlap = last.run+end.run, last.overlap+end.overlap
	r := &Result{Target: t.cfg.Target.Name, Started: t.started, Length: length, Windows: len(t.windows), Ended: t.ended,
		Cost: t.cost, Lost: t.lost}
	if t.s.events != nil {
		r.Ends = t.ends
	}
	total := t.s.before()
	r.Seen = total / 1e9
	for _, c := range t.s.cpus {
		row := t.rows[c]
		r.OnBusy.add(row.Hist[0][:], row.Slept[0])
		r.OnIdle.add(row.Hist[1][:], row.Slept[1])
		r.Lost += row.Lost
		r.Missed += row.Missed
		r.Unseen += row.Unseen
		r.CPUs = append(r.CPUs, CPU{Number: c, Busy: unit(busyTime(row.Busy, total) / total),
			Run:  unit(float64(row.Run) / total),
			Lost: int(row.Lost)})
	}
	for _, w := range t.windows {
		r.Series = append(r.Series, Window{At: w.at / 1e9, Length: w.length / 1e9, Run: w.run / w.length,
			Queue: max(0, w.queue/w.length), Busy: w.busy / w.length})
	}
	r.Run = t.interval(r, func(w sums) float64 { return w.run })
	r.Queue = t.interval(r, func(w sums) float64 { return w.queue })
	r.Busy = t.interval(r, func(w sums) float64 { return w.busy })
	if len(t.s.sibling) > 0 {
		o := t.interval(r, func(w sums) float64 { return w.overlap })
		r.Overlap = &o
	} else {
		r.NoOverlap, r.Alone = noSiblings(t.tree, t.s.cpus)
	}
	r.Cost.OnNS, r.Cost.OffNS, r.Cost.Measured = t.budget.on, t.budget.off, t.onSeen > 500
	r.Cost.Budget = t.cfg.Budget
	r.Cost.OfBusy = (r.Cost.Programs + r.Cost.Reader) / t.inUse
	r.Cost.SwitchesPerS = float64(r.Cost.Switches) / length
	t.record(r)
	return r, nil
}

// interval is that of a ratio of sums over windows: they differ in length. What was
// seen is a part of the whole, without which there would be nothing to infer.
func (t *tally) interval(r *Result, of func(sums) float64) result.Estimate {
	var x, length []float64
	for _, w := range t.windows {
		x, length = append(x, of(w)), append(length, w.length)
	}
	iv := stats.RatioOfSums(x, length, 0.05)
	ratio := iv.Value
	rest := math.Sqrt(1 - r.SeenShare())
	iv.Value = max(0, ratio)
	iv.Low, iv.High = max(0, ratio-(ratio-iv.Low)*rest), ratio+(iv.High-ratio)*rest
	iv.Unit, iv.Evidence = "s", result.Measured
	return iv
}

// record makes the bursts as burstlog has them.
func (t *tally) record(r *Result) {
	slices.SortStableFunc(t.bursts, func(a, b schedBurst) int {
		return cmp.Or(cmp.Compare(a.Cpu, b.Cpu), cmp.Compare(a.Start, b.Start))
	})
	for _, b := range t.bursts {
		out := burstlog.Burst{CPU: int(b.Cpu), At: float64(int64(b.Start-t.began)) / 1e9, Busy: float64(b.Busy) / 1e9,
			Idle: float64(b.Idle) / 1e9}
		if b.Watched > 0 {
			out.Service = unit(float64(b.Run) / float64(b.Watched))
		}
		if out.At >= 0 && out.Busy > 0 {
			r.Bursts = append(r.Bursts, out)
		}
	}
	r.complete()
}
