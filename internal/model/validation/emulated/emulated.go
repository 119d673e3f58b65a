// Package emulated holds what emulated policies were measured to cost, beside the
// cases that the model simulates for the same workloads. bench/emulated writes it.
package emulated

import (
	_ "embed"
	"encoding/json"

	"hostlab/internal/model"
)

// Measured is a policy's ratio to another, measured in interleaved runs of the
// workload dialog with an emulated clock.
type Measured struct {
	Name     string // of the workload's case
	Host     string
	Policy   string // as model.ParsePolicy reads it
	Baseline string
	Response string // cpu_s or step_mean

	Ratio, Low, High float64 // interval at Level
	Level            float64
	N                int
	Unit             string // what N counts

	CPUs     int
	Floor    float64 // lowest speed, share of full speed
	Load     float64 // of open arrivals
	Workload model.Workload
}

//go:embed measured.json
var data []byte

// All lists what was measured.
func All() ([]Measured, error) {
	var out []Measured
	return out, json.Unmarshal(data, &out)
}
