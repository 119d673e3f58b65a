package proc

import (
	"testing"

	"hostlab/internal/testkit"
)

// What a process had moved that has ended since came before, though its parent has it now.
func TestMovedSince(t *testing.T) {
	of := func(pid, parent int, bytes float64) (Identity, moved) {
		s := Stat{PID: pid, Parent: parent}
		return s.Identity(), moved{s, bytes}
	}
	before, after := Moved{}, Moved{}
	for _, x := range []struct {
		in          Moved
		pid, parent int
		bytes       float64
	}{{before, 7, 1, 100}, {before, 8, 7, 30}, {before, 9, 1, 5}, {before, 11, 8, 6}, {after, 7, 1, 150}, {after, 10, 7, 40}} {
		id, m := of(x.pid, x.parent, x.bytes)
		x.in[id] = m
	}
	testkit.Same(t, map[int]float64{7: 14, 10: 40}, after.Since(before))
}
