package model

import (
	"context"
	"testing"

	"hostlab/internal/testkit"
)

// BenchmarkEvents reports simulated events per CPU second of the full model: SAP's
// dialog steps at load 0.5, on the seed's machine and on one with turbo, idle
// states and siblings. There, a change of the socket's turbo bin moves the end of
// every slice on it, and on 1,000 CPUs of 20 frequency domains a change of frequency
// those of 50; with-moves counts those too, as an engine does that replaces
// such an event by a new one.
func BenchmarkEvents(b *testing.B) {
	thousand, _ := FindMachine("sap")
	thousand.Sockets, thousand.CoresPerSocket, thousand.Domain = 20, 50, PerSocket
	for _, machine := range []string{"sap", "olontsev", "thousand-by-socket"} {
		for _, policy := range []string{"high-performance", "balanced-rs1", "ondemand", "schedutil"} {
			b.Run(machine+"/"+policy, func(b *testing.B) {
				m, err := FindMachine(machine)
				if err != nil {
					m = thousand
				}
				w, _ := FindWorkload("sap-dialog")
				p := testkit.Must(ParsePolicy(policy))(b)
				c := Case{Machine: m, Workload: w, Policy: p, Load: 0.5}
				g, _ := compileGovernor(p, m)
				s := newSim(c, g, 1, 0)
				s.meter.steps = 1 << 40
				s.run(100_000)
				b.ReportAllocs()
				b.ResetTimer()
				moved, began := s.moved, cpuTime()
				s.run(s.events + int64(b.N))
				b.ReportMetric(float64(int64(b.N)+s.moved-moved)/(cpuTime()-began).Seconds(), "with-moves/cpu-s")
				b.ReportMetric(float64(b.N)/(cpuTime()-began).Seconds(), "events/cpu-s")
			})
		}
	}
}

// BenchmarkThousandCPUs compares ten policies at ten loads on 1,000 CPUs. The
// limit is a minute on two cores, so 120 CPU seconds. Cores alone in their frequency
// domain, without turbo, are the easy case; a change of the turbo bin or of the
// frequency of a socket moves the ends of up to 50 slices.
func BenchmarkThousandCPUs(b *testing.B) {
	m, _ := FindMachine("sap")
	m.Sockets, m.CoresPerSocket = 20, 50
	b.Run("plain", func(b *testing.B) { compareThousand(b, m) })
	m.Domain = PerSocket
	m.Turbo = []TurboBin{{4, 3.1e9}, {12, 2.9e9}, {25, 2.7e9}, {50, 2.5e9}}
	b.Run("sockets-turbo", func(b *testing.B) { compareThousand(b, m) })
}

func compareThousand(b *testing.B, m Machine) {
	b.Helper()
	w, _ := FindWorkload("sap-dialog")
	base, _ := ParsePolicy("high-performance")
	var policies []Policy
	for _, name := range []string{"balanced-rs1", "balanced-rs1,PERFCHECK=30ms", "balanced-rs1,PERFCHECK=50ms", "balanced-rs2",
		"ondemand", "conservative", "schedutil", "schedutil,UTIL_EST=off", "intel_pstate", "performance"} {
		p := testkit.Must(ParsePolicy(name))(b)
		policies = append(policies, p)
	}
	loads := []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	for range b.N {
		began := cpuTime()
		all, err := CompareAll(context.Background(), Case{Machine: m, Workload: w}.AtLoads(loads), base, policies, Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		var events int64
		widest := 0.0
		for _, c := range all {
			events += c.Baseline.Events
			for _, r := range c.Rows {
				events += r.Events
				widest = max(widest, halfWidth(r.Ratio[StepTime]))
			}
		}
		spent := (cpuTime() - began).Seconds()
		b.ReportMetric(spent, "cpu-s/op")
		b.ReportMetric(float64(events)/spent, "events/cpu-s")
		b.ReportMetric(widest*100, "%-widest")
	}
}
