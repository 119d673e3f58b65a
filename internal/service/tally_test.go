package service

import (
	"math/rand/v2"
	"testing"
	"time"

	"hostlab/internal/proc"
)

func look(at int64, root, child time.Duration, ready int) []proc.Process {
	list := []proc.Process{
		{Stat: proc.Stat{PID: 1, Started: 1}, Threads: 1, Running: 1},
		{Stat: proc.Stat{PID: 10, Started: 5, CPU: root}, Threads: 8, Ready: ready},
		{Stat: proc.Stat{PID: 12, Started: 3, CPU: time.Hour}, Threads: 9, Ready: 9}, // another's
	}
	if at > 1 {
		list = append(list, proc.Process{Stat: proc.Stat{PID: 11, Parent: 10, Started: 7, CPU: child}, Threads: 2})
	}
	return list
}

// TestTally adds up a service whose child comes later: that one's CPU time counts whole, and stays when it has ended.
func TestTally(t *testing.T) {
	tl := tally{root: proc.Stat{PID: 10, Started: 5}}
	began := time.Unix(100, 0)
	for i, l := range [][]proc.Process{look(0, time.Minute, 0, 5), look(1, time.Minute+time.Second, 0, 2),
		look(2, time.Minute+2*time.Second, 3*time.Second, 4), look(1, time.Minute+2*time.Second, 0, 0)} {
		if !tl.add(began.Add(time.Duration(i)*time.Second), l) {
			t.Fatalf("it ended at look %d", i)
		}
	}
	r := tl.reading()
	if r.At != 3 || r.CPU != 5 || r.Queue != 6 || !r.Sampled || r.NoQueue != "" || r.Processes != 1 || r.Threads != 8 {
		t.Errorf("%+v", r)
	}
	reused := look(1, 0, 0, 0)
	reused[1].Started = 9
	if tl.add(began.Add(4*time.Second), reused) || tl.add(began.Add(5*time.Second), reused[:1]) {
		t.Error("another process of its number, or none, counts as the service")
	}
	if got := tl.reading(); got.CPU != r.CPU || got.At != r.At {
		t.Errorf("after its end: %+v", got)
	}
}

// TestTallyTellsNoStates holds that a system that shows nobody running is believed nothing of who waits.
func TestTallyTellsNoStates(t *testing.T) {
	tl := tally{root: proc.Stat{PID: 10, Started: 5}}
	for i := range 3 {
		l := look(0, time.Duration(i)*time.Second, 0, 0)
		l[0].Running = 0
		tl.add(time.Unix(int64(i), 0), l)
	}
	if r := tl.reading(); r.NoQueue == "" || r.Sampled || r.CPU != 2 {
		t.Errorf("%+v", r)
	}
}

// TestTallyInterval holds the interval of a sampled wait against what it samples: a thread that is ready for a fifth of
// a minute, at random. 95 % of intervals hold the truth, less what 2,000 trials may be off.
func TestTallyInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const trials, seconds, share = 2000, 60.0, 0.2
	held := 0
	for range trials {
		tl := tally{root: proc.Stat{PID: 10, Started: 5}}
		for at := 0.0; at < seconds; at += 0.25 + 0.5*random.Float64() {
			ready := 0
			for range 3 { // threads
				if random.Float64() < share {
					ready++
				}
			}
			tl.add(time.Unix(0, int64(at*1e9)), look(0, 0, 0, ready))
		}
		r := tl.reading()
		if truth := 3 * share * r.At; r.QueueLow() <= truth && truth <= r.QueueHigh {
			held++
		}
	}
	if got := float64(held) / trials; got < 0.93 || got > 0.97 {
		t.Errorf("%.3f of the intervals hold the truth", got)
	}
}

// TestTallyRare bounds a wait that no look saw.
func TestTallyRare(t *testing.T) {
	tl := tally{root: proc.Stat{PID: 10, Started: 5}}
	for i := range 38 {
		tl.add(time.Unix(int64(i), 0), look(0, 0, 0, 0))
	}
	if r := tl.reading(); r.Queue != 0 || r.QueueHigh < 3.6 || r.QueueHigh > 3.8 {
		t.Errorf("%+v", r)
	}
}
