//go:build system

package proc

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func TestGap(t *testing.T) {
	at := func(monotonic, boot, cpu, waited float64) moment {
		d := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		return moment{d(monotonic), d(boot), d(cpu), d(waited)}
	}
	for name, c := range map[string]struct {
		later     moment
		continued bool
		want      string
	}{
		"on time":                       {at(0.25, 0.25, 0.2, 0), false, ""},
		"a little late":                 {at(0.9, 0.9, 0, 0), false, ""},
		"stopped":                       {at(5.1, 5.1, 0.01, 0.001), false, "hostlab did not run for 5s"},
		"others had the CPUs":           {at(5.25, 5.25, 0.01, 4.9), false, ""},
		"its own threads had the CPUs":  {at(5.25, 5.25, 9, 0.1), false, ""},
		"stopped for a short while":     {at(0.7, 0.7, 0.01, 0.001), true, "hostlab did not run for 600ms"},
		"continued, and not late":       {at(0.15, 0.15, 0, 0), true, ""},
		"the machine was suspended":     {at(0.25, 3600.25, 0, 0), false, "the machine was suspended for 1h0m0s"},
		"clocks read one after another": {at(0.25, 0.2501, 0, 0), false, ""},
	} {
		got := gap(moment{}, c.later, pauseTick, c.continued).Text()
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A host that is only busy stops nobody.
func TestBusyIsNotStopped(t *testing.T) {
	w := WatchPauses()
	defer w.Close()
	before := w.Sum()
	var busy []*exec.Cmd
	for range 8 {
		c := exec.Command("sh", "-c", "while :; do :; done")
		testkit.OK(t, c.Start())
		busy = append(busy, c)
	}
	time.Sleep(1500 * time.Millisecond)
	for _, c := range busy {
		c.Process.Kill() //nolint:errcheck // it ends with us at the latest
		c.Wait()         //nolint:errcheck // it was killed
	}
	if p := w.Sum().Sub(before); p.Text() != "" {
		t.Error(fmt.Sprint(p))
	}
}
