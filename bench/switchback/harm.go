package main

import (
	"hostlab/internal/experiment"
)

// stopped is what the harm rule made of an experiment.
type stopped struct {
	stop    bool
	atLevel float64 // seconds at the level from the beginning of the harm to the stop
	inAll   float64 // seconds of both
	strikes int
	counts  int     // of them
	first   float64 // seconds at the level to the first strike; 0: none
}

// harmed runs pairs of periods on s with the product's own rule, until it stops them. Those of pace
// last so many seconds, settling included.
func harmed(s *service, pairs int, pace func(block int) int) (o stopped) {
	st := study(s.rng.Uint64(), pairs, false)
	_, blocks := experiment.Plan(st)
	rule := st.WatchHarm()
	rule.Period(false) // the warm-up, at the baseline
	for range (settle + short) / look {
		rule.Look(s.bin(false))
	}
	for b, block := range blocks {
		for _, cell := range block.Plots[0] {
			rule.Period(cell == 1)
			for range pace(b) / look {
				bin := s.bin(cell == 1)
				if s.at > s.from {
					o.inAll += look
					if cell == 1 {
						o.atLevel += look
					}
				}
				v := rule.Look(bin)
				if !v.Strike {
					continue
				}
				if o.first == 0 {
					o.first = o.atLevel
				}
				o.strikes++
				rule.Period(false)
				for !v.Held {
					v = rule.Look(s.bin(false))
					if s.at > s.from {
						o.inAll += look
					}
				}
				if v.Counts {
					o.counts++
				}
				if v.Stop {
					o.stop = true
					return o
				}
				break
			}
		}
	}
	return o
}
