//go:build unix

// Command hostlab runs M/M/8 at load 0.8 on the engine of the power model.
//
//	hostlab JOBS SEED
//
// prints jobs, CPU seconds and the mean number in the system, as all programs of this benchmark do.
package main

import (
	"hostlab/bench/engines/timed"
	"hostlab/internal/testkit/modeltest"
)

func main() {
	jobs, seed := timed.Arguments()
	var r modeltest.Result
	cpu := timed.CPU(func() {
		r = modeltest.FIFO(modeltest.Config{Servers: timed.Servers, Rate: timed.Rate, Service: modeltest.Exponential(1), Jobs: jobs, Seed: seed})
	})
	timed.Print(jobs, cpu, r.Response.Mean()*float64(jobs)/r.Horizon)
}
