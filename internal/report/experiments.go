package report

import (
	"fmt"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
)

// leverFactors are levers by the settings, and what stands for them in a study, that move
// them. A factor is known by its name, as studies name factors after settings.
var leverFactors = map[string]string{
	"governor": lever.Clock, "epp": lever.Clock, "epb": lever.Clock, "boost": lever.Clock, "policy": lever.Clock,
	"bios":             lever.Clock,
	"platform_profile": lever.Clock, "min_freq": lever.Clock, "max_freq": lever.Clock, "min_perf_pct": lever.Clock,
	"max_perf_pct":   lever.Clock,
	"cstate_latency": lever.Idle, "pm_qos_resume_latency_us": lever.Idle, "cpu_dma_latency": lever.Idle, "smt": lever.SMT,
	"cpu_online":   lever.CPUs,
	"io_scheduler": lever.Data, "nomerges": lever.Data, "read_ahead_kb": lever.Data,
}

// Measured is what experiments have measured of each lever that they moved: the most of its levels, as that is what
// a bound is compared with. dirs are where they lie, for the text.
func Measured(dirs []string, records []*store.Record) (out map[string]lever.Evidence, err error) {
	out = map[string]lever.Evidence{}
	for i, r := range records {
		x, dir, found := r.Experiment, dirs[i], false
		a := analysis.Analyse(x, r.Runs, r.End)
		for _, g := range a.Gains() {
			name := leverFactors[g.Factor]
			if x.Section == "log" {
				name = lever.Log
			}
			if name == "" {
				continue
			}
			found = true
			if !g.Decided() {
				if !out[name].Gains() {
					out[name] = lever.Evidence{Text: tooFew(dir, &g)}
				}
				continue
			}
			if now := out[name]; !now.Gains() || now.Gain.Value < g.Share.Value {
				out[name] = lever.Evidence{Kind: g.Share.Evidence, Gain: &g.Share, Text: gainSource(dir, x, g)}
			}
		}
		if !found && x.Section == "log" && a.Blocks == 0 {
			found = true
			if !out[lever.Log].Gains() {
				out[lever.Log] = lever.Evidence{Text: "no block is complete in experiment " + dir}
			}
		}
		if !found {
			return out, unusable(
				"--experiment %s: it says nothing of a lever that assess knows; it takes one of log devices, as of "+
					"'hostlab run log-device', or of a setting of the processor or the disks, with a response in seconds", dir)
		}
	}
	for name, e := range out {
		e.Source = lever.OfExperiment
		out[name] = e
	}
	return out, nil
}

// tooFew says why a gain has no interval, and what to do.
func tooFew(dir string, g *analysis.Gain) string {
	if g.Share.N >= g.Least {
		return fmt.Sprintf("experiment %s gives no interval of the gain of %s %s against %s", dir, g.Factor, g.To, g.From)
	}
	return fmt.Sprintf(
		"too few blocks in experiment %s: %d of %s %s against %s, where an interval and a verdict take %d; run it "+
			"again with --blocks %d and another --out", dir, g.Share.N, g.Factor, g.To, g.From, g.Least, g.Least)
}

func gainSource(dir string, x *result.Experiment, g analysis.Gain) string {
	s := []string{"experiment " + x.Name + " in " + dir, "workload " + x.Workload,
		g.Factor + " " + g.To + " against " + g.From}
	if g.At != "all runs" {
		s = append(s, g.At)
	}
	return strings.Join(append(s, "response "+g.Response), ", ")
}
