//go:build linux

package main

import (
	"sync/atomic"
	"time"
)

// loops compute on so many threads for a share of the time. They are the load of others beside
// a service, or themselves the service.
type loops struct {
	N    int
	Duty float64
}

// beat is the time from one burst of a loop to the next where Duty is below 1.
const beat = 20 * time.Millisecond

type looping struct {
	began time.Time
	n     atomic.Int64 // pieces of work done
}

// ask starts loops where a request has some, and says how much they have done.
func (l *looping) ask(r loops) (seen, error) {
	if r.N > 0 && r.Duty > 0 {
		l.began = time.Now()
		for range r.N {
			go l.loop(r.Duty)
		}
	}
	return seen{totals: totals{At: time.Since(l.began).Seconds(), Transactions: l.n.Load()}}, nil
}

var sink atomic.Uint64

func (l *looping) loop(duty float64) {
	for x := uint64(1); ; {
		for at := time.Now(); duty >= 1 || time.Since(at) < time.Duration(duty*float64(beat)); {
			for range 100_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			sink.Store(x)
			l.n.Add(1)
		}
		time.Sleep(time.Duration((1 - duty) * float64(beat)))
	}
}
