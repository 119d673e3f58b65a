package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/studies"
)

// shares are where the time of a healthy service goes.
var shares = map[string]map[explain.PartName]float64{
	"PostgreSQL": {explain.DatabaseCPU: 0.58, explain.RunQueue: 0.03, explain.LogWait: 0.03, explain.DataReads: 0.04,
		explain.Locks: 0.05, explain.OtherWaits: 0.02, explain.Application: 0.22, explain.Unexplained: 0.03},
	"shop.service": {explain.DatabaseCPU: 0.98, explain.RunQueue: 0.02},
}

// watched is a minute of a host's service; nil: it has none.
func (h *made) minute(m *machine, l load, at time.Time, rng *rand.Rand) *assess.Minute {
	if m.service == "" {
		return nil
	}
	database := m.role == "production-db"
	w := &assess.Minute{
		Service: service.Service{Kind: service.Unit, Name: m.service, PID: 194}, Why: "this process tells no sessions",
		Host: assess.Host{CPUs: 4}, Local: database, Unseen: map[string]string{},
	}
	if database {
		w.Service.Kind, w.Connected, w.Why, w.Version = service.Database, true, "", "15.10"
	}
	for _, name := range lever.Names {
		w.Unseen[name] = "this part of the demonstration has no figure for it"
	}
	r := &w.Report
	r.Vendor, r.Version, r.Target, r.Started = m.service, w.Version, m.service, at
	r.Wall, r.Peak, r.Samples, r.Interval, r.Cost, r.Transactions = 60, 16, 1200, 0.05, 0.004, -1
	r.Method, r.Log = "95 % of stretches that were drawn anew", explain.NoLog()
	r.Missing, r.Warnings = []string{}, []string{}

	parts, sum := map[explain.PartName]float64{}, 0.0
	for _, name := range explain.PartNames { // in order: the seed's numbers are drawn in it
		share, there := shares[m.service][name]
		if !there {
			continue
		}
		switch name {
		case explain.DatabaseCPU, explain.Locks:
			share /= or(l.work) * or(l.clock)
		case explain.LogWait:
			share *= or(l.commit)
		}
		parts[name] = share * h.busy * r.Wall * math.Exp(0.04*rng.NormFloat64())
		sum += parts[name]
	}
	parts[explain.Idle] = 4 * h.busy * r.Wall
	r.Busy, r.Elapsed = sum, sum+parts[explain.Idle]
	for _, name := range explain.PartNames {
		seconds, there := parts[name]
		if !there {
			continue
		}
		share := seconds / r.Elapsed
		r.Parts = append(r.Parts, explain.Part{Name: name, Seconds: seconds, Source: "samples",
			Share: result.Estimate{Value: share, Low: share * 0.93, High: share * 1.07, N: r.Samples}})
	}
	for range 12 {
		s := explain.Stretch{Seconds: r.Wall / 12, Parts: map[explain.PartName]float64{}, Transactions: -1}
		for name, seconds := range parts {
			s.Parts[name] = seconds / 12
		}
		r.Course = append(r.Course, s)
	}
	if database {
		r.Transactions = int64(900 * h.busy / sum * h.busy * r.Wall)
	}
	busy := min(0.9, parts[explain.DatabaseCPU]/r.Wall/4)
	w.Host.Busy, w.Host.Foreign, w.Host.Steal = new(busy), new(0.01), new(0.0)
	w.Readings = []service.Reading{{At: r.Wall, CPU: parts[explain.DatabaseCPU], Queue: parts[explain.RunQueue],
		Processes: 12, Threads: 12,
		Busy: new(busy * 4 * r.Wall), Steal: new(0.0), Stalled: map[string]float64{"cpu": 0.5, "io": 0.2, "memory": 0}}}
	mean := highest * m.speed * or(l.clock) * (1 - 0.005*rng.Float64())
	w.Clock = &assess.Frequency{Mean: mean, Low: mean * 0.995, High: mean * 1.002, N: 60, Highest: highest * m.speed,
		Limit: highest * m.speed, Source: "cycles a second of CPU time", Evidence: result.Measured}
	waits := r.Busy * 0.004 * (0.8 + 0.4*rng.Float64())
	w.Wakeups = &assess.Wakeups{Wall: r.Wall, Seconds: waits, Avoidable: waits / 2, Low: waits / 3, Most: waits,
		Source: "wake-ups that the scheduler counted"}
	w.Siblings = &assess.Siblings{Beside: 0.2, Likely: 0.1, AtMost: 0.35,
		Assumes: "a busy sibling takes what the probe measured", Source: "the scheduler, and the probe of siblings"}
	return w
}

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

// trial is a study that some hosts of one kind have run on their service.
type trial struct {
	study, title  string
	factor, level string
	on            string // prefix of the hosts
	// of what the level does to CPU time per transaction, as a logarithm, and how far hosts differ in it
	mean, tau float64
}

var trials = []trial{
	{"live-idle", "Idle states of at most 70 us on a live service, in turn with the present ones", "cstate_latency",
		"70us", "db", -0.06, 0.008},
	{"live-thp", "Transparent huge pages on a live service, in turn with the present mode", "thp", "madvise", "db", 0, 0.004},
}

// Each trial ran on so many hosts, in so many pairs of periods of so many seconds.
const (
	tried     = 8
	pairs     = 30
	period    = 300.0
	pairNoise = 0.012 // standard deviation of a period, of the logarithm
)

// experiment is the report of a host's trial that ended at a time: simulated periods, judged as those of a real host.
func (m Maker) experiment(t *trial, h *made, end time.Time) *effects.Set {
	seed := h.rng.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a seed that can be given again is meant
	text, _ := studies.Files.ReadFile("live.toml")
	sum := sha256.Sum256(text)
	x := &result.Experiment{Schema: result.SchemaVersion, ID: fmt.Sprintf("%016x", seed), Name: t.study, Title: t.title,
		BuiltIn: t.study, Study: hex.EncodeToString(sum[:]),
		Version: m.Version, Started: end.Add(-time.Duration(2 * pairs * period * float64(time.Second))).UTC(),
		Host: map[string]string{"hostname": h.name}, Evidence: result.Measured,
		Workload: "observe", Parameters: map[string]string{"service": h.machine.service, "for": "5m", "short": "1m"},
		Factors: []result.Factor{{Name: t.factor, Kind: "setting", Target: t.factor, Levels: []string{"current", t.level},
			Baseline: "current", Change: result.Online}}, Responses: []result.Response{
			{Name: "cpu_per_transaction", Title: "CPU time per transaction", Unit: "s", Better: "lower", Compare: result.Ratio,
				Margin: 0.02, Primary: true},
			{Name: "transactions_per_s", Title: "Transactions per second", Unit: "1/s", Better: "higher", Compare: result.Ratio,
				Margin: 0.02}},
		Contrasts: []result.Contrast{{Factors: []string{t.factor}, Levels: []string{t.level}, Primary: true}},
		Design: result.Design{Kind: "switchback", Seed: seed, Alpha: 0.05, Repeats: 1, Looks: []int{pairs},
			Load: "transactions_per_s"},
		Cells: []result.Cell{{Levels: map[string]string{t.factor: "current"}},
			{Levels: map[string]string{t.factor: t.level}}}}
	effect := t.mean + t.tau*rng.NormFloat64()
	var runs []result.Run
	for b := range pairs {
		plot := rng.Perm(2)
		x.Blocks = append(x.Blocks, result.Block{Seed: uint64(b), Plots: [][]int{plot}})
		load := 840 * h.busy / 2 * math.Exp(0.3*math.Sin(float64(b)/5))
		for slot, cell := range plot {
			z := pairNoise * rng.NormFloat64()
			runs = append(runs, result.Run{Seq: len(runs), Block: b, Slot: slot, Cell: cell, Status: result.OK, Seconds: period,
				Boot: "boot", Start: x.Started.Add(time.Duration(float64(len(runs)) * period * float64(time.Second))),
				Values: map[string]float64{"cpu_per_transaction": 0.0012 * math.Exp(z+float64(cell)*effect),
					"transactions_per_s": load * math.Exp(0.01*rng.NormFloat64())}})
		}
	}
	r := effects.Report{Dir: t.study, Analysis: analysis.Analyse(x, runs,
		&result.End{Reason: "looks", Blocks: pairs, At: end}), Runs: runs, Study: text}
	return &effects.Set{Reports: []effects.Report{r}, Version: m.Version}
}
