package mariadb

import (
	"os"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// TestChurns: threads that serve one session after the other are not followed.
func TestChurns(t *testing.T) {
	of := os.Getpid() // its first thread has this number
	l := &looks{threads: testkit.Must(waits.OpenThreads(of, of))(t)}
	defer l.threads.Close()
	list := func(ids ...int64) bool {
		var all []serving
		for _, id := range ids {
			all = append(all, serving{id: id, tid: of})
		}
		return l.list(all, nil, nil, func(int64) bool { return true })
	}
	testkit.Is(t, false, list(1, 2, 3), "the first list")
	testkit.Is(t, false, list(1, 2, 3, 4), "one came")
	testkit.Is(t, true, list(1, 5, 6, 7), "they come and go")
}
