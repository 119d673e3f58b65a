package trace

import (
	"testing"
	"time"
)

// At any rate of switches, what is taken stays within the budget as long as the least share does.
func TestBudgetHolds(t *testing.T) {
	for _, rate := range []float64{0, 100, 1e4, 44e3, 1e5, 3e5} {
		for _, busy := range []float64{0.01, 1, 2, 64} {
			b := newBudget(DefaultBudget)
			b.on, b.off, b.reader = 500, 40, 50
			b.learn(rate, busy)
			d := b.duty()
			off := b.off
			if b.detached() {
				off = 0
			}
			takes := rate * (d*(b.on+b.reader) + (1-d)*off) / 1e9
			if limit := DefaultBudget * max(1, busy); takes > limit*1.001 && d > leastDuty {
				t.Errorf("%g switches/s on %g CPUs: %g of %g with duty %g", rate, busy, takes, limit, d)
			}
			if rate <= 100 && d != 1 {
				t.Errorf("%g switches/s on %g CPUs: duty %g", rate, busy, d)
			}
			var window, all time.Duration
			for range 2000 {
				w, p := b.next()
				window, all = window+w, all+w+p
				if w > cycle || d < 1 && (w < shortest/2 || w > longest*3/2) {
					t.Fatalf("a window of %s", w)
				}
			}
			if share := float64(window) / float64(all); share/d < 0.93 || share/d > 1.07 {
				t.Errorf("windows cover %g, duty is %g", share, d)
			}
		}
	}
}
