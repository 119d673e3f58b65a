package model_test

import (
	"context"
	"fmt"

	"hostlab/internal/model"
)

// How long does a CPU that was idle take to reach its highest frequency?
func ExampleRamp() {
	machine, err := model.FindMachine("sap")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"balanced", "ondemand"} {
		policy, err := model.ParsePolicy(name)
		if err != nil {
			panic(err)
		}
		t, err := model.Ramp(machine, policy)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.0f ms\n", name, 1000*t.Value)
	}
	// Output:
	// balanced: 456 ms
	// ondemand: 11 ms
}

// What does Balanced cost dialog steps at a load of 5 %? The seed makes the answer the same
// each time.
func ExampleCompare() {
	machine, _ := model.FindMachine("sap")
	workload, _ := model.FindWorkload("sap-dialog")
	baseline, _ := model.ParsePolicy("high-performance")
	policy, _ := model.ParsePolicy("balanced")
	machine.Sockets, machine.CoresPerSocket, machine.Turbo = 1, 4, nil // quick
	c := model.Case{Machine: machine, Workload: workload, Load: 0.05}
	got, err := model.Compare(context.Background(), c, baseline, []model.Policy{policy}, model.Options{Seed: 1, Replications: 4, Steps: 200})
	if err != nil {
		panic(err)
	}
	for _, r := range got.Rows {
		e := r.Ratio[model.CPUSeconds]
		fmt.Printf("%s: %.2f times the CPU time [%.2f, %.2f]\n", r.Policy, e.Value, e.Low, e.High)
	}
	// Output:
	// balanced-rs1: 1.74 times the CPU time [1.72, 1.76]
}
