// Trend plants services without and with a change, and counts what hostlab's trend says of them: false alarms a month, and rises
// of 15 % that are told within two hours.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/report"
	"hostlab/internal/stats"
)

// law is how the time of a transaction varies, as standard deviations of its logarithm.
type law struct {
	name                string
	band, slow, day     float64 // from band to band; with a memory of two hours; from day to day
	curve               float64 // how much longer it takes at noon than at midnight
	weekend             float64 // how much longer at weekends
	night               float64 // a job from 02:00 for twenty minutes makes it so many times as long
	restarts, restarts1 float64 // a day; each takes longer by so much at first, for a quarter of an hour
	heavy               bool    // bands have the tails of Student's t with three degrees of freedom
}

var laws = []law{
	{name: "quiet", band: 0.02, slow: 0.01, day: 0.01, curve: 0.2},
	{name: "day curve", band: 0.04, slow: 0.02, day: 0.02, curve: 1},
	{name: "weekends", band: 0.04, slow: 0.02, day: 0.02, curve: 0.5, weekend: -0.4},
	{name: "night's job", band: 0.04, slow: 0.02, day: 0.02, curve: 0.5, night: 3},
	{name: "restarts", band: 0.04, slow: 0.02, day: 0.02, curve: 0.5, restarts: 0.5, restarts1: 0.5},
	{name: "heavy tails", band: 0.04, slow: 0.02, day: 0.02, curve: 0.5, heavy: true},
	{name: "restless", band: 0.06, slow: 0.04, day: 0.03, curve: 0.5, night: 2, restarts: 0.2, restarts1: 0.5},
}

const bandFor = 10 * time.Minute

// service makes bands.
type service struct {
	law
	rng       *rand.Rand
	slow1, of float64
	dayIs     int
	restarted time.Time
}

func (s *service) next(at time.Time, more float64) report.Band {
	noise := s.rng.NormFloat64()
	if s.heavy { // Student's t of three degrees of freedom, of variance 1
		chi := 0.0
		for range 3 {
			g := s.rng.NormFloat64()
			chi += g * g
		}
		noise /= math.Sqrt(chi/3) * math.Sqrt(3)
	}
	keep := math.Exp(-1 / 12.0)
	s.slow1 = keep*s.slow1 + math.Sqrt(1-keep*keep)*s.rng.NormFloat64()
	if d := at.YearDay(); d != s.dayIs {
		s.dayIs, s.of = d, s.rng.NormFloat64()
	}
	hour := float64(at.Hour()) + float64(at.Minute())/60
	peak := (1 - math.Cos(2*math.Pi*hour/24)) / 2
	v := s.band*noise + s.slow*s.slow1 + s.day*s.of + math.Log(1+s.curve*peak) + more
	if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
		v += math.Log(1 + s.weekend)
	}
	if s.night > 0 && at.Hour() == 2 && at.Minute() < 20 {
		v += math.Log(s.night)
	}
	if s.rng.Float64() < s.restarts/144 {
		s.restarted = at
	}
	if at.Sub(s.restarted) < 20*time.Minute {
		v += s.restarts1
	}
	n := 6000 * (0.3 + peak)
	busy := n * 0.005 * math.Exp(v)
	return report.Band{At: at, Wall: 600, Busy: busy, Transactions: int64(n), Parts: map[explain.PartName]float64{explain.DatabaseCPU: busy}}
}

func main() {
	n := flag.Int("services", 200, "of each law")
	flag.Parse()
	begin := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) // a Monday
	missed := false
	fmt.Println("| Law | False alarms a month | Services with one | +15 % told within 2 h | Median, h | +10 % |")
	fmt.Println("|---|---|---|---|---|---|")
	for i, l := range laws {
		alarms, months, with := 0, 0.0, 0
		told := map[float64]int{}
		var took []float64
		for k := range *n {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(k)))
			const days = 60
			t, s, was, before := report.Trends{}, service{law: l, rng: rng}, false, alarms
			for b := range days * 144 {
				r, _ := t.Add(s.next(begin.Add(time.Duration(b)*bandFor), 0))
				if r != nil && !was {
					alarms++
				}
				was = r != nil
			}
			if months += (days - 7) / 30.4; alarms > before {
				with++
			}
			for _, rise := range []float64{0.15, 0.10} {
				t, s := report.Trends{}, service{law: l, rng: rng}
				at := 15*144 + rng.IntN(13*144)
				for b := range at + 12 {
					more := 0.0
					if b >= at {
						more = math.Log(1 + rise)
					}
					if r, _ := t.Add(s.next(begin.Add(time.Duration(b)*bandFor), more)); r != nil && b >= at {
						if told[rise]++; rise == 0.15 {
							took = append(took, float64(b-at+1)/6)
						}
						break
					}
				}
			}
		}
		low, high := stats.Share(told[0.15], *n, 0.05)
		fmt.Printf("| %s | %.2f | %d of %d | %.0f [%.0f, %.0f] %% | %.1f | %.0f %% |\n", l.name, float64(alarms)/months, with, *n,
			100*float64(told[0.15])/float64(*n), 100*low, 100*high, stats.Median(took), 100*float64(told[0.10])/float64(*n))
		missed = missed || float64(alarms)/months > 1 || float64(told[0.15]) < 0.9*float64(*n)
	}
	if missed {
		os.Exit(1)
	}
}
