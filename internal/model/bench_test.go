package model

import (
	"testing"
)

// BenchmarkEvents reports simulated events per CPU second of the full model: SAP's
// dialog steps at load 0.5, on the seed's machine and on one with turbo, idle
// states and siblings.
func BenchmarkEvents(b *testing.B) {
	for _, machine := range []string{"sap", "olontsev"} {
		for _, policy := range []string{"high-performance", "balanced-rs1", "ondemand", "schedutil"} {
			b.Run(machine+"/"+policy, func(b *testing.B) {
				m, _ := FindMachine(machine)
				w, _ := FindWorkload("sap-dialog")
				p, err := ParsePolicy(policy)
				if err != nil {
					b.Fatal(err)
				}
				c := Case{Machine: m, Workload: w, Policy: p, Load: 0.5}
				g, _ := compileGovernor(p, m)
				s := newSim(c, g, 1, 0)
				s.meter.steps = 1 << 40
				s.run(100_000)
				b.ReportAllocs()
				b.ResetTimer()
				began := cpuTime()
				s.run(s.events + int64(b.N))
				b.ReportMetric(float64(b.N)/(cpuTime()-began).Seconds(), "events/cpu-s")
			})
		}
	}
}
