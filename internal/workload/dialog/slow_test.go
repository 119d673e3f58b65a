package dialog

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/testkit"
)

// fake is a CPU of its own time, in ns: an operation takes one.
type fake struct {
	wall, cpu float64
	company   float64 // share of the CPU that others take
}

func (f *fake) core(clock *model.Clock) *core {
	return &core{clock: clock, chunk: 500_000, now: func() time.Duration { return time.Duration(f.wall) },
		used: func() time.Duration { return time.Duration(f.cpu) },
		adds: func(n uint64) uint64 {
			f.cpu += float64(n)
			f.wall += float64(n) / (1 - f.company)
			return n
		}}
}

// slices runs slices with idle times between and returns their mean time on
// the CPU once the clock has settled.
func (f *fake) slices(c *core, slice, idle, settling time.Duration) float64 {
	skip := int(settling/(slice+idle)) + 1
	n := skip + 8
	sum := 0.0
	var task model.Task
	for k := range n {
		took := c.work(&task, uint64(slice))
		c.idle()
		if k >= skip {
			sum += took.Seconds()
		}
		f.wall += float64(idle)
	}
	return sum / float64(n-skip)
}

// What spins make of slices is what the model says of the policy, whoever else wants
// the CPU.
func TestSlowClock(t *testing.T) {
	// The frequency of the first three never changes: they need no time to come up, and
	// there is no check that a slice could begin before or after.
	still := []string{"high-performance", "fixed:70", "power-saver"}
	for _, name := range testkit.Sample(append(still, "balanced-rs1", "balanced-rs1,PERFCHECK=50ms", "balanced-rs2",
		"ondemand", "schedutil"), 4) {
		phases, settling := 6, 1200*time.Millisecond // Balanced rises in single states
		if slices.Contains(still, name) {
			phases, settling = 1, 0
		}
		policy := testkit.Must(model.ParsePolicy(name))(t)
		m := model.Stepped(1, 0.5)
		for _, w := range []struct{ slice, idle time.Duration }{{100 * time.Millisecond, 300 * time.Millisecond},
			{20 * time.Millisecond, 30 * time.Millisecond}, {50 * time.Millisecond, 5 * time.Millisecond}} {
			want, err := model.Simulate(t.Context(), model.Case{Machine: m, Policy: policy,
				Workload: model.Workload{Name: "x", Kind: model.Dialog, Users: 1, Slices: 1,
					Placement: model.Spread, Slice: model.Dist{Mean: w.slice.Seconds()}, Think: model.Dist{Mean: w.idle.Seconds()}}},
				model.Options{Seed: 1, Steps: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, company := range []float64{0, 0.6} {
				t.Run(fmt.Sprint(name, " ", w.slice, " ", w.idle, " beside ", company), func(t *testing.T) {
					t.Parallel() // its time is its own
					got := 0.0
					for k := range phases {
						clock := testkit.Must(model.NewClock(policy, m, (float64(k)+0.5)/float64(phases)))(t)
						f := &fake{company: company}
						got += f.slices(f.core(clock), w.slice, w.idle, settling) / float64(phases)
					}
					if e := want.Responses[model.CPUSeconds]; math.Abs(got/e.Value-1) > 0.02 {
						t.Errorf("a slice takes %.5g s of CPU, the model says %.5g s", got, e.Value)
					}
				})
			}
		}
	}
}

func TestOwnClockIsLeftAlone(t *testing.T) {
	f := &fake{}
	if got := f.slices(f.core(nil), 10*time.Millisecond, time.Millisecond, 0); math.Abs(got-0.010) > 1e-9 {
		t.Errorf("10 ms of work took %g s", got)
	}
}
