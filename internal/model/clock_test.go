package model

import (
	"fmt"
	"math"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// drive runs slices with idle times between on a clock in virtual time, in pieces
// so long, and returns the mean time of a slice in seconds.
func drive(c *Clock, slice, idle, piece time.Duration, n, skip int) float64 {
	var now time.Duration
	var t Task
	sum := 0.0
	for k := range n {
		begin := now
		c.Start(now, &t)
		for left := float64(slice); left > 0; {
			speed := c.Speed(now)
			step := min(float64(piece), left/speed)
			left -= step * speed
			now += time.Duration(math.Ceil(step))
		}
		c.Stop(now)
		if k >= skip {
			sum += (now - begin).Seconds()
		}
		now += idle
	}
	return sum / float64(n-skip)
}

// What emulates a governor must not drift away from what simulates it.
func TestClockIsTheSimulatedGovernor(t *testing.T) {
	const phases, slices, skip = 20, 30, 10
	m := Stepped(1, 0.5)
	for _, name := range []string{"high-performance", "power-saver", "fixed:60", "powersave", "balanced-rs1", "balanced-rs1,PERFCHECK=50ms",
		"balanced-rs1,PERFDECPOL=single,utilisation_reference=maximum", "balanced-rs2", "ondemand", "conservative", "intel_pstate", "schedutil", "schedutil,UTIL_EST=off"} {
		p := testkit.Must(ParsePolicy(name))(t)
		for _, w := range []struct{ slice, idle time.Duration }{{100 * time.Millisecond, 300 * time.Millisecond}, {20 * time.Millisecond, 20 * time.Millisecond}, {90 * time.Millisecond, 10 * time.Millisecond}} {
			t.Run(fmt.Sprint(name, " ", w.slice, " ", w.idle), func(t *testing.T) {
				out, err := Simulate(t.Context(), Case{Machine: m, Policy: p, Workload: Workload{Name: "x", Kind: Dialog, Users: 1, Slices: 1, Placement: Sticky,
					Slice: Dist{Mean: w.slice.Seconds()}, Think: Dist{Mean: w.idle.Seconds()}}}, Options{Seed: 1, Replications: 20, Steps: 100})
				if err != nil {
					t.Fatal(err)
				}
				want, got := out.Responses[CPUSeconds].Value, 0.0
				for k := range phases {
					c := testkit.Must(NewClock(p, m, (float64(k)+0.5)/phases))(t)
					got += drive(c, w.slice, w.idle, 50*time.Microsecond, slices, skip) / phases
				}
				if math.Abs(got/want-1) > 0.01 {
					t.Errorf("a slice takes %.5g s on the clock, %.5g s simulated", got, want)
				}
			})
		}
	}
}

// A task takes its utilisation along, and leaves none behind.
func TestClockMovesUtilisation(t *testing.T) {
	p := testkit.Must(ParsePolicy("schedutil,UTIL_EST=off"))(t)
	m := Stepped(2, 0.1)
	clock := func() *Clock {
		c := testkit.Must(NewClock(p, m, 0))(t)
		return c
	}
	a, b := clock(), clock()
	var task Task
	a.Start(0, &task)
	a.Stop(500 * time.Millisecond)
	b.Start(500*time.Millisecond, &task)
	if s := b.Speed(510 * time.Millisecond); s < 0.9 {
		t.Errorf("a task that ran for long starts at %g of full speed elsewhere", s)
	}
	var other Task
	a.Start(520*time.Millisecond, &other)
	if s := a.Speed(520 * time.Millisecond); s > 0.2 {
		t.Errorf("where it came from, another starts at %g", s)
	}
}

func TestClockRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"hwp":                             "policy hwp: the hardware chooses the frequency, by a rule that nobody has published",
		"fixed:40":                        "policy fixed:40: 40 % of nominal is 400 MHz; this machine runs at 50 to 100 % (500 MHz to 1.00 GHz)",
		"balanced-rs1,PERFDECTHRESHOLD=1": "policy balanced-rs1: PERFDECTHRESHOLD is 1; it must be below PERFINCTHRESHOLD, 0.9",
	} {
		p := testkit.Must(ParsePolicy(name))(t)
		if _, err := NewClock(p, Stepped(1, 0.5), 0); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if m := Stepped(3, 0.57); m.Validate() != nil || len(m.PStates) != 10 || m.PStates[0] != 0.57e9 {
		t.Errorf("%+v: %v", m.PStates, m.Validate())
	}
}
