package main

import (
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/internal/screen"
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
func (o *explainRun) gains() (map[string]*explain.Gain, error) {
	out := map[string]*explain.Gain{}
	if len(o.experiments) == 0 {
		return out, nil
	}
	set, err := loadSet(o.experiments)
	if err != nil {
		return nil, usagef("--experiment: %w", err)
	}
	for i := range set.Reports {
		r := &set.Reports[i]
		x, found, few := r.Analysis.Experiment, false, (*effects.Gain)(nil)
		for _, g := range effects.Gains(r) {
			lever := leverFactors[g.Factor]
			if x.Section == "log" {
				lever = explain.LogDevice
			}
			if lever == "" {
				continue
			}
			if !g.Decided() {
				few = &g
				continue
			}
			found = true
			if now := out[lever]; now != nil && now.Value >= g.Share.Estimate {
				continue
			}
			out[lever] = &explain.Gain{Value: g.Share.Estimate, Low: g.Share.Low, High: g.Share.High, N: g.Share.N, Evidence: string(g.Evidence), Source: gainSource(r.Dir, x, g)}
		}
		if !found && few != nil {
			return nil, usagef("--experiment %s: %s of %s %s against %s give no interval of its gain; it takes %d or more: run it again with --blocks %d and another --out",
				r.Dir, screen.Count(few.Share.N, "block"), few.Factor, few.To, few.From, few.Least, few.Least)
		}
		if !found {
			return nil, usagef("--experiment %s: it says nothing of a lever that explain knows; it takes one of log devices, as of 'hostlab run log-device', or of a setting of the processor or the disks, with a response in seconds", r.Dir)
		}
	}
	return out, nil
}

func gainSource(dir string, x *result.Experiment, g effects.Gain) string {
	s := []string{"experiment " + x.Name + " in " + dir, "workload " + x.Workload, g.Factor + " " + g.To + " against " + g.From}
	if g.At != "all runs" {
		s = append(s, g.At)
	}
	return strings.Join(append(s, "response "+g.Response), ", ")
}

// measure sets gains beside bounds.
func measure(r *explain.Report, gains map[string]*explain.Gain) {
	for i := range r.Bounds {
		b := &r.Bounds[i]
		switch b.Gain = gains[b.Lever]; {
		case b.Gain != nil:
		case len(gains) > 0:
			b.Unmeasured = "the experiments given did not vary it"
		case b.Lever != explain.LogDevice:
			b.Unmeasured = "no experiment that varied it was given"
		default:
			b.Unmeasured = "'hostlab run log-device --out DIR' tells for the log device, and --experiment DIR shows it here"
		}
	}
}
