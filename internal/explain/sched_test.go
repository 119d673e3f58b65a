package explain

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hostlab/internal/testkit"
)

// A thread that waited for a CPU for half of its life is taken to have done so until its
// end, which lies between two looks.
func TestUnseenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, alive := time.Now(), true
		watch := Threads{Read: func(int64) (run, queue time.Duration, err error) {
			if !alive {
				return 0, 0, errors.New("it has ended")
			}
			return 0, time.Since(begin) / 2, nil
		}}
		before, after := map[string]int64{}, map[string]int64{}
		watch.Watch([]int64{1}, nil)
		watch.Count(before)
		time.Sleep(4 * time.Second)
		watch.Watch([]int64{1}, nil)
		time.Sleep(time.Second)
		alive = false
		watch.Watch([]int64{1}, nil)
		watch.Count(after)
		for name := range after {
			after[name] -= before[name]
		}
		got := watch.Account(Growth{Values: after})
		want := &CPUTime{Queue: 2.25, QueueLow: 2, QueueHigh: 3, Source: "schedstat"}
		testkit.Is(t, "", cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)))
	})
}

// A thread counts from its first reading, in the cache or not; what used a CPU and ended
// between two looks is counted by the process.
func TestThreads(t *testing.T) {
	used := map[int64]time.Duration{1: 100 * time.Second, 2: 50 * time.Second, 3: time.Second}
	var all time.Duration
	watch := Threads{
		Read: func(id int64) (run, queue time.Duration, err error) {
			if u, ok := used[id]; ok {
				return u, u / 2, nil
			}
			return 0, 0, errors.New("it has ended")
		},
		Gone: func(live time.Duration) (time.Duration, error) { return all - live, nil },
	}
	all = 200 * time.Second
	total := func(what string, want time.Duration) {
		t.Helper()
		if run, _ := watch.Total(); run != want {
			t.Errorf("%s: %v, expected %v", what, run, want)
		}
	}
	watch.Watch([]int64{1}, []int64{2, 3}) // 2 waits in the cache, 3 is the server's own
	total("at the start", 0)
	used[1], used[2], used[3], all = 101*time.Second, 52*time.Second, 5*time.Second, 207*time.Second
	watch.Watch([]int64{1, 2}, []int64{3})
	total("a thread from the cache leaves its past behind", 3*time.Second)
	used[4], all = time.Second, 208*time.Second
	watch.Watch([]int64{1, 4}, []int64{2, 3})
	total("a new one counts whole", 4*time.Second)
	delete(used, 4)
	all += 2 * time.Second // half a second of 4, and others that nobody saw
	watch.Watch([]int64{1}, []int64{2, 3})
	total("what ended between two looks", 6*time.Second)
	if _, queue := watch.Total(); queue != 2*time.Second || watch.ended != 1 || watch.Missed() != 0 {
		t.Errorf("queue %v, %d ended", queue, watch.ended)
	}
	used[1], all = time.Second, 211*time.Second // another thread with the number of one that ended
	watch.Watch([]int64{1}, []int64{2, 3})
	total("a number that is used again", 7*time.Second)
}
