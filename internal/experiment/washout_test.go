package experiment

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
)

// settling simulates the first pairs of a service that settles with tau seconds: a minute each after two to settle,
// looks of 10 s whose noise has a standard deviation and a memory, and a job that adds to every sixtieth.
func settling(rng *rand.Rand, tau, effect, noise float64) *Pilot {
	s := &Study{Harm: &Harm{Every: 10 * time.Second}, Factors: []Factor{{Unsettled: true, Settle: 2 * time.Minute}},
		Responses: []Response{{Response: result.Response{Name: "cpu", Primary: true}, From: "cpu", Scale: 1}}}
	p := s.Pilot()
	state, ar, second := 0.0, 0.0, 0
	period := func(level bool) {
		p.Period(level)
		for range 18 {
			sum := 0.0
			for range 10 {
				to := 0.0
				if level {
					to = effect
				}
				state += (to - state) * (1 - math.Exp(-1/tau))
				sum += state / 10
				second++
			}
			ar = 0.7*ar + math.Sqrt(1-0.49)*rng.NormFloat64()
			v := sum + noise*(0.8*rng.NormFloat64()+0.6*ar) + 0.3*math.Sin(2*math.Pi*float64(second)/86400)
			if second%600 < 10 {
				v += 0.2
			}
			p.Look(workload.Bin{Lasted: 10 * time.Second, Values: map[string]float64{"cpu": math.Exp(v)}})
		}
	}
	period(false)
	for range 10 {
		first := rng.IntN(2) == 1
		period(first)
		period(!first)
	}
	return p
}

// How long to wait is 4 tau or somewhat longer; where looks show no effect, the guess.
func TestWashout(t *testing.T) {
	const n = 200
	for _, c := range []struct {
		tau, effect, noise float64
		middle             [2]float64 // the median lies between
		keeps              [2]int     // of n pilots keep the guess
	}{
		{0.5, 0.2, 0.03, [2]float64{10, 10}, [2]int{0, 0}},
		{5, 0.2, 0.03, [2]float64{18, 24}, [2]int{0, 0}},
		{30, 0.2, 0.03, [2]float64{118, 135}, [2]int{0, 20}},
		{60, 0.2, 0.03, [2]float64{240, 285}, [2]int{0, 0}},
		{30, 0.1, 0.03, [2]float64{118, 150}, [2]int{0, 20}},
		{30, 0.5, 0.2, [2]float64{118, 170}, [2]int{0, 20}},
		{120, 0.2, 0.03, [2]float64{450, 600}, [2]int{0, 0}},
		{30, 0, 0.03, [2]float64{120, 120}, [2]int{185, n}},
		{30, 0, 0.2, [2]float64{120, 120}, [2]int{185, n}},
	} {
		rng := rand.New(rand.NewPCG(1, uint64(c.tau*1000+c.effect*100)))
		var waits []float64
		kept, short := 0, 0
		for range n {
			p := settling(rng, c.tau, c.effect, c.noise)
			wait, _, why := p.Washout()
			waits = append(waits, wait.Seconds())
			if strings.Contains(why, "no effect") || strings.Contains(why, "only") {
				kept++
			}
			if wait.Seconds() < 3*c.tau {
				short++
			}
		}
		if m := stats.Median(waits); m < c.middle[0] || m > c.middle[1] || kept < c.keeps[0] || kept > c.keeps[1] ||
			short > n/20 {
			t.Errorf("tau %v s, effect %v, noise %v: waits %v s in the middle, %d keep the guess, %d wait less than 3 tau",
				c.tau, c.effect, c.noise, m, kept, short)
		}
	}
}

func TestWashoutOfFewChanges(t *testing.T) {
	s := &Study{Harm: &Harm{Every: 10 * time.Second}, Factors: []Factor{{Unsettled: true, Settle: 2 * time.Minute}},
		Responses: []Response{{Response: result.Response{Name: "cpu", Primary: true}}}}
	if wait, _, why := s.Pilot().Washout(); wait != 2*time.Minute ||
		why != "2m after a change: only 0 changes were watched for long enough to show how the service settles" {
		t.Errorf("%v, %s", wait, why)
	}
	p := settling(rand.New(rand.NewPCG(1, 1)), 30, 0.2, 0.001)
	wait, _, why := p.Washout()
	if wait < 105*time.Second || wait > 130*time.Second || !strings.HasPrefix(why,
		screen.Brief(wait)+" after a change: the service settles with a time constant of at most ") {
		t.Errorf("%v, %s", wait, why)
	}
	s.Factors[0].Unsettled = false
	if s.Pilot() != nil {
		t.Error("a study that says how long the service takes has a pilot")
	}
}
