package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Band is ten minutes of a service, of which a trend is made.
type Band struct {
	At           time.Time                    `json:"at"` // it began
	Wall         float64                      `json:"wall"`
	Busy         float64                      `json:"busy"`
	Transactions int64                        `json:"transactions"` // -1: not counted
	Parts        map[explain.PartName]float64 `json:"parts"`        // s
}

// bandFor is the length of a band, and keptBands for how long they are kept.
const (
	bandFor   = 10 * time.Minute
	keptBands = 61 * 24 * time.Hour
	dayBands  = int(24 * time.Hour / bandFor)
)

// add puts a stretch into it.
func (b *Band) add(m *assess.Minute) {
	r := &m.Report
	b.Wall, b.Busy = b.Wall+r.Wall, b.Busy+r.Busy
	if b.Transactions >= 0 && r.Transactions >= 0 {
		b.Transactions += r.Transactions
	} else {
		b.Transactions = -1
	}
	if b.Parts == nil {
		b.Parts = map[explain.PartName]float64{}
	}
	for _, p := range r.Parts {
		b.Parts[p.Name] += p.Seconds
	}
}

// A trend compares the last hour and a half with the same time of earlier days, of which it takes so many.
const (
	lastBands  = 9
	outer      = 2  // bands that are left out at either end: a restart, or a job
	before     = 72 // bands before those, by which the whole day differs from earlier ones
	leastDays  = 3
	mostDays   = 15
	leastRise  = 0.05 // smaller ones are not worth a word
	farOut     = 3.7  // in standard deviations of such a time (bench/trend)
	calm       = 1.6  // below it a rise is over
	leastNoise = 0.02 // no service is quieter for days
	fewOf      = 0.1  // share of the usual transactions from which a band says something
)

// Rise is that a transaction takes longer than at equal times of earlier days, for an hour and a half.
type Rise struct {
	Ratio float64 // of the time of a transaction
	Noise float64 // by which such times differ from equal ones, as a standard deviation of the logarithm
	Days  int     // that it is compared with
	Part  explain.PartName
}

// pastBand is what a trend keeps of a band. There are two months of them in memory, so that each is small.
type pastBand struct {
	at           time.Time
	transactions int64
	parts        []float64 // s, in the order of explain.PartNames
}

// Trends follows bands.
type Trends struct {
	bands  []pastBand
	values []float64 // log s a transaction; NaN: too few
	rests  []float64 // less that of equal times; NaN: too few days
	hours  []float64 // those of the last hour and a half; NaN: too few
	day    float64   // by how much this day differs; NaN: not known
	rising bool
	early  int // bands that were left out, as their clock seemed to be wrong
}

// Add takes the next band, and returns the rise that it is in; nil: none, or, as known says, nobody knows. A rise that
// is not known to be over goes on.
func (t *Trends) Add(b Band) (rise *Rise, known bool) {
	if !t.follows(b.At) {
		return nil, false
	}
	if n := len(t.bands); n > 0 { // what lies before a gap is not the last hour
		at := t.bands[n-1].at
		for range lastBands {
			if at = at.Add(bandFor); !at.Before(b.At.Add(-bandFor / 2)) {
				break
			}
			t.put(pastBand{at: at, transactions: -1}, math.NaN(), math.NaN())
		}
	}
	v := math.NaN()
	if b.Transactions > 0 && b.Busy > 0 && float64(b.Transactions) >= fewOf*t.usual() {
		v = math.Log(b.Busy / float64(b.Transactions))
	}
	base, days := t.equal(b.At)
	of := pastBand{b.At, b.Transactions, make([]float64, len(explain.PartNames))}
	for i, name := range explain.PartNames {
		of.parts[i] = b.Parts[name]
	}
	last := t.put(of, v, v-base)
	noise, known := t.noise()
	if !known || math.IsNaN(last) {
		return nil, false
	}
	limit := max(farOut*noise, leastRise)
	if t.rising {
		limit = max(calm*noise, leastRise/2)
	}
	if t.rising = last > limit; !t.rising {
		return nil, true
	}
	return &Rise{Ratio: math.Exp(last), Noise: noise, Days: days, Part: t.grown()}, true
}

// follows reports that a band may come next. Where the clock was set back, it takes the place of those of a later time.
// If they were more than a day's, this clock is more likely to be wrong, until it has made a day of bands.
func (t *Trends) follows(at time.Time) bool {
	i, _ := slices.BinarySearchFunc(t.bands, at, func(b pastBand, at time.Time) int { return b.at.Compare(at) })
	if len(t.bands)-i > dayBands && t.early < dayBands {
		t.early++
		return false
	}
	t.bands, t.values, t.rests, t.hours, t.early = t.bands[:i], t.values[:i], t.rests[:i], t.hours[:i], 0
	return true
}

// Usual is between which s a transaction takes at that time of such days, as far as no rise is said; NaN: that is not
// known yet.
func (t *Trends) Usual(at time.Time) (low, high float64) {
	base, _ := t.equal(at)
	noise, known := t.noise()
	if !known {
		return math.NaN(), math.NaN()
	}
	limit := max(farOut*noise, leastRise)
	return math.Exp(base + t.day - limit), math.Exp(base + t.day + limit)
}

// put keeps a band, and returns how far the last hour and a half is from equal times.
func (t *Trends) put(b pastBand, v, rest float64) float64 {
	t.bands, t.values, t.rests = append(t.bands, b), append(t.values, v), append(t.rests, rest)
	from := max(0, len(t.rests)-lastBands)
	if !t.rising { // else it is from before the rise
		t.day = middleOf(t.rests[max(0, from-before):from], before/3)
	}
	last := middleOf(t.rests[from:], lastBands-1) - t.day
	t.hours = append(t.hours, last)
	if n := len(t.bands) - int(keptBands/bandFor); n > 0 {
		t.bands, t.values, t.rests, t.hours = t.bands[n:], t.values[n:], t.rests[n:], t.hours[n:]
	}
	return last
}

// usual is the median number of transactions of the last day's bands.
func (t *Trends) usual() float64 {
	var n []float64
	for _, b := range t.bands[max(0, len(t.bands)-dayBands):] {
		n = append(n, float64(max(0, b.transactions)))
	}
	if len(n) == 0 {
		return 0
	}
	return stats.Median(n)
}

// weekend reports whether a day is one of those that are compared with each other.
func weekend(t time.Time) bool { return t.Weekday() == time.Saturday || t.Weekday() == time.Sunday }

// near calls f for the bands of an equal time of earlier days, within ten minutes of it.
func (t *Trends) near(at time.Time, f func(day, band int)) {
	end := len(t.bands)
	for day := 1; day <= 4*mostDays; day++ {
		when := at.AddDate(0, 0, -day) // the same time by the clock, also where the clocks were changed
		if weekend(when) != weekend(at) {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.bands[:end], when.Add(-bandFor),
			func(b pastBand, t time.Time) int { return b.at.Compare(t) })
		for end = i; i < len(t.bands) && !t.bands[i].at.After(when.Add(bandFor)); i++ {
			f(day, i)
		}
	}
}

// equal is the median of equal times of earlier days, and of how many; NaN for too few.
func (t *Trends) equal(at time.Time) (v float64, days int) {
	by := map[int][]float64{}
	t.near(at, func(day, i int) {
		if v := t.values[i]; !math.IsNaN(v) && (len(by) < mostDays || by[day] != nil) {
			by[day] = append(by[day], v)
		}
	})
	if len(by) < leastDays {
		return math.NaN(), len(by)
	}
	var all []float64
	for _, values := range by {
		all = append(all, stats.Median(values))
	}
	return stats.Median(all), len(by)
}

// middleOf is the mean of those in the middle; NaN where fewer than least are known.
func middleOf(rests []float64, least int) float64 {
	known := slices.DeleteFunc(slices.Clone(rests), math.IsNaN)
	if len(known) < least {
		return math.NaN()
	}
	slices.Sort(known)
	cut := len(known) * outer / lastBands
	return stats.Mean(known[cut : len(known)-cut])
}

// noise is by how much such times differed from equal ones before the last, as a standard deviation; known from a day
// on.
func (t *Trends) noise() (sd float64, known bool) {
	var all []float64
	for i := len(t.hours) - 1 - lastBands; i >= 0 && len(all) < 16*mostDays; i -= lastBands {
		if v := t.hours[i]; !math.IsNaN(v) {
			all = append(all, math.Abs(v))
		}
	}
	if len(all) < 16 { // a day
		return 0, false
	}
	return max(leastNoise, 1.4826*stats.Median(all)), true
}

// grown is the part that grew most in the last hour and a half, a transaction, against equal times.
func (t *Trends) grown() (part explain.PartName) {
	n := len(explain.PartNames)
	now, then := pastBand{parts: make([]float64, n)}, pastBand{parts: make([]float64, n)}
	add := func(to *pastBand, b pastBand) {
		if b.transactions > 0 {
			to.transactions += b.transactions
			floats.Add(to.parts, b.parts)
		}
	}
	for _, b := range t.bands[max(0, len(t.bands)-lastBands):] {
		add(&now, b)
		t.near(b.at, func(_, i int) { add(&then, t.bands[i]) })
	}
	most := 0.0
	for i, name := range explain.PartNames {
		by := now.parts[i]/float64(max(1, now.transactions)) - then.parts[i]/float64(max(1, then.transactions))
		if name != explain.Idle && by > most {
			part, most = name, by
		}
	}
	return part
}

// Text says it.
func (r *Rise) Text() string {
	says := fmt.Sprintf("a transaction takes %s longer than at this time on %s before; such times usually differ by %s",
		result.Share(r.Ratio-1), screen.Count(r.Days, "day"), result.Share(r.Noise))
	if r.Part != "" {
		says += "; most of it is " + r.Part.Title()
	}
	return says
}
