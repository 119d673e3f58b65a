package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
)

// The limits of what Pilot.Washout returns.
const (
	MinWashout = 10 * time.Second
	MaxWashout = 10 * time.Minute
	// PilotWashout is what the first pairs wait: long enough to see a time constant of 2 minutes.
	PilotWashout = 4 * time.Minute
)

// Pilot learns from the first pairs of a switchback how long the service takes to settle after a change. It is
// fed as HarmWatch is: with every look of every period from the change on, those of the washout and of the warm-up
// included. A resume begins anew, and keeps the guess where too few of the first pairs are left.
type Pilot struct {
	every    time.Duration
	guess    time.Duration // Settle of the factor
	judged   judged
	before   int       // 1 the level, -1 the baseline, 0 not known
	looks    []float64 // logarithms of this period so far; NaN: not known
	changes  []change
	watching bool // the last of changes is under way
}

// change is what was seen of the response after one.
type change struct {
	towards float64   // 1 to the level, -1 back to the baseline
	looks   []float64 // lead before the change, and those from it on
}

// lead is how many looks before a change are compared with those after it.
const lead = 6

// Pilot returns one for a study with Harm, by its first primary response. nil where Settle was given: there is nothing
// to learn.
func (s *Study) Pilot() *Pilot {
	if s.Harm == nil || !s.Factors[0].Unsettled {
		return nil
	}
	p := &Pilot{every: s.Harm.Every, guess: s.Factors[0].Settle}
	for _, r := range s.Responses {
		if r.Primary {
			p.judged.Response = r
			break
		}
	}
	return p
}

// Period begins the next period, at the level or at the baseline. A period that is as the one before is no change.
func (p *Pilot) Period(level bool) {
	to := -1
	if level {
		to = 1
	}
	if p.watching = p.before == -to && len(p.looks) >= lead; p.watching {
		p.changes = append(p.changes, change{float64(to), slices.Clone(p.looks[len(p.looks)-lead:])})
	}
	if p.before == -to {
		p.looks = nil
	}
	p.before = to
}

// Look takes in a look. A period that harm has ended gets no more of them.
func (p *Pilot) Look(b workload.Bin) {
	if b.Lasted < p.every/2 {
		return
	}
	p.looks = append(p.looks, math.Log(p.judged.value(b.Values)))
	if p.watching {
		c := &p.changes[len(p.changes)-1]
		c.looks = append(c.looks, p.looks[len(p.looks)-1])
	}
}

// Washout returns how long to wait after a change, and why, with the longest time constant that fits, in s; 0: not
// known. A service that settles with the time constant tau is at 1 - exp(-t/tau) of an effect after t, so that 4 tau
// leave 2 % of it.
//
// The middle path of the response, to the level and, turned round, back again, shows tau; what changes by itself
// cancels in it. tau is the longest that fits almost as well as the best one does: to wait too long costs time, to
// wait too short hides a part of the effect. Where the path shows no effect, nothing is known of tau, and the guess
// stays: the effect may be too small for single looks, and 2 minutes are enough for a tau of half of one.
func (p *Pilot) Washout() (wait time.Duration, tau float64, why string) {
	path, n := p.path()
	keep := func(why string) (time.Duration, float64, string) {
		return p.guess, 0, fmt.Sprintf("%s after a change: %s", screen.Brief(p.guess), why)
	}
	if len(path) < 2*lead || n < 4 {
		return keep(fmt.Sprintf("only %s watched for long enough to show how the service settles",
			screen.Plural(n, "change was", "changes were")))
	}
	flat, best := squares(path, math.Inf(1)), math.Inf(1)
	step := p.every.Seconds()
	fit := map[float64]float64{}
	for tau := step / 10; tau <= slowest; tau *= 1.1 {
		fit[tau] = squares(path, tau/step)
		best = min(best, fit[tau])
	}
	free := float64(len(path) - 2)
	if !((flat-best)/(best/free) > effectSeen) {
		return keep("single looks show no effect that would have to settle")
	}
	longest := 0.0
	for tau, s := range fit {
		if (s-best)/(best/free) <= nearlyAsGood {
			longest = max(longest, tau)
		}
	}
	wait = time.Duration(4 * longest * float64(time.Second))
	wait = min(max(wait.Round(time.Second), min(MinWashout, p.guess)), MaxWashout)
	why = fmt.Sprintf("%s after a change: the service settles with a time constant of at most %s, by %s",
		screen.Brief(wait), screen.Brief(time.Duration(longest*float64(time.Second)).Round(time.Second)),
		screen.Count(n, "change"))
	return wait, longest, why
}

// slowest is the longest time constant that is looked for, in s.
const slowest = 300

// effectSeen is an F that 2 to 4 in 100 pilots without an effect exceed, whose noise has a memory (TestWashout);
// nearlyAsGood is one that one in five exceeds by chance.
const (
	effectSeen   = 20
	nearlyAsGood = 1.9
)

// path is the way of the response from lead looks before a change on, look by look: the median over the changes that
// were watched for at least as long as half of them were; and how many these are.
func (p *Pilot) path() (path []float64, n int) {
	var lengths []float64
	for _, c := range p.changes {
		lengths = append(lengths, float64(len(c.looks)))
	}
	if lengths == nil {
		return nil, 0
	}
	ways := make([][]float64, int(stats.Median(lengths))) // by look
	for _, c := range p.changes {
		if len(c.looks) < len(ways) {
			continue
		}
		looks := c.looks[:len(ways)]
		if m := stats.Mean(looks); !math.IsNaN(m) && !math.IsInf(m, 0) {
			n++
			for i, v := range looks {
				ways[i] = append(ways[i], c.towards*(v-m))
			}
		}
	}
	for _, w := range ways {
		path = append(path, stats.Median(w))
	}
	return path, n
}

// squares is what is left of a path beside the best line a + b f, where f is how much of an effect each look has
// that settles with tau, in looks; infinite: beside its mean.
func squares(path []float64, tau float64) float64 {
	y, f := slices.Clone(path), make([]float64, len(path))
	for i := range f[lead:] { // the mean of 1 - exp(-t/tau) over a look
		f[lead+i] = 1 - tau*(math.Exp(-float64(i)/tau)-math.Exp(-float64(i+1)/tau))
	}
	floats.AddConst(-stats.Mean(y), y)
	left := floats.Dot(y, y)
	if math.IsInf(tau, 1) {
		return left
	}
	floats.AddConst(-stats.Mean(f), f)
	along := floats.Dot(f, y)
	return left - along*along/floats.Dot(f, f)
}
