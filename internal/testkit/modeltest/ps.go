package modeltest

import "hostlab/internal/model"

// PS simulates one server that all jobs present share equally (Servers is
// ignored). It counts in the server's virtual time, in which every job present is
// served at rate 1: a job leaves when virtual time has advanced by its service, so
// the jobs stay in one heap ordered by that moment, and an event costs the same
// however many jobs are present.
func PS(c Config) Result {
	var (
		rA       = model.Stream(c.Seed, c.Replication, arrivals, 0)
		rS       = model.Stream(c.Seed, c.Replication, services, 0)
		finish   = model.NewQueue(64) // by virtual time
		arrived  = make([]model.Time, 64)
		free     = make([]int32, 0, 64)
		response = model.NewHistogram()
		gap      = 1e9 / c.Rate
		now      model.Time
		virtual  float64 // ns
		busy     float64
		arrival  = model.Time(gap * rA.ExpFloat64())
		head     model.Event
		present  = 0
		warmUp   = c.WarmUp
	)
	for i := int32(63); i >= 0; i-- {
		free = append(free, i)
	}
	for left := c.Jobs; left > 0; {
		// The next departure, in real time: every job present slows virtual time.
		departure := model.Time(1<<63 - 1)
		if present > 0 {
			departure = now + max(0, model.Time((float64(head.At)-virtual)*float64(present)+0.5))
		}
		next := min(arrival, departure)
		if present > 0 {
			virtual += float64(next-now) / float64(present)
			busy += float64(next - now)
		}
		now = next
		if arrival < departure {
			if len(free) == 0 {
				n := len(arrived)
				finish.Grow(2 * n)
				arrived = append(arrived, make([]model.Time, n)...)
				for i := 2*n - 1; i >= n; i-- {
					free = append(free, int32(i))
				}
			}
			slot := free[len(free)-1]
			free = free[:len(free)-1]
			arrived[slot] = now
			e := model.Event{At: model.Time(virtual + 1e9*c.Service(rS)), Slot: slot}
			switch {
			case present == 0:
				head = e
			case e.At < head.At:
				finish.Set(head.Slot, leave, head.At)
				head = e
			default:
				finish.Set(e.Slot, leave, e.At)
			}
			present++
			arrival = now + model.Time(gap*rA.ExpFloat64())
			continue
		}
		if warmUp > 0 {
			warmUp--
		} else {
			response.Record(now - arrived[head.Slot])
			left--
		}
		virtual = float64(head.At)
		free = append(free, head.Slot)
		if present--; present > 0 {
			head, _ = finish.Next()
		}
	}
	return Result{Response: response, Horizon: model.Seconds(now), Busy: busy / 1e9}
}
