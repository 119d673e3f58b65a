package model

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// The queue must hand out what a sorted list of the same operations would.
func TestQueueAgreesWithASortedList(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		const slots = 40
		q := NewQueue(slots)
		pending := map[int32]Time{}
		var now Time
		for range rapid.IntRange(1, 300).Draw(t, "operations") {
			slot := int32(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0, 1:
				at := now + Time(rapid.IntRange(0, 50).Draw(t, "delay"))
				q.Set(slot, slot%3, at)
				pending[slot] = at
			case 2:
				q.Cancel(slot)
				delete(pending, slot)
			case 3:
				e, ok := q.Next()
				if ok != (len(pending) > 0) {
					t.Fatalf("Next ok %v with %d pending", ok, len(pending))
				}
				if !ok {
					continue
				}
				for s, at := range pending {
					if at < e.At || at == e.At && s < e.Slot {
						t.Fatalf("got %v of slot %d although slot %d is at %v", e.At, e.Slot, s, at)
					}
				}
				if at, there := pending[e.Slot]; !there || at != e.At || e.Kind != e.Slot%3 {
					t.Fatalf("got %+v, the list has %v %v", e, at, there)
				}
				delete(pending, e.Slot)
				now = e.At
			}
			if len(q.heap) != len(pending) {
				t.Fatalf("length %d, the list has %d", len(q.heap), len(pending))
			}
			for s := range int32(slots) {
				if _, there := pending[s]; q.Pending(s) != there {
					t.Fatalf("slot %d pending %v", s, q.Pending(s))
				}
			}
		}
	})
}

func TestQueueDoesNotAllocate(t *testing.T) {
	q := NewQueue(64)
	for s := range int32(64) {
		q.Set(s, 0, Time(s))
	}
	testkit.Is(t, 0, testing.AllocsPerRun(1000, func() {
		e, _ := q.Next()
		q.Set(e.Slot, 0, e.At+64)
	}), "allocations per event")
}

func TestHistogramQuantiles(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int64Range(0, 1e15), 1, 200).Draw(t, "values")
		h := NewHistogram()
		for _, x := range v {
			h.Record(x)
		}
		slices.Sort(v)
		for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
			want := Seconds(v[max(1, int(math.Ceil(q*float64(len(v)))))-1])
			if got := h.Quantile(q); math.Abs(got-want) > RelativeError*want {
				t.Fatalf("quantile %g of %v: %v, want %v", q, v, got, want)
			}
		}
	})
	h := NewHistogram()
	if !math.IsNaN(h.Quantile(0.5)) {
		t.Error("the median of nothing is not NaN")
	}
	h.Record(math.MaxInt64)
	if got := h.Quantile(1); math.Abs(got/Seconds(math.MaxInt64)-1) > RelativeError {
		t.Errorf("the largest time comes back as %v", got)
	}
}

func TestStreams(t *testing.T) {
	a, b := Stream(1, 2, 3, 4), Stream(1, 2, 3, 4)
	for range 100 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("equal arguments give different numbers")
		}
	}
	// Neighbouring streams: the correlation of 10,000 pairs has a standard error of
	// 0.01.
	for _, c := range []struct {
		name string
		next func(i int) (x, y float64)
	}{
		{"replications", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 3, 3, 4).Float64)},
		{"purposes", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 2, 4, 4).Float64)},
		{"indices", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 2, 3, 5).Float64)},
		{"seeds", neighbours(Stream(1, 2, 3, 4).Float64, Stream(2, 2, 3, 4).Float64)},
		{"first numbers", func(i int) (x, y float64) {
			return Stream(1, 0, 0, i).Float64(), Stream(1, 0, 0, i+1).Float64()
		}},
	} {
		var xy float64
		for i := range 10000 {
			x, y := c.next(i)
			xy += (x - 0.5) * (y - 0.5) * 12
		}
		if r := xy / 10000; math.Abs(r) > 0.04 {
			t.Errorf("neighbouring %s correlate by %.3f", c.name, r)
		}
	}
}

func neighbours(a, b func() float64) func(int) (x, y float64) {
	return func(int) (float64, float64) { return a(), b() }
}

func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{9, 100, 2000} {
		b.Run(map[int]string{9: "9", 100: "100", 2000: "2000"}[n]+"_pending", func(b *testing.B) {
			q, r := NewQueue(n), Stream(1, 0, 0, 0)
			for s := range int32(n) {
				q.Set(s, 0, r.Int64N(1e6))
			}
			var gaps [1024]Time
			for i := range gaps {
				gaps[i] = r.Int64N(1e6)
			}
			b.ResetTimer()
			for i := range b.N {
				e, _ := q.Next()
				q.Set(e.Slot, 0, e.At+gaps[i&1023])
			}
		})
	}
}
