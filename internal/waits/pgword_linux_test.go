//go:build system

package waits

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hostlab/internal/privatedb"
)

// TestWords: sessions that wait for a lock, sleep, wait for their client and compute have words whose classes pg_stat_activity names.
func TestWords(t *testing.T) {
	s, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	do := func(statements ...string) (pid int) {
		t.Helper()
		c, err := s.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		for _, q := range statements[:len(statements)-1] {
			if _, err := c.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _, _ = c.Exec(ctx, statements[len(statements)-1]) }()
		return pid
	}
	const hold = "select pg_advisory_lock(1)"
	classes := map[int]uint32{}
	classes[do(hold, "select 1")] = 0x06                                                        // Client
	classes[do(hold)] = 0x03                                                                    // Lock
	classes[do("select pg_sleep(3600)")] = 0x09                                                 // Timeout
	classes[do("select count(*) from generate_series(1, 1000000000) a where a % 2 = 3")] = 0x00 // none, or a temporary file
	w, err := OpenWords(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for pid := range classes {
		pids = append(pids, pid)
	}
	got, seen := map[int]uint32{}, map[string]int{}
	w.Know(pids)
	for range 100 {
		w.Read(got)
		for pid, want := range classes {
			if word, there := got[pid]; there && word>>24 == want {
				seen[fmt.Sprint(pid)]++
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for pid, want := range classes {
		if n := seen[fmt.Sprint(pid)]; n < 40 {
			t.Errorf("process %d: class %#x in %d of 100 readings, last %#x", pid, want, n, got[pid])
		}
	}
}
