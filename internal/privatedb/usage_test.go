package privatedb

import (
	"strings"
	"testing"
	"time"
)

// What processes used that have ended is coarse, and told only where that is little of it.
func TestSince(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		ended int64
		used  time.Duration
		doubt string
	}{
		{"nobody ended", 0, ms, ""},
		{"much was used", 3, 200 * ms, ""},
		{"little was used", 3, 199 * ms, "about 199 ms: make the run longer"},
		{"nothing that shows", 3, 0, "about 0 ms"},
	} {
		before := Usage{All: time.Second, Ended: 5}
		cpu, doubt := Usage{All: time.Second + c.used, Ended: 5 + c.ended}.Since(before)
		if cpu != c.used || (doubt == "") != (c.doubt == "") || !strings.Contains(doubt, c.doubt) {
			t.Errorf("%s: %v, %q", c.name, cpu, doubt)
		}
	}
}
