package assess

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/testkit"
	"hostlab/internal/trace"
)

// TestWorks: work of the kernel is named that a program may have less of, with its share of active time, by enough samples.
func TestWorks(t *testing.T) {
	for name, c := range map[string]struct {
		kernel Kernel
		want   string
	}{
		"forks":              {Kernel{1000, map[trace.Work]int{trace.Processes: 600, trace.OwnCode: 400}, 0}, "takes 60 % to begin and end processes"},
		"memory with faults": {Kernel{1000, map[trace.Work]int{trace.Memory: 200, trace.Faults: 300, trace.OwnCode: 500}, 1e6}, "takes 50 % to take and give back memory"},
		"interrupts":         {Kernel{1000, map[trace.Work]int{trace.Faults: 300, trace.OwnCode: 700}, 10}, ""},
		"own code":           {Kernel{1000, map[trace.Work]int{trace.OwnCode: 700, trace.OtherWork: 300}, 10}, ""},
		"few samples":        {Kernel{20, map[trace.Work]int{trace.Processes: 20}, 0}, ""},
	} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.RunQueue: 20})
		m.Kernel = &c.kernel
		var says []string
		for _, f := range m.Server() {
			says = append(says, f.Text)
			testkit.Is(t, true, *f.Explains <= *f.AtMost, name)
		}
		if got := strings.Join(says, "; "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWorksAndLevers: it comes before a lever that is worthwhile only where it takes most of the time.
func TestWorksAndLevers(t *testing.T) {
	for forks, first := range map[int]string{300: lever.Neighbour, 900: workOfKernel} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 76, explain.RunQueue: 24})
		m.Kernel = &Kernel{Samples: 1000, Works: map[trace.Work]int{trace.Processes: forks, trace.OwnCode: 1000 - forks}}
		l := lever.Lever{Name: lever.Neighbour}
		l.Gains(0.1, 0.1, 0.1, 0.1)
		testkit.Is(t, first, m.First([]lever.Lever{l}))
	}
}
