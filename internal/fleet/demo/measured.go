package demo

import (
	"math"
	"math/rand/v2"
	"strconv"

	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// scatter is how far hosts of one machine differ from each other, and a host from itself, in standard deviations
// of the logarithm.
const (
	betweenHosts = 0.02
	withinHost   = 0.006
)

// figures are what a machine of speed 1 gives, in base units.
type figure struct {
	kind  result.Kind
	which string
	title string
	unit  string
	value float64
	by    func(l load) float64 // what a load makes of it
	cpu   bool                 // a figure of CPU 0
	n     int
}

func steady(load) float64      { return 1 }
func worked(l load) float64    { return or(l.work) * or(l.clock) }
func clocked(l load) float64   { return or(l.clock) }
func late(l load) float64      { return 1 / or(l.work) }
func committed(l load) float64 { return or(l.commit) }

// or is a share that may be left at 1.
func or(share float64) float64 {
	if share == 0 {
		return 1
	}
	return share
}

const highest = 2.4e9 // Hz

var figures = []figure{
	{probe.WakeALU, ".10ms.cpu0", "10 ms of arithmetic after 100 ms asleep, against awake", "ratio", 1.01, steady, true,
		24},
	{probe.WakeCold, ".10ms.cpu0",
		"a burst of 10 ms that reads three quarters of the L2 cache, after 100 ms asleep, against awake", "ratio", 1.015,
		steady, true, 24},
	{probe.ClockBusy, ".cpu0", "additions per second, about the core clock, within a busy stretch", "Hz", highest, clocked,
		true, 24},
	{probe.LateMedian, ".cpu0", "lateness of a wake-up after 100 ms of sleep, median", "s", 58e-6, late, true, 24},
	{probe.LateControl, ".cpu0", "lateness of a thread that spins on the clock instead of sleeping, median",
		"s", 2e-6, steady, true, 24},
	{probe.NewBlocks.Of(probe.Mean), "", "Mean commit on the log directory", "s", 640e-6, committed, false, 4000},
	{probe.NewBlocks.Of(probe.Median), "", "Median commit on the log directory", "s", 600e-6, committed, false, 4000},
	{probe.Recycled.Of(probe.Mean), "",
		"Mean commit on the log directory over blocks written before, as in a recycled log", "s",
		310e-6, committed, false, 8000},
	{probe.Recycled.Of(probe.Median), "", "Median commit on the log directory over blocks written before, as in a " +
		"recycled log", "s", 290e-6, committed, false, 8000},
	{probe.Recycled.Of(probe.Tail), "",
		"99th percentile of commits on the log directory over blocks written before, as in a recycled log", "s", 900e-6,
		committed, false, 8000},
	{probe.InMemory.Of(probe.Mean), "", "Mean commit in memory", "s", 6.1e-6, late, false, 9000},
	{probe.InMemory.Of(probe.Median), "", "Median commit in memory", "s", 5.8e-6, late, false, 9000},
	{probe.Throughput, ".1", "XML scanned per second by one worker", "B/s", 210e6, worked, false, 16},
	{probe.SpeedUp, ".2", "Speed-up of 2 workers over one", "ratio", 1.94, steady, false, 16},
	{probe.SpeedUp, ".4", "Speed-up of 4 workers over one", "ratio", 2.9, steady, false, 16},
}

// runs are the probes of one assessment. traits are the host's own deviations, one a figure.
func runs(m *machine, l load, traits []float64, rng *rand.Rand) []probe.Outcome {
	var out []probe.Outcome
	for _, p := range probe.All() {
		out = append(out, probe.Outcome{Probe: p.Name, Title: p.Title, Method: p.How, Seconds: 10})
	}
	for i, f := range figures {
		value := f.value * f.by(l) * math.Exp(traits[i]+withinHost*rng.NormFloat64())
		if f.kind == probe.Throughput || f.kind == probe.ClockBusy {
			value *= m.speed
		}
		half := 2 * withinHost * (0.8 + 0.4*rng.Float64())
		r := result.Measurement{Kind: f.kind, Name: string(f.kind) + f.which, Title: f.title, Unit: f.unit,
			Evidence:   result.Measured,
			Estimate:   &result.Estimate{Value: value, Low: value * (1 - half), High: value * (1 + half), N: f.n},
			NoiseFloor: value * 0.01}
		if f.unit == "ratio" {
			r.NoiseFloor = 0.01
		}
		switch {
		case f.cpu:
			r.Labels.CPU, r.Labels.Class = new(0), "all"
		case f.kind == probe.SpeedUp:
			r.Labels.Degree, _ = strconv.Atoi(f.which[1:])
		}
		for j := range out {
			if p := out[j].Probe; len(f.kind) > len(p) && string(f.kind)[:len(p)+1] == p+"." {
				r.Probe, out[j].Measurements = p, append(out[j].Measurements, r)
			}
		}
	}
	for j := range out {
		if len(out[j].Measurements) == 0 {
			out[j].Skipped = "not part of the demonstration"
		}
	}
	return out
}
