//go:build unix

// Command closures runs M/M/8 as Go programs usually write such a simulation: events
// are closures in a container/heap.
package main

import (
	"container/heap"
	"math/rand/v2"

	"hostlab/bench/engines/timed"
)

type event struct {
	at float64
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

type station struct {
	now     float64
	events  events
	free    int
	waiting []float64 // arrivals
	random  *rand.Rand
	left    int
	sum     float64
}

func (s *station) after(delay float64, do func()) { heap.Push(&s.events, event{s.now + delay, do}) }

func (s *station) arrive() {
	if s.free > 0 {
		s.free--
		s.serve(s.now)
	} else {
		s.waiting = append(s.waiting, s.now)
	}
	s.after(s.random.ExpFloat64()/timed.Rate, s.arrive)
}

func (s *station) serve(arrived float64) {
	s.after(s.random.ExpFloat64(), func() {
		s.sum += s.now - arrived
		s.left--
		if len(s.waiting) == 0 {
			s.free++
			return
		}
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.serve(next)
	})
}

func main() {
	jobs, seed := timed.Arguments()
	s := &station{free: timed.Servers, random: rand.New(rand.NewPCG(seed, 1)), left: jobs}
	cpu := timed.CPU(func() {
		s.after(s.random.ExpFloat64()/timed.Rate, s.arrive)
		for s.left > 0 {
			e := heap.Pop(&s.events).(event)
			s.now = e.at
			e.do()
		}
	})
	timed.Print(jobs, cpu, s.sum/s.now)
}
