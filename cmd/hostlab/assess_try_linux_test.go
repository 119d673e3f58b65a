package main

import (
	"os"
	"strconv"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/host"
	"hostlab/internal/service"
)

// Who watches a service knows which studies cannot run on it here, for explain as for assess: no answer names one of those.
func TestWatchedKnowsWhatCannotRun(t *testing.T) {
	facts := host.Collect(t.Context(), host.Options{})
	o := asked{service: "pid:" + strconv.Itoa(os.Getpid()), lasts: time.Second}
	w, err := o.findService(t.Context(), facts, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	m, err := o.watch(t.Context(), w, facts, newProgress(os.Stderr, true, o.lasts))
	if err != nil {
		t.Fatal(err)
	}
	want := cannotTry(t.Context(), &assess.Minute{Service: service.Service{Kind: service.Process, PID: os.Getpid()}})
	if m.CannotTry == nil || len(m.CannotTry) != len(want) {
		t.Errorf("it knows of %v, and %v cannot run", m.CannotTry, want)
	}
}
