package proc

import (
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// TestLost: an answer that is not confirmed for long was lost, if that connection has lost some, and none that a client
// confirms late.
func TestLost(t *testing.T) {
	for want, i := range map[int]unix.TCPInfo{1: {Unacked: 1, Total_retrans: 3, Last_data_sent: 90},
		0: {Unacked: 1, Total_retrans: 3, Last_data_sent: 30}} {
		var r Requests
		r.connection(&inetSocket{state: established, info: &i}, "")
		i.Total_retrans = 0
		r.connection(&inetSocket{state: established, info: &i}, "")
		testkit.Is(t, want, r.Lost)
	}
}

// TestListener: of several that listen at one name, it is who has accepted a connection, or has started who did.
func TestListener(t *testing.T) {
	parent := func(pid int) int { return map[int]int{21: 20, 20: 1}[pid] }
	for want, serve := range map[int][]int{10: nil, 20: {21}, 30: {30}} {
		testkit.Is(t, want, listener([]int{1, 10, 20, 30}, serve, parent), serve)
	}
	testkit.Is(t, 1, listener([]int{1}, nil, parent))
	testkit.Is(t, 0, listener(nil, []int{21}, parent))
}
