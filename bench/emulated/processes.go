package main

import (
	"fmt"
	"strconv"
	"strings"
)

// shapes are the workloads of processes, each with what Balanced up to Windows Server
// 2016 RS1, checking every 15 ms, may cost them.
var shapes = []struct {
	name      string
	set       []string
	low, high float64 // of the ratio in emulated CPU seconds
}{
	{"slices of 100 ms, 300 ms idle", []string{"slice=100ms", "think=300ms", "duration=2s"}, 1.7, 2.1},
	{"steady, no idle time", []string{"slice=100ms", "think=0s", "warm_up=500ms", "duration=1s"}, 0, 1.25},
}

// byProcess is a study of the workload dialog, whose worker process is slowed down from
// outside by a method.
const byProcess = `
[study]
name = "processes"
evidence = "emulated"
section = "table"
[[factor]]
name = "policy"
emulate = "policy"
levels = ["high-performance", "balanced-rs1,PERFCHECK=15ms"]
floor = 0.5
method = "%s"
[workload]
name = "dialog"
[[response]]
name = "emulated_cpu_op_s"
primary = true
[[response]]
name = "step_mean"
primary = true
[[response]]
name = "demand_s"
primary = true
`

// bySpins is the same with the workload's own inserted spins.
const bySpins = `
[study]
name = "spins"
evidence = "emulated"
section = "table"
[[factor]]
name = "policy"
parameter = "policy"
levels = ["high-performance", "balanced-rs1,PERFCHECK=15ms"]
[workload]
name = "dialog"
floor = 0.5
[[response]]
name = "cpu_s"
primary = true
[[response]]
name = "step_mean"
primary = true
[[response]]
name = "demand_s"
primary = true
`

func runProcesses(hostlab string, blocks int) error {
	for _, s := range shapes {
		for _, method := range []string{"stop", "cgroup", "spins"} {
			text := bySpins
			if method != "spins" {
				text = fmt.Sprintf(byProcess, method)
			}
			args := []string{"--blocks", strconv.Itoa(blocks)}
			for _, set := range s.set {
				args = append(args, "--set", "workload."+set)
			}
			r, err := experiment(hostlab, text, args)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, method, err)
			}
			r.print(s.name, method, s.low, s.high)
		}
	}
	return nil
}

// print has the ratios of Balanced to High performance, and what High performance
// itself costs: a step's CPU time, and its time, by its work at full speed. The first is
// 1 whatever else runs; the second has what others take from the CPUs in it.
func (r report) print(name, method string, low, high float64) {
	for _, e := range r.Effects {
		if e.Kind != "main" || e.Effect == nil || e.Response == "demand_s" {
			continue
		}
		interval := "no interval"
		if e.Low != nil && e.High != nil {
			interval = fmt.Sprintf("[%.3f, %.3f]", 1+*e.Low, 1+*e.High)
		}
		target := ""
		if strings.Contains(e.Response, "cpu") {
			target = "  target missed"
			if x := 1 + *e.Effect; x >= low && x <= high {
				target = "  within target"
			}
		}
		fmt.Printf("%-30s %-7s %-17s Balanced / High performance %.3f %s, n %d%s\n", name, method, e.Response, 1+*e.Effect, interval, e.N, target)
	}
	medians := map[string]float64{}
	n := 0
	if len(r.Experiments) == 0 {
		return
	}
	for _, t := range r.Experiments[0].Section.Tables {
		for _, c := range t.Cells {
			if c.Levels["policy"] == "high-performance" && c.Median != nil {
				medians[t.Response], n = *c.Median, c.N
			}
		}
	}
	for _, response := range []string{"emulated_cpu_op_s", "cpu_s", "step_mean"} {
		if m, ok := medians[response]; ok {
			fmt.Printf("%-30s %-7s %-17s High performance / work at full speed %.3f, n %d\n", name, method, response, m/medians["demand_s"], n)
		}
	}
}
