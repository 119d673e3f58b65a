package scanlock

import (
	"testing"
	"testing/synctest"
	"time"
)

// threadsThat makes the readings of a worker of two answering threads, one of which
// does what is said per millisecond since the start.
func threadsThat(at func(since time.Duration) use) func() map[int]use {
	begin := time.Now()
	return func() map[int]use {
		return map[int]use{7: {ran: time.Second, waited: time.Second}, 8: at(time.Since(begin))}
	}
}

// A worker that waits for its CPU gets time, and one that hangs, sleeps or spins is
// given up after patience.
func TestHunger(t *testing.T) {
	for name, c := range map[string]struct {
		at     func(since time.Duration) use
		answer time.Duration // 0: never
		how    silence
		after  time.Duration
	}{
		"answers":                  {func(time.Duration) use { return use{} }, time.Second, answered, time.Second},
		"sleeps":                   {func(time.Duration) use { return use{ran: 5} }, 0, hung, patience},
		"spins":                    {func(d time.Duration) use { return use{ran: d, ready: true} }, 0, hung, patience},
		"spins beside others":      {func(d time.Duration) use { return use{ran: d / 4, waited: 3 * d / 4, ready: true} }, 0, hung, patience + patience/steps},
		"waits all the time":       {func(time.Duration) use { return use{ran: 5, ready: true} }, 0, starved, starving},
		"waits, then answers":      {func(time.Duration) use { return use{ran: 5, ready: true} }, 9 * time.Second, answered, 9 * time.Second},
		"runs a little in between": {func(d time.Duration) use { return use{ran: d / 100, waited: 99 * d / 100, ready: true} }, 15 * time.Second, answered, 15 * time.Second},
		"waits hardly":             {func(d time.Duration) use { return use{ran: d / 100, waited: d / 10} }, 0, hung, patience},
		"is stopped after a wait":  {func(d time.Duration) use { return use{ran: 5, ready: d < 3*time.Second} }, 0, hung, 3*time.Second + patience},
		"nobody tells":             {nil, 0, hung, patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read := func() map[int]use { return nil }
				if c.at != nil {
					read = threadsThat(c.at)
				}
				answer := make(chan int, 1)
				if c.answer > 0 {
					time.AfterFunc(c.answer, func() { answer <- 3 })
				}
				begin := time.Now()
				v, how := within(answer, newHunger(read))
				took := time.Since(begin)
				if how != c.how || (v == 3) != (how == answered) || took < c.after-patience/steps || took > c.after+patience/steps {
					t.Errorf("%v, %d after %v, want %v after %v", how, v, took, c.how, c.after)
				}
			})
		})
	}
}
