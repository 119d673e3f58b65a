package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/studies"
)

// trial is a study that some hosts of one kind have run on their service.
type trial struct {
	study, title  string
	factor, level string
	on            string // prefix of the hosts
	// of what the level does to CPU time per transaction, as a logarithm, and how far hosts differ in it
	mean, tau float64
}

var trials = []trial{
	{"live-idle", "Idle states of at most 70 us on a live service, in turn with those that there are", "cstate_latency",
		"70us", "db", -0.06, 0.008},
	{"live-thp", "Transparent huge pages on a live service, in turn with what there is", "thp", "madvise", "db", 0, 0.004},
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
