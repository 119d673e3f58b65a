package probe

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// Our own work is not others'.
func TestNeighboursLeaveOutOurselves(t *testing.T) {
	n := WatchNeighbours([]int{0, 1})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	<-ctx.Done()
	ours := ownCPU() - n.own
	share, ok := n.Share()
	if !ok {
		t.Fatal("cannot tell on Linux")
	}
	// Whatever else runs here, what we used is not in it.
	if most := 1 - ours/(2*time.Since(n.began).Seconds()) + 0.1; share > most {
		t.Errorf("others took %.2f of two CPUs, of which we used %.2f s", share, ours)
	}
}
