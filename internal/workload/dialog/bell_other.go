//go:build !linux

package dialog

import "time"

// bell lets a thread sleep until a moment or until it is rung.
type bell struct{ c chan struct{} }

func newBell() (*bell, error) { return &bell{make(chan struct{}, 1)}, nil }

func (b *bell) settle() {}

// wait returns after d, or when rung; a negative d waits for the ring alone.
func (b *bell) wait(d time.Duration) {
	if d < 0 {
		<-b.c
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.c:
	case <-timer.C:
	}
}

func (b *bell) ring() {
	select {
	case b.c <- struct{}{}:
	default: // it rings already
	}
}

func (b *bell) close() {}
