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
