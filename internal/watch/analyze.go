package watch

import (
	"math/rand/v2"
	"time"
)

// Question says what counts as quiet and as load.
type Question struct {
	QuietBelow float64       // share of all CPUs
	LoadAbove  float64       // share of all CPUs, in the mean of a minute
	QuietFor   time.Duration // the shortest quiet time
	Seed       uint64        // of the deals
}

// DefaultQuestion suits a night and the morning after it.
func DefaultQuestion() Question {
	return Question{QuietBelow: 0.05, LoadAbove: 0.10, QuietFor: 10 * time.Minute, Seed: 1}
}

// Verdicts of an Answer.
const (
	Even           = "even"            // no less evenly than chance would have it
	UnevenAtFirst  = "uneven-at-first" // and evenly later: what slow waking looks like
	UnevenAlways   = "uneven-throughout"
	Uneven         = "uneven" // in the first minutes; later is not known
	SlowAtFirst    = "slow-at-first"
	UndecidedQuiet = "no-quiet-time"
	UndecidedLoad  = "no-load-after-quiet-time"
	UndecidedShort = "too-short"
)

// Thresholds of the verdict.
const (
	leastBlocks  = 5    // below, no spread over time differs from chance
	leastExcess  = 0.05 // of all work, by which the busiest quarter must exceed chance to matter
	slowRatio    = 0.9  // of the later clock
	waitedShare  = 0.05 // of the time, in which tasks waited for a CPU
	idleShare    = 0.25 // of the CPUs, idle meanwhile
	idleBelow    = 0.05 // busy share below which a CPU counts as idle in a sample
	busyAbove    = 0.5  // and above which as busy
	firstMinutes = 5 * time.Minute
	settledAfter = 30 * time.Minute // or, in a shorter record, twice the first minutes
)

// Window is a stretch after load began.
type Window struct {
	From     time.Duration `json:"-"`
	To       time.Duration `json:"-"`
	FromS    float64       `json:"from_seconds"`
	ToS      float64       `json:"to_seconds"`
	Samples  int           `json:"samples"`
	Busy     float64       `json:"busy"`
	Spread   *Spread       `json:"spread"`          // null: no work, or too little time
	Untouch  int           `json:"untouched"`       // CPUs that did less than 1 % in the whole window
	BusyCPUs float64       `json:"busy_cpus"`       // CPUs that were more than half busy, in the mean of the samples
	IdleCPUs float64       `json:"idle_share"`      // of the CPUs, less than 5 % busy, in the mean of the samples
	Deep     float64       `json:"idle_deep_sleep"` // share of the time of these in deep sleep
	Clock    float64       `json:"busy_clock"`      // frequency of the highest, of CPUs while they were busy
	Waited   float64       `json:"cpu_pressure"`    // share of the time in which some task waited for a CPU
	// share of samples in which some CPUs were 90 % busy while a quarter was in deep sleep
	Both    float64 `json:"busy_and_deep_idle"`
	Offline int     `json:"offline"` // CPUs, at least in one sample
}

// AnalysisKind tells an Answer's JSON from other documents.
const AnalysisKind = "watch-analysis"

// Answer is what a record tells.
type Answer struct {
	Kind     string     `json:"kind"`
	Schema   int        `json:"schema"`
	Host     string     `json:"host"`
	From     time.Time  `json:"from"`
	To       time.Time  `json:"to"`
	CPUs     int        `json:"cpus"`
	Samples  int        `json:"samples"`
	Missing  float64    `json:"missing_seconds"` // gaps in the recording
	Verdict  string     `json:"verdict"`
	Quiet    *Span      `json:"quiet"`
	Onset    *time.Time `json:"load_began"`
	First    *Window    `json:"first"`   // the first five minutes of load
	Windows  []Window   `json:"windows"` // how it changed
	Later    *Later     `json:"later"`   // null: the record ends before
	Slow     *bool      `json:"slow_at_first"`
	Unneeded *bool      `json:"waited_while_idle"` // tasks waited for a CPU while others idled; null unknown
	Steal    float64    `json:"steal"`             // share, in the first five minutes
	Whole    Window     `json:"whole"`             // the record from its beginning to its end
	Limits   Limits     `json:"limits"`
	Warnings []string   `json:"warnings"`
	Unknown  []Unknown  `json:"unknown"`
	deepest  string
	course   *course
}

// Limits are those of the question, for the reader of the answer.
type Limits struct {
	QuietBelow float64 `json:"quiet_below"`
	LoadAbove  float64 `json:"load_above"`
	QuietFor   float64 `json:"quiet_seconds"`
}

// Later is the same as the first five minutes in windows of five minutes later on, with load.
type Later struct {
	Windows int    `json:"windows"` // n
	Excess  Range  `json:"excess"`  // of the busiest quarter over chance
	Clock   *Range `json:"busy_clock"`
}

// windows after load began, in minutes; the last ends with the record.
var windows = []int{0, 1, 2, 5, 10, 30, 60}

func Analyze(r *Record, q Question) *Answer {
	last := r.Points[len(r.Points)-1].At
	a := &Answer{Schema: 1, Kind: AnalysisKind, Host: r.Head.Host, From: r.start(), To: last, CPUs: len(r.CPUs),
		Samples:  len(r.Points),
		Warnings: r.Warnings, Unknown: r.Head.Unknown, deepest: r.Head.Deepest(),
		Limits: Limits{q.QuietBelow, q.LoadAbove, q.QuietFor.Seconds()}, Steal: unknown}
	for i := 1; i < len(r.Points); i++ {
		if hole := r.Points[i].At.Sub(r.Points[i-1].At).Seconds() - r.Points[i].Seconds; hole > r.Points[i].Seconds/2 {
			a.Missing += hole
		}
	}
	a.course = newCourse(r)
	a.Whole = r.window(r.start(), Window{To: last.Sub(r.start())}, rand.New(rand.NewPCG(q.Seed, 0x77686f6c65)))
	quiet, quietOnly, onset := r.night(q)
	switch {
	case quietOnly.length() == 0:
		a.Verdict = UndecidedQuiet
		return a
	case onset.IsZero():
		a.Verdict, a.Quiet = UndecidedLoad, &quietOnly
		return a
	}
	quiet.To = onset
	a.Quiet, a.Onset = &quiet, &onset
	rng := rand.New(rand.NewPCG(q.Seed, 0x7761746368))
	for i, from := range windows {
		w := Window{From: time.Duration(from) * time.Minute, To: last.Sub(onset)}
		if i+1 < len(windows) {
			w.To = min(w.To, time.Duration(windows[i+1])*time.Minute)
		}
		if w.To-w.From >= 10*time.Second {
			a.Windows = append(a.Windows, r.window(onset, w, rng))
		}
	}
	first := r.window(onset, Window{To: min(firstMinutes, last.Sub(onset))}, rng)
	a.First = &first
	var stolen mean
	for _, p := range r.between(onset, onset.Add(first.To)) {
		stolen.add(p.Steal, p.Seconds)
	}
	a.Steal = stolen.value()
	a.Later = r.later(onset, last, q, rng)
	a.decide()
	return a
}

// blockOf is the length of a block that is dealt as one: what runs for seconds stays
// on a CPU so long, so that shorter ones would take it for unevenness.
func (r *Record) blockOf(w Window) time.Duration {
	length := 10 * time.Second
	if w.To-w.From > 10*time.Minute {
		length = time.Minute
	}
	return max(length, time.Duration(r.Head.Interval*float64(time.Second)))
}

// mostBlocks bounds the work on a long day: of more blocks, evenly spread ones are taken.
const mostBlocks = 240

func (r *Record) window(onset time.Time, w Window, rng *rand.Rand) Window {
	w.FromS, w.ToS = w.From.Seconds(), w.To.Seconds()
	points := r.between(onset.Add(w.From), onset.Add(w.To))
	w.Samples = len(points)
	length := r.blockOf(w)
	blocks := r.blocks(onset.Add(w.From), onset.Add(w.To), length)
	if len(blocks) > mostBlocks {
		some := make([][]float64, mostBlocks)
		for i := range some {
			some[i] = blocks[i*len(blocks)/mostBlocks]
		}
		blocks = some
	}
	if len(blocks) > 0 && len(r.CPUs) > 1 {
		w.Spread = new(spreadOf(blocks, length.Seconds(), rng))
	}
	w.tell(points, len(r.CPUs))
	return w
}

// mean is a running mean of what is known.
type mean struct{ sum, n float64 }

func (m *mean) add(v, weight float64) {
	if known(v) {
		m.sum, m.n = m.sum+v*weight, m.n+weight
	}
}

func (m mean) value() float64 { return m.sum / m.n } // 0/0 is NaN: unknown

func (w *Window) tell(points []Point, cpus int) {
	var busy, busyCPUs, idle, deep, clock, waited, both mean
	did, offline := make([]mean, cpus), make([]bool, cpus)
	for _, p := range points {
		busy.add(p.mean(), p.Seconds)
		waited.add(p.Pressure, p.Seconds)
		nBusy, nFull, nIdle, nDeep, online := 0.0, 0.0, 0.0, 0.0, 0.0
		for c, b32 := range p.Busy {
			b := float64(b32)
			if !known(b) {
				offline[c] = true
				continue
			}
			online++
			did[c].add(b, p.Seconds)
			if b >= busyAbove {
				nBusy++
				if p.Ratio != nil {
					clock.add(float64(p.Ratio[c]), b*p.Seconds)
				}
			}
			if b >= 0.9 {
				nFull++
			}
			if b < idleBelow {
				nIdle++
				if p.Deep != nil {
					d := min(1, float64(p.Deep[c]))
					deep.add(d, p.Seconds)
					if d >= 0.5 {
						nDeep++
					}
				}
			}
		}
		if online == 0 {
			continue
		}
		busyCPUs.add(nBusy, p.Seconds)
		idle.add(nIdle/online, p.Seconds)
		if p.Deep != nil {
			hit := 0.0
			if nFull > 0 && nDeep >= idleShare*online {
				hit = 1
			}
			both.add(hit, p.Seconds)
		}
	}
	w.Busy, w.BusyCPUs, w.IdleCPUs, w.Deep, w.Clock, w.Waited, w.Both =
		busy.value(), busyCPUs.value(), idle.value(), deep.value(), clock.value(), waited.value(), both.value()
	for c := range did {
		if did[c].value() < 0.01 {
			w.Untouch++
		}
		if offline[c] {
			w.Offline++
		}
	}
}

// later looks at windows as long as the first minutes, from when things have settled:
// like is compared with like, since short windows are less even by chance alone.
func (r *Record) later(onset, last time.Time, q Question, rng *rand.Rand) *Later {
	start := settledAfter
	if left := last.Sub(onset); left < settledAfter+3*firstMinutes {
		start = 2 * firstMinutes
	}
	const most = 60 // windows: five hours of them
	var excess, clocks []float64
	room := int((last.Sub(onset) - start) / firstMinutes)
	for k := range min(room, most) {
		if room > most {
			k = k * room / most
		}
		w := r.window(onset, Window{From: start + time.Duration(k)*firstMinutes, To: start + time.Duration(k+1)*firstMinutes},
			rng)
		if !(w.Busy >= q.LoadAbove/2) || w.Spread == nil || w.Spread.Blocks < leastBlocks {
			continue
		}
		excess = append(excess, w.Spread.Excess())
		if known(w.Clock) {
			clocks = append(clocks, w.Clock)
		}
	}
	if len(excess) < 3 {
		return nil
	}
	l := &Later{Windows: len(excess), Excess: rangeOf(excess)}
	if len(clocks) >= 3 {
		l.Clock = new(rangeOf(clocks))
	}
	return l
}

// uneven reports whether CPUs shared the work less evenly than by chance, and by
// enough to matter.
func (s *Spread) uneven() bool {
	return s != nil && s.Blocks >= leastBlocks && s.P <= 0.025 && s.Excess() >= leastExcess
}

func (a *Answer) decide() {
	f := a.First
	if f.Spread == nil || f.Spread.Blocks < leastBlocks {
		a.Verdict = UndecidedShort
		return
	}
	if known(f.Clock) && a.Later != nil && a.Later.Clock != nil {
		a.Slow = new(f.Clock < slowRatio*a.Later.Clock.Mean && f.Clock < a.Later.Clock.Low)
	}
	if known(f.Waited) && known(f.IdleCPUs) {
		a.Unneeded = new(f.Waited >= waitedShare && f.IdleCPUs >= idleShare)
	}
	switch {
	case !f.Spread.uneven() && a.Slow != nil && *a.Slow:
		a.Verdict = SlowAtFirst
	case !f.Spread.uneven():
		a.Verdict = Even
	case a.Later == nil:
		a.Verdict = Uneven
	case f.Spread.Excess() > a.Later.Excess.High && f.Spread.Excess()-a.Later.Excess.Mean >= leastExcess:
		a.Verdict = UnevenAtFirst
	default:
		a.Verdict = UnevenAlways
	}
}

// Decided reports whether the record answers the question.
func (a *Answer) Decided() bool {
	switch a.Verdict {
	case UndecidedQuiet, UndecidedLoad, UndecidedShort:
		return false
	}
	return true
}

// Found reports whether CPUs were left out or slow in the first minutes.
func (a *Answer) Found() bool { return a.Decided() && a.Verdict != Even }
