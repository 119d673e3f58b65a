package modeltest

import (
	_ "embed"
	"encoding/json"

	"hostlab/internal/model"
)

// Measured is a policy's ratio to another, measured in interleaved runs of the
// workload dialog with an emulated clock, beside the case that the model simulates for
// it. bench/emulated writes them.
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

// AllMeasured lists what was measured.
func AllMeasured() ([]Measured, error) {
	var out []Measured
	return out, json.Unmarshal(data, &out)
}
