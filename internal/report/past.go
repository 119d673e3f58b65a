package report

import (
	"fmt"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Past is what a time of a ring says as a whole, in JSON: a day of it is kept by a fleet.
type Past struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Pace
	// Worst is the hour in which a transaction took longest, or most sessions worked; null: the time is shorter than two.
	Worst *WorstHour `json:"worst_hour"`
	// Rise is that transactions took longer than on other days; null: they did not, or, as Known says, nobody knows.
	Rise  *PastRise `json:"rise"`
	Known bool      `json:"rise_known"`
}

// Pace is how a service got on.
type Pace struct {
	Transaction *float64 `json:"transaction"` // s of active time; null: they are not counted
	// Interval is its 95 % interval, by how N stretches of the time differ; null: there are too few of them.
	Interval *[2]float64 `json:"transaction_interval"`
	N        int         `json:"n"`       // of those stretches; 0: no interval
	Working  float64     `json:"working"` // sessions or threads at work, in the mean
}

// WorstHour is one of a longer time.
type WorstHour struct {
	From time.Time `json:"from"`
	Pace
}

// PastRise is one since a moment.
type PastRise struct {
	Since time.Time        `json:"since"`
	Ratio float64          `json:"ratio"` // of the time of a transaction to that at this time on other days
	Noise float64          `json:"noise"` // by which such times differ, a standard deviation of the logarithm
	Days  int              `json:"days"`  // that it is compared with
	Part  explain.PartName `json:"part"`  // that grew most; "": none did
}

// past sums the time up.
func (h *History) past(rise *Rise, since time.Time, days float64) *Past {
	p := &Past{From: h.From, To: h.end(), Pace: h.pace(), Known: rise != nil || days > 0}
	if rise != nil {
		p.Rise = &PastRise{since, rise.Ratio, rise.Noise, rise.Days, rise.Part}
	}
	if p.To.Sub(p.From) >= 2*time.Hour {
		if worst, err := h.Worst(time.Hour); err == nil { // else no hour is whole
			p.Worst = &WorstHour{worst.From, worst.pace()}
		}
	}
	return p
}

// end is when the time was over, or now.
func (h *History) end() time.Time {
	if now := time.Now(); h.To.After(now) {
		return now
	}
	return h.To
}

func (h *History) pace() (p Pace) {
	var all worked
	list, _ := h.ofOne()
	for _, m := range list {
		all = all.plus(m)
	}
	if all.untold == 0 && all.n > 0 {
		p.Transaction = new(all.each())
		p.Interval, p.N = scatter(list)
	}
	p.Working = all.busy / max(all.wall, 1e-9)
	return p
}

// scatter is the 95 % interval of the time of a transaction. Neighbours are like each other, so that a long time is cut into so many
// stretches as it has bands of a day.
func scatter(list []*assess.Minute) (interval *[2]float64, n int) {
	const least = 6
	var busy, count []float64
	for some := range slices.Chunk(list, (len(list)+dayBands-1)/dayBands) {
		var sum worked
		for _, m := range some {
			sum = sum.plus(m)
		}
		busy, count = append(busy, sum.busy), append(count, float64(sum.n))
	}
	if len(busy) < least {
		return nil, 0
	}
	e := stats.RatioOfSums(busy, count, 0.05)
	return &[2]float64{max(0, e.Low), e.High}, len(busy)
}

// says is how a service got on, in words.
func (p Pace) says() string {
	if p.Interval != nil {
		return fmt.Sprintf("a transaction took %s [%s, %s] (n %d)", result.Format(*p.Transaction, "s"), result.Format(p.Interval[0], "s"),
			result.Format(p.Interval[1], "s"), p.N)
	}
	if p.Transaction != nil {
		return "a transaction took " + result.Format(*p.Transaction, "s")
	}
	return fmt.Sprintf("%.2g sessions or threads were at work", p.Working)
}

// section names the worst hour.
func (p *Past) section() document.Section {
	if p == nil || p.Worst == nil {
		return document.Section{}
	}
	at := p.Worst.From.Local()
	return document.Titled("Its worst hour", document.Line{Text: fmt.Sprintf("From %s on, %s; in all of this time, %s.",
		at.Format("2006-01-02 15:04"), p.Worst.says(), p.says())}, document.Commands{{Why: "where the time went in that hour",
		Line: "hostlab assess --at " + at.Format("2006-01-02T15:04:05Z07:00") + " --for 1h"}})
}
