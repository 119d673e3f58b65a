//go:build system

package runner

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// Where a live experiment is killed at any moment, the baseline is there again soon and by itself. A
// resume goes on, whatever the guard does meanwhile.
func TestGuard(t *testing.T) {
	b := newServed(t, steady)
	b.cfg.Dir = filepath.Join(b.dir, "record")
	b.write("s.toml", liveStudy)
	kills, back := 0, 0
	for ended := false; !ended; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RUNNER_TEST_LIVE="+b.dir)
		cmd.Stderr = os.Stderr
		testkit.OK(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		wait := 50*time.Millisecond + time.Duration(rand.Int64N(int64(350*time.Millisecond)))
		if kills >= 12 {
			wait = time.Minute
		}
		select {
		case err := <-done:
			testkit.OK(t, err)
			ended = true
			continue
		case <-time.After(wait):
			_ = cmd.Process.Kill()
			if err := <-done; err == nil {
				ended = true // it was quicker
				continue
			}
			kills++
		}
		if kills%3 == 0 {
			continue // at once, while the guard works
		}
		calm := false
		for end := testkit.End(t); !calm && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			r, err := store.Load(b.cfg.Dir)
			calm = b.level() == "original" && (err != nil || len(r.Changed()) == 0)
		}
		if !calm {
			t.Fatalf("after kill %d the level is %s", kills, b.level())
		}
	}
	b.complete()
	for _, e := range b.record().Journal {
		if e.Op == store.Restored {
			back++
		}
	}
	if back < 3 { // the last one is the end's
		t.Errorf("only %d times something was put back", back)
	}
	t.Logf("%d kills, after which something was put back %d times", kills, back-1)
	// A guard that found the record busy tries it once more (guardPause).
	for end := testkit.End(t); os.RemoveAll(b.cfg.Dir) != nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
}
