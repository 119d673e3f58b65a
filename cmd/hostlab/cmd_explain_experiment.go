package main

import (
	"fmt"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// leverFactors are settings and what stands for them in a study, by the lever that
// they move. A factor is known by its name, as studies name factors after settings.
var leverFactors = map[string]string{
	"governor": explain.Processor, "epp": explain.Processor, "epb": explain.Processor, "boost": explain.Processor, "policy": explain.Processor,
	"platform_profile": explain.Processor, "min_freq": explain.Processor, "max_freq": explain.Processor, "min_perf_pct": explain.Processor,
	"max_perf_pct": explain.Processor, "cstate_latency": explain.Processor, "pm_qos_resume_latency_us": explain.Processor, "cpu_dma_latency": explain.Processor,
	"bios": explain.Processor, "smt": explain.MoreCPUs, "cpu_online": explain.MoreCPUs,
	"io_scheduler": explain.DataStorage, "nomerges": explain.DataStorage, "read_ahead_kb": explain.DataStorage,
}

// gains reads experiments and gives what each lever that they moved has given: the
// most of its levels, as that is what a bound is compared with.
func (o *explainRun) gains() (out map[string]explain.Measured, err error) {
	out = map[string]explain.Measured{}
	if len(o.experiments) == 0 {
		return out, nil
	}
	records, err := loadRecords(o.experiments)
	if err != nil {
		return out, usagef("--experiment: %w", err)
	}
	for i, r := range records {
		x, dir, found := r.Experiment, o.experiments[i], false
		a := analysis.Analyse(x, r.Runs, r.End)
		for _, g := range a.Gains() {
			lever := leverFactors[g.Factor]
			if x.Section == "log" {
				lever = explain.LogDevice
			}
			if lever == "" {
				continue
			}
			found = true
			if !g.Decided() {
				if !out[lever].Gain.Known() {
					out[lever] = explain.Measured{Unmeasured: tooFew(dir, &g)}
				}
				continue
			}
			if now := out[lever].Gain; !now.Known() || now.Value < g.Share.Value {
				out[lever] = explain.Measured{Gain: g.Share, GainSource: gainSource(dir, x, g)}
			}
		}
		if !found && x.Section == "log" && a.Blocks == 0 {
			found = true
			if !out[explain.LogDevice].Gain.Known() {
				out[explain.LogDevice] = explain.Measured{Unmeasured: "no block is complete in experiment " + dir}
			}
		}
		if !found {
			return out, usagef("--experiment %s: it says nothing of a lever that explain knows; it takes one of log devices, as of 'hostlab run log-device', or of a setting of the processor or the disks, with a response in seconds", dir)
		}
	}
	return out, nil
}

// tooFew says why a gain has no interval, and what to do.
func tooFew(dir string, g *analysis.Gain) string {
	if g.Share.N >= g.Least {
		return fmt.Sprintf("experiment %s gives no interval of the gain of %s %s against %s", dir, g.Factor, g.To, g.From)
	}
	return fmt.Sprintf("too few blocks in experiment %s: %d of %s %s against %s, where an interval and a verdict take %d; run it again with --blocks %d and another --out",
		dir, g.Share.N, g.Factor, g.To, g.From, g.Least, g.Least)
}

func gainSource(dir string, x *result.Experiment, g analysis.Gain) string {
	s := []string{"experiment " + x.Name + " in " + dir, "workload " + x.Workload, g.Factor + " " + g.To + " against " + g.From}
	if g.At != "all runs" {
		s = append(s, g.At)
	}
	return strings.Join(append(s, "response "+g.Response), ", ")
}

// measure sets gains beside bounds.
func measure(r *explain.Report, gains map[string]explain.Measured) {
	for i := range r.Bounds {
		b := &r.Bounds[i]
		found, ok := gains[b.Lever]
		switch b.Measured = found; {
		case ok:
		case len(gains) > 0:
			b.Unmeasured = "the experiments given did not vary it"
		case b.Lever != explain.LogDevice:
			b.Unmeasured = "no experiment that varied it was given"
		default:
			b.Unmeasured = "'hostlab run log-device --out DIR' measures it, and --experiment DIR shows it here"
		}
	}
}
