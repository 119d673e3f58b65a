package watch

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"hostlab/internal/stats"
)

// Span is a stretch of a record.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Busy float64   `json:"busy"` // share of all CPUs
}

func (s Span) length() time.Duration { return s.To.Sub(s.From) }

// step is the length of the means by which quiet and load are separated: shorter
// than a minute, the jobs of cron and monitoring would end a night.
const step = time.Minute

// steps averages load over stretches of a minute, or of a sample where those are
// longer. A stretch without samples, a gap in the recording, is NaN.
func (r *Record) steps() (each time.Duration, busy []float64) {
	each = step
	for _, p := range r.Points[:min(len(r.Points), 100)] {
		each = max(each, time.Duration(p.Seconds*float64(time.Second)))
	}
	start := r.start()
	last := r.Points[len(r.Points)-1].At
	n := int(last.Sub(start)/each) + 1
	if n > 1<<20 { // two years of minutes: the clock was wrong once
		n = 1 << 20
	}
	busy = make([]float64, n)
	seconds := make([]float64, n)
	for _, p := range r.Points {
		if i := int(p.At.Add(-time.Millisecond).Sub(start) / each); i >= 0 && i < n {
			if m := p.mean(); known(m) {
				busy[i] += m * p.Seconds
				seconds[i] += p.Seconds
			}
		}
	}
	for i := range busy {
		busy[i] /= seconds[i]
	}
	return each, busy
}

func (r *Record) start() time.Time {
	return r.Points[0].At.Add(-time.Duration(r.Points[0].Seconds * float64(time.Second)))
}

// mean is the busy share of all CPUs that were online.
func (p Point) mean() float64 { return average(p.Busy) }

// night finds the longest quiet time that load follows, else the longest of all, and
// when the load began. Both are zero where there is none. One busy step between
// quiet ones, such as a backup's, does not end it: two in a row do.
func (r *Record) night(q Question) (quiet, quietOnly Span, onset time.Time) {
	each, busy := r.steps()
	at := func(i int) time.Time { return r.start().Add(time.Duration(i) * each) }
	for i := 0; i < len(busy); {
		if !(busy[i] < q.QuietBelow) {
			i++
			continue
		}
		end, sum, n := i, 0.0, 0
		for end < len(busy) && known(busy[end]) {
			if busy[end] >= q.QuietBelow && (end+1 >= len(busy) || !(busy[end+1] < q.QuietBelow)) {
				break
			}
			sum, n = sum+busy[end], n+1
			end++
		}
		s := Span{at(i), at(end), sum / float64(n)}
		from := i
		i = end
		if s.length() < q.QuietFor {
			continue
		}
		if s.length() > quietOnly.length() {
			quietOnly = s
		}
		// Load that rises slowly may take some steps from quiet to load.
		const rise = 30
		for k := end; k < min(len(busy), end+rise) && !(busy[k] < q.QuietBelow); k++ {
			if busy[k] >= q.LoadAbove && (k+1 == len(busy) || busy[k+1] >= q.LoadAbove/2) {
				if s.length() > quiet.length() {
					quiet, onset = s, r.onset(s.To, at(k), q)
				}
				break
			}
		}
		i = max(i, from+1)
	}
	return quiet, quietOnly, onset
}

// onset finds the first sample after the quiet time from which load goes on: the step
// that it falls into may begin up to a minute before it.
func (r *Record) onset(quietEnd, loaded time.Time, q Question) time.Time {
	const window = 10 * time.Second
	for i, p := range r.Points {
		if p.At.Before(quietEnd.Add(-step)) {
			continue
		}
		if !p.At.Before(loaded.Add(step)) {
			break
		}
		sum, seconds := 0.0, 0.0
		for _, n := range r.Points[i:] {
			if m := n.mean(); known(m) {
				sum, seconds = sum+m*n.Seconds, seconds+n.Seconds
			}
			if n.At.Sub(p.At) >= window {
				break
			}
		}
		if p.mean() >= q.QuietBelow && sum/seconds >= q.LoadAbove*0.75 {
			return p.At.Add(-time.Duration(p.Seconds * float64(time.Second)))
		}
	}
	return loaded
}

// blocks returns the busy time of each CPU, in s, in stretches of so long between two
// times, without those that have a gap or no work. CPUs that were offline did none.
func (r *Record) blocks(from, to time.Time, length time.Duration) [][]float64 {
	n := int(math.Ceil(to.Sub(from).Seconds()/length.Seconds() - 1e-9))
	if n <= 0 || n > 1<<20 {
		return nil
	}
	all := make([][]float64, n)
	seconds := make([]float64, n)
	for _, p := range r.between(from, to) {
		i := int(p.At.Add(-time.Millisecond).Sub(from) / length)
		if i < 0 || i >= n {
			continue
		}
		if all[i] == nil {
			all[i] = make([]float64, len(r.CPUs))
		}
		seconds[i] += p.Seconds
		for c, b := range p.Busy {
			if v := float64(b); known(v) {
				all[i][c] += v * p.Seconds
			}
		}
	}
	var out [][]float64
	for i, b := range all {
		work := 0.0
		for _, v := range b {
			work += v
		}
		if seconds[i] >= length.Seconds()/2 && work > 0 {
			out = append(out, b)
		}
	}
	return out
}

// between returns the points that end after from and not after to.
func (r *Record) between(from, to time.Time) []Point {
	after := func(t time.Time) int {
		return sort.Search(len(r.Points), func(i int) bool { return r.Points[i].At.After(t) })
	}
	first := after(from)
	last := max(first, after(to))
	return r.Points[first:last]
}

// Spread is how evenly CPUs shared the work of a window, and what chance would have
// made of the same load: in each block of time the same busy times, dealt to the
// CPUs at random. Load that moves about evens out over the blocks; load that keeps
// away from some CPUs does not.
type Spread struct {
	Blocks  int     `json:"blocks"`  // n: stretches of time that are dealt independently
	Seconds float64 `json:"seconds"` // of a block
	Quarter float64 `json:"busiest_quarter"`
	Chance  Range   `json:"busiest_quarter_by_chance"`
	Gini    float64 `json:"gini"` // 0 even, towards 1 all on one CPU
	ByGini  Range   `json:"gini_by_chance"`
	P       float64 `json:"p"` // share of the deals at least as uneven
}

// Range is a mean with the limits that hold 95 % of cases.
type Range struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Excess is how much more of the work the busiest quarter did than by chance.
func (s Spread) Excess() float64 { return s.Quarter - s.Chance.Mean }

// How many deals, and how much dealing in all, in numbers moved.
const (
	mostDeals  = 999
	leastDeals = 199
	mostMoves  = 1e8
)

// spreadOf compares blocks (busy time of each CPU) with chance. Blocks without work
// say nothing and must not be there.
func spreadOf(blocks [][]float64, seconds float64, rng *rand.Rand) Spread {
	s := Spread{Blocks: len(blocks), Seconds: seconds}
	if len(blocks) == 0 {
		return s
	}
	n := len(blocks[0])
	sum := make([]float64, n)
	for _, b := range blocks {
		for i, v := range b {
			sum[i] += v
		}
	}
	s.Quarter, s.Gini = inequality(sum)
	deals := int(min(mostDeals, max(leastDeals, mostMoves/float64(n*len(blocks)))))
	quarters, ginis := make([]float64, deals), make([]float64, deals)
	dealt := make([]float64, n)
	as := 1
	for d := range deals {
		clear(sum)
		for _, b := range blocks {
			copy(dealt, b)
			rng.Shuffle(n, func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
			for i, v := range dealt {
				sum[i] += v
			}
		}
		quarters[d], ginis[d] = inequality(sum)
		if quarters[d] >= s.Quarter-1e-12 {
			as++
		}
	}
	s.P = float64(as) / float64(deals+1)
	s.Chance, s.ByGini = rangeOf(quarters), rangeOf(ginis)
	return s
}

func rangeOf(x []float64) Range {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return Range{Mean: sum / float64(len(x)), Low: stats.Quantile(x, 0.025), High: stats.Quantile(x, 0.975)}
}

// inequality returns the share of the busiest quarter and the Gini coefficient. It
// sorts what it is given.
func inequality(sum []float64) (quarter, gini float64) {
	slices.Sort(sum)
	total, weighted := 0.0, 0.0
	n := float64(len(sum))
	for i, v := range sum {
		total += v
		weighted += v * float64(i+1)
	}
	if !(total > 0) {
		return unknown, unknown
	}
	slices.Reverse(sum)
	return quarterOf(sum), 2*weighted/(n*total) - (n+1)/n
}
