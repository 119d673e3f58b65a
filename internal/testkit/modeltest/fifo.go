// Package modeltest holds what the power model is judged by: textbook queues that run on
// the model's engine, with the closed forms that they must come to, and figures that were
// measured under emulated policies.
package modeltest

import (
	"math/rand/v2"

	"hostlab/internal/model"
)

// Service draws the length of one service in seconds.
type Service func(*rand.Rand) float64

// Exponential is a service with the given mean.
func Exponential(mean float64) Service {
	return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
}

// HyperExponential is short with probability p and long otherwise: a service with
// a coefficient of variation above 1 whose moments are exact.
func HyperExponential(p, short, long float64) Service {
	return func(r *rand.Rand) float64 {
		if r.Float64() < p {
			return short * r.ExpFloat64()
		}
		return long * r.ExpFloat64()
	}
}

// Fixed is a service of constant length.
func Fixed(s float64) Service { return func(*rand.Rand) float64 { return s } }

// Config is one run of an open queue.
type Config struct {
	Servers     int
	Rate        float64 // Poisson arrivals per second
	Service     Service
	Jobs        int // measured
	WarmUp      int // jobs before those
	Seed        uint64
	Replication int
}

// Streams by purpose.
const (
	arrivals model.Purpose = iota
	services
)

// Types of event.
const (
	arrive int32 = iota
	leave
)

// Result is what a run measured.
type Result struct {
	Response *model.Histogram
	Horizon  float64 // s
	Busy     float64 // server seconds
}

// FIFO simulates one queue, first come first served, before Servers servers.
func FIFO(c Config) Result {
	s := fifo{
		q: model.NewQueue(c.Servers + 1), arrivals: model.Stream(c.Seed, c.Replication, arrivals, 0),
		services: model.Stream(c.Seed, c.Replication, services, 0), service: c.Service, gap: 1e9 / c.Rate,
		started: make([]model.Time, c.Servers+1), response: model.NewHistogram(), warmUp: c.WarmUp, left: c.Jobs,
	}
	for i := c.Servers; i > 0; i-- {
		s.idle = append(s.idle, int32(i))
	}
	s.waiting.init()
	return s.run()
}

type fifo struct {
	q        *model.Queue
	arrivals *rand.Rand
	services *rand.Rand
	service  Service
	gap      float64      // mean, ns
	started  []model.Time // arrival of the job in service, by server (1..)
	idle     []int32
	waiting  ring
	response *model.Histogram
	warmUp   int
	left     int
	busy     model.Time
}

func (s *fifo) run() Result {
	s.q.Set(0, arrive, model.Time(s.gap*s.arrivals.ExpFloat64()))
	var now model.Time
	for s.left > 0 {
		e, _ := s.q.Next()
		now = e.At
		if e.Kind == arrive {
			s.q.Set(0, arrive, now+model.Time(s.gap*s.arrivals.ExpFloat64()))
			if n := len(s.idle); n > 0 {
				server := s.idle[n-1]
				s.idle = s.idle[:n-1]
				s.serve(server, now, now)
			} else {
				s.waiting.push(now)
			}
			continue
		}
		if s.warmUp > 0 {
			s.warmUp--
		} else {
			s.response.Record(now - s.started[e.Slot])
			s.left--
		}
		if s.waiting.n > 0 {
			s.serve(e.Slot, now, s.waiting.pop())
		} else {
			s.idle = append(s.idle, e.Slot)
		}
	}
	return Result{Response: s.response, Horizon: model.Seconds(now), Busy: model.Seconds(s.busy)}
}

func (s *fifo) serve(server int32, now, arrived model.Time) {
	length := model.Nanoseconds(s.service(s.services))
	s.busy += length
	s.started[server] = arrived
	s.q.Set(server, leave, now+length)
}

// ring is a queue of times that grows with the jobs waiting.
type ring struct {
	buf     []model.Time
	head, n int
}

func (r *ring) init() { r.buf = make([]model.Time, 64) }

func (r *ring) push(t model.Time) {
	if r.n == len(r.buf) {
		b := make([]model.Time, 2*len(r.buf))
		k := copy(b, r.buf[r.head:])
		copy(b[k:], r.buf[:r.head])
		r.buf, r.head = b, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = t
	r.n++
}

func (r *ring) pop() model.Time {
	t := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return t
}
