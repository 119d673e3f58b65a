//go:build system

package assess_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/emulate"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// TestEmulatedClock: a service at half of the clock is seen to lose half of its CPU time by that.
func TestEmulatedClock(t *testing.T) {
	e := testkit.Must(emulate.Start())(t)
	defer e.Close()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	testkit.OK(t, e.Set("powersave", 0.5))
	time.Sleep(300 * time.Millisecond)
	s := testkit.Must(service.Spec{Kind: service.Process, Name: fmt.Sprint(cmd.Process.Pid)}.Find(nil, nil))(t)
	m := testkit.Must(assess.Watch(t.Context(), s, nil, "a process tells no sessions",
		assess.Options{For: 4 * time.Second, CPUs: 2, Clock: emulated{e}}))(t)
	for _, l := range m.Levers() {
		if l.Name != lever.Clock {
			continue
		}
		t.Log(l.Verdict, l.Reason)
		if l.Share == nil || l.Likely == nil || *l.Likely < 0.45**l.Share || *l.Likely > 0.55**l.Share ||
			l.Kind() != result.Emulated {
			t.Errorf("half of the share of CPU time is likely to be gained: %+v", l)
		}
	}
}

// emulated is the clock of processes that an emulation slows down: the work that they did, by the
// CPU time that it would have taken at the emulated clock.
type emulated struct{ *emulate.Emulation }

// Read is what was emulated until now.
func (e emulated) Read(time.Time) (map[int]assess.Ran, error) {
	t, err := e.Totals()
	return map[int]assess.Ran{-1: {Cycles: t.Used * 3e9, Seconds: t.Clocked}}, err
}

// Highest is full speed.
func (emulated) Highest() (float64, error) { return 3e9, nil }

// About names it.
func (emulated) About() (string, result.Evidence) { return "an emulated clock", result.Emulated }

// Close leaves the emulation to who started it.
func (emulated) Close() {}
