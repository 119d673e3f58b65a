package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// What a pair is made of, in seconds.
const (
	period = 300
	short  = 60 // of the first 10 pairs
	settle = 120
	margin = 0.02

	pilotPairs = 10 // which show how long the service takes to settle
)

func lasts(block int) int {
	if block < 10 {
		return short
	}
	return period
}

// study is the product's own switchback of the simulated service.
func study(seed uint64, pairs int, adjust bool) *experiment.Study {
	looks := slices.DeleteFunc([]int{10, 14, 20, 30, 43, 60, 86, 120}, func(l int) bool { return l > pairs })
	s := &experiment.Study{
		Name: "simulated", Evidence: result.Emulated,
		Design:  result.Design{Kind: result.Switchback, Seed: seed, Alpha: 0.05, Looks: looks, Repeats: 1},
		Factors: []experiment.Factor{{Factor: result.Factor{Name: "x", Kind: "parameter", Levels: []string{"base", "level"}, Baseline: "base", Change: result.Online}}},
		Responses: []experiment.Response{
			{Response: result.Response{Name: "cpu_each", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: margin, Primary: true}, From: "cpu_s", Over: "transactions", Scale: 1},
			{Response: result.Response{Name: "transactions_per_s", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: margin}, From: "transactions_per_s", Scale: 1}},
		Contrasts: []result.Contrast{{Factors: []string{"x"}, Levels: []string{"level"}, Primary: true}},
		Harm:      &experiment.Harm{Responses: []string{"latency_p99", "cpu_each"}, Above: 0.4, Limits: []float64{math.NaN(), math.NaN()}, Strikes: 2, Every: look * time.Second},
	}
	if adjust {
		s.Design.Load = "transactions_per_s"
	}
	return s
}

// seen is what was seen at a look of an experiment.
type seen struct {
	pairs     int
	effect    analysis.Effect
	last      bool // the experiment ends here
	warned    bool // it says that effects may look smaller than they are
	explained float64
}

// trial runs an experiment on s by the product's own plan, test, and rule to stop, and goes on to its last look
// after that.
func trial(s *service, pairs int, adjust bool) (all []seen) {
	head := experiment.Head(study(s.rng.Uint64(), pairs, adjust))
	var runs []result.Run
	ended, wait, st := false, settle, study(0, pairs, false)
	var pilot *experiment.Pilot
	if s.learned {
		st.Factors[0].Unsettled, st.Factors[0].Settle, wait = true, experiment.PilotWashout, int(experiment.PilotWashout.Seconds())
		pilot = st.Pilot()
	}
	watch := func(b workload.Bin) workload.Bin {
		if pilot != nil {
			pilot.Look(b)
		}
		return b
	}
	for b, block := range head.Blocks {
		if b == pilotPairs && pilot != nil {
			learned, _, _ := pilot.Washout()
			wait, pilot = int(learned.Seconds()), nil
		}
		for slot, cell := range block.Plots[0] {
			if pilot != nil {
				pilot.Period(cell == 1)
			}
			for range wait / look {
				watch(s.bin(cell == 1))
			}
			start, cpu, n := s.at, 0.0, 0.0
			for range lasts(b) / look {
				bin := watch(s.bin(cell == 1))
				cpu, n = cpu+bin.Values["cpu_s"], n+bin.Values["transactions"]
			}
			runs = append(runs, result.Run{Block: b, Slot: slot, Cell: cell, Status: result.OK, Start: time.Unix(int64(start), 0), Seconds: float64(lasts(b)),
				Waited: float64(wait), Values: map[string]float64{"cpu_each": cpu / n, "transactions_per_s": n / float64(lasts(b))}})
			if pilot != nil && b == pilotPairs-1 && slot == 1 {
				_, runs[len(runs)-1].SettlesIn, _ = pilot.Washout()
			}
		}
		if !slices.Contains(head.Design.Looks, b+1) {
			continue
		}
		a := analysis.Analyse(head, runs, nil)
		e := a.Effects[0]
		v := seen{pairs: b + 1, effect: e, last: !ended && (b+1 == len(head.Blocks) || a.Decided())}
		v.warned = slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "look smaller") })
		ended = ended || v.last
		if e.Adjusted != nil {
			v.explained = e.Adjusted.Explained
		}
		all = append(all, v)
	}
	return all
}
