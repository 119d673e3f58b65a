//go:build linux && system

package trace

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// Who waits for a lock waits for what its holder does: it sleeps for twice as long as it computes.
func TestHolders(t *testing.T) {
	testkit.Root(t)
	p := play(t, "hold")
	until(t, func() map[string]string {
		r, err := Record(context.Background(), Config{Target: p.target(), For: 4 * time.Second, Budget: always, Chains: true})
		if err != nil {
			t.Fatal(err)
		}
		share := func(kinds ...chain.Kind) (sum float64) {
			for _, k := range kinds {
				sum += r.Ends.Share(explain.Locks, func(e chain.End) bool { return e.Kind == k && (r.Ends.Own[e.PID] || k == chain.Ready) }).Value
			}
			return sum
		}
		problems := map[string]string{}
		// On a busy host who waits for the lock begins to wait while its holder sleeps, so that this has a larger share.
		if s := share(chain.Asleep) / share(chain.Asleep, chain.Computing); !(s > 0.5 && s < 0.99) {
			problems["sleep"] = fmt.Sprintf("%.2f of the waits for what it does itself ended with sleep, want 0.67 on a quiet host", s)
		}
		if s := share(chain.Asleep, chain.Computing, chain.Ready); s < 0.95 {
			problems["all"] = fmt.Sprintf("%.2f of them ended with what the holder does", s)
		}
		seen, _ := r.Ends.Seen(explain.Locks)
		if seen < 0.8 || r.Ends.Moments < 3000 {
			problems["seen"] = fmt.Sprintf("the end of %.2f was seen, at %d moments", seen, r.Ends.Moments)
		}
		return problems
	})
}
