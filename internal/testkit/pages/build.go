// Package pages has what tests of reports take: records of experiments, which are simulated runs with known effects,
// drift, stalls and void runs, judged by the analysis itself; and, with the build tag system, a browser.
package pages

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/result"
)

// plan is what to simulate.
type plan struct {
	head      result.Experiment
	done      int // blocks that have run
	noise     float64
	drift     float64 // of the logarithm, over the whole experiment
	stalls    float64 // probability of a run that takes 40 % longer
	stalling  string  // only at this level; "" for all
	void      int     // every so many runs is void at first
	failing   string  // at this level, every third run fails at first
	marked    int     // every so many runs counts though it is contaminated
	latency   bool
	seconds   float64        // of a run; 0: its first response
	harm      map[int]string // block -> why the run at the level ended early
	pause     time.Duration  // after a warm-up, and between the halves
	ended     string
	base      map[string]float64                                  // response -> value at the baseline
	effect    func(response string, at map[string]string) float64 // log ratio, or difference
	omit      func(response string, at map[string]string) bool    // runs that have no value; nil: none
	fluctuate map[string]float64                                  // noise of single responses
}

var start = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// build fills cells and blocks of the head, simulates the runs and analyses them.
func (p *plan) build() effects.Report {
	x := &p.head
	if x.Host == nil {
		x.Host = map[string]string{"hostname": "db01.example.com", "kernel": "6.12.48", "cpu": "AMD EPYC 9354P", "cpus": "32",
			"governor": "performance", "smt": "on", "microcode": "0xa101148"}
	}
	x.Schema, x.Version, x.Started = result.SchemaVersion, "v0.2.0", start
	x.ID = cmp.Or(x.ID, fmt.Sprintf("%08x", x.Design.Seed))
	x.Evidence = cmp.Or(x.Evidence, result.Measured)
	x.Design.Alpha = cmp.Or(x.Design.Alpha, 0.05)
	if x.Design.Looks == nil {
		x.Design.Looks = []int{10, 14, 20, 30}
	}
	x.Cells = cells(x.Factors)
	rng := rand.New(rand.NewPCG(x.Design.Seed, 7))
	for b := range x.Design.Looks[len(x.Design.Looks)-1] {
		x.Blocks = append(x.Blocks, result.Block{Seed: uint64(b), Plots: p.plots(rng)})
	}
	for b := range x.Design.AA {
		x.Blocks = append(x.Blocks, result.Block{Seed: uint64(b), Plots: [][]int{{0, 0}}})
	}
	runs := p.simulate(rng)
	var end *result.End
	if p.ended != "" {
		end = &result.End{Reason: p.ended, Blocks: p.done, At: runs[len(runs)-1].Start}
	}
	return effects.Report{Dir: x.Name, Analysis: analysis.Analyse(x, runs, end), Runs: runs,
		Study: []byte("schema = 1\n[study]\nname = \"" + x.Name + "\"\n# <b>kept as it was</b>\n")}
}

// cells are all combinations of levels.
func cells(factors []result.Factor) []result.Cell {
	out := []result.Cell{{Levels: map[string]string{}}}
	for _, f := range factors {
		var next []result.Cell
		for _, c := range out {
			for _, l := range f.Levels {
				m := maps.Clone(c.Levels)
				m[f.Name] = l
				next = append(next, result.Cell{Levels: m})
			}
		}
		out = next
	}
	return out
}

// plots of one block: all cells in one, or one for each level of the first factor
// that needs a reboot.
func (p *plan) plots(rng *rand.Rand) [][]int {
	x := &p.head
	if x.Design.Kind != "split-plot" {
		return [][]int{rng.Perm(len(x.Cells))}
	}
	f := x.Factors[0]
	var out [][]int
	for _, level := range f.Levels {
		var plot []int
		for range max(1, x.Design.Repeats) {
			for c, cell := range x.Cells {
				if cell.Levels[f.Name] == level {
					plot = append(plot, c)
				}
			}
		}
		if len(plot) > 0 {
			rng.Shuffle(len(plot), func(a, b int) { plot[a], plot[b] = plot[b], plot[a] })
			out = append(out, plot)
		}
	}
	rng.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out
}

func (p *plan) simulate(rng *rand.Rand) []result.Run {
	x := &p.head
	var runs []result.Run
	at, all := start, 0
	if p.pause > 0 {
		runs = append(runs, result.Run{Status: result.WarmUp, Reason: "exit status 2", Start: at, Seconds: 0.1})
		at = at.Add(p.pause / 2)
	}
	order := make([]int, 0, x.Design.AA+p.done) // pairs of the baseline with itself run first
	for b := range x.Design.AA {
		order = append(order, x.Planned()+b)
	}
	for b := range p.done {
		order = append(order, b)
	}
	for _, b := range order {
		if b == p.done/2 {
			at = at.Add(p.pause)
		}
		level := rng.NormFloat64() * p.noise // of the whole block
		for i, plot := range x.Blocks[b].Plots {
			boot := 0.0
			if x.Design.Kind == "split-plot" {
				boot = rng.NormFloat64() * p.noise
			}
			for s, c := range plot {
				all++
				r := result.Run{Block: b, Plot: i, Slot: s, Cell: c, Status: result.OK, Operations: 1000,
					Boot: "boot", Conditions: map[string]float64{"foreign_cpu": 0.01 * rng.Float64(), "steal": 0}}
				if x.Design.Kind == "split-plot" {
					r.Boot = fmt.Sprintf("boot-%d-%d", b, i)
				}
				if p.void > 0 && all%p.void == 0 {
					v := r
					v.Status, v.Reason, v.Start, v.Seconds = result.Void, "others took 12 % of the CPUs, more than 3 %", at, 1.2
					v.Conditions = map[string]float64{"foreign_cpu": 0.12, "steal": 0}
					runs = append(runs, v)
					at = at.Add(2 * time.Second)
					r.Attempt = 1
				}
				if l := x.Cells[c].Levels[x.Factors[0].Name]; l == p.failing && b%3 == 0 {
					v := r
					v.Status, v.Reason, v.Start, v.Seconds = result.Failed, "took longer than the timeout of 2s", at, 2
					runs = append(runs, v)
					at = at.Add(3 * time.Second)
					r.Attempt = 1
				}
				if p.marked > 0 && all%p.marked == 0 {
					r.Contaminated = "others took 6 % of the CPUs, more than 3 %"
				}
				r.Start = at
				r.Values = p.values(rng, &x.Cells[c], level+boot+p.drift*float64(b)/float64(p.done))
				r.Seconds = 1.2
				if w, ok := r.Values["wall"]; ok {
					r.Seconds = w
				}
				if p.seconds > 0 {
					r.Seconds = p.seconds
				}
				if why := p.harm[b]; why != "" && x.Cells[c].Levels[x.Factors[0].Name] != x.Factors[0].Baseline {
					r.Harm, r.Seconds = why, 70
				}
				if p.latency {
					r.Latency = latency(rng, r.Values[x.Responses[0].Name]/1000)
				}
				runs = append(runs, r)
				at = at.Add(time.Duration((r.Seconds + 0.5) * float64(time.Second)))
			}
		}
	}
	return runs
}

func (p *plan) values(rng *rand.Rand, c *result.Cell, z float64) map[string]float64 {
	out := map[string]float64{}
	stall := 0.0
	if rng.Float64() < p.stalls {
		for _, l := range c.Levels {
			if p.stalling == "" || l == p.stalling {
				stall = 0.4
			}
		}
	}
	for _, r := range p.head.Responses {
		noise := p.noise
		if n, ok := p.fluctuate[r.Name]; ok {
			noise = n
		}
		e := p.effect(r.Name, c.Levels)
		if p.omit != nil && p.omit(r.Name, c.Levels) {
			continue
		}
		if r.Compare == result.Difference {
			out[r.Name] = math.Max(0, p.base[r.Name]+e+rng.NormFloat64()*noise)
			continue
		}
		out[r.Name] = p.base[r.Name] * math.Exp(z+e+rng.NormFloat64()*noise+stall)
		stall = 0 // of the first response only
	}
	return out
}

// latency is a log-normal histogram of single operations around a median.
func latency(rng *rand.Rand, median float64) *result.Distribution {
	d := &result.Distribution{Name: "operation", Title: "One operation", Unit: "s"}
	for e := 1e-6; e < 1; e *= 1.12 {
		d.Edge = append(d.Edge, e)
	}
	d.Count = make([]int, len(d.Edge))
	for range 1000 {
		v := median * math.Exp(rng.NormFloat64()*0.3)
		if rng.Float64() < 0.01 {
			v *= 12
		}
		for i, e := range d.Edge {
			if v <= e {
				d.Count[i]++
				break
			}
		}
	}
	return d
}
