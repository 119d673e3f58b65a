package scanlock

import (
	"os"
	"testing"

	"hostlab/internal/thread"
)

// Threads that run loops are left out, and the others have what they used.
func TestUses(t *testing.T) {
	ids, end := make(chan thread.ID), make(chan struct{})
	at := func(name string) (thread.ID, <-chan error) {
		done := thread.Within(nil, func() error {
			thread.Name(name)
			for begin := thread.Read(); thread.Read().CPU-begin.CPU < 1e6; {
			}
			ids <- thread.Self()
			<-end
			return nil
		})
		return <-ids, done
	}
	loop, first := at(loopName)
	other, second := at("other")
	got := usesOf(os.Getpid())
	if _, there := got[int(loop)]; there || len(got) == 0 {
		t.Errorf("the loop is among %v", got)
	}
	if u, there := got[int(other)]; !there || u.ran <= 0 {
		t.Errorf("the other thread has %+v, %v", u, there)
	}
	close(end)
	for _, done := range []<-chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := usesOf(1 << 30); got != nil {
		t.Errorf("of no process: %v", got)
	}
}
