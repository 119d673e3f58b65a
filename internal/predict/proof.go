package predict

import (
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/model"
)

// What the study power-emulated sets, which the command leaves out.
const (
	studySlice, studyThink, studyFloor = 0.1, 0.3, 0.5 // s, s, share of full speed
)

// TestCommand is the command that would test the answer on the host it is for. All
// studies that it names are built in.
func (a *Answer) TestCommand() string {
	switch a.Workload.Kind {
	case model.Query:
		return "hostlab run query-degree"
	case model.Commit:
		return "hostlab run commit-layout"
	}
	command := "hostlab run power-emulated"
	for _, s := range a.emulated() {
		command += " --set workload." + s
	}
	return command
}

// emulated are the parameters of the workload dialog that match the answer's. Runs
// are at its lowest load, where a policy shows most.
func (a *Answer) emulated() (out []string) {
	w := a.Workload
	set := func(name, value string) { out = append(out, name+"="+value) }
	dist := func(name string, d model.Dist) {
		if variation(d) > 0.5 { // the workload has fixed and exponential: the nearer one
			set(name+"_dist", "exp")
		}
	}
	slices, wait, think := w.Slices, w.Wait, w.Think
	if w.Kind == model.Batch { // slices and waits in turn
		slices, wait, think = 1, model.Dist{}, w.Wait
	}
	slice := clamp(w.Slice.Mean, 20e-6, 60)
	step := float64(slices)*slice + float64(slices-1)*wait.Mean
	if slices != 1 {
		set("slices", strconv.Itoa(slices))
	}
	if slice != studySlice {
		set("slice", duration(slice))
	}
	dist("slice", w.Slice)
	if slices > 1 && !wait.IsZero() {
		set("wait", duration(clamp(wait.Mean, 1e-6, 60)))
		dist("wait", wait)
	}
	cycle := step + think.Mean
	if w.Open() {
		load := clamp(a.Loads[0], 0.05, 0.95)
		set("load", strconv.FormatFloat(load, 'g', 3, 64))
		cycle = float64(slices) * slice / load
	} else {
		if think.Mean != studyThink {
			value := "0s"
			if !think.IsZero() {
				value = duration(clamp(think.Mean, 1e-6, 600))
			}
			set("think", value)
		}
		dist("think", think)
		if w.Users != a.Machine.CPUs() {
			set("users", strconv.Itoa(min(w.Users, 100_000)))
		}
	}
	if w.Placement == model.Packed {
		set("placement", "packed")
	}
	if floor := clamp(a.Machine.PStates[0]/a.Machine.PStates[len(a.Machine.PStates)-1], 0.05, 1); math.Abs(floor-studyFloor) > 0.005 {
		set("floor", strconv.FormatFloat(floor, 'f', 2, 64))
	}
	// Some steps of each CPU, and no more slices than the workload takes.
	length := clamp(5*cycle, 2, 15)
	length = min(length, 500_000*slice/float64(a.Machine.CPUs()))
	set("duration", duration(length))
	set("expect", duration(length+step))
	return out
}

// variation is the standard deviation over the mean.
func variation(d model.Dist) float64 {
	switch {
	case d.IsZero() || d.Kind == model.DistFixed || d.Kind == "":
		return 0
	case d.Kind == model.DistExponential:
		return 1
	case d.Kind != model.DistEmpirical:
		return d.CV
	}
	sum := 0.0
	for _, v := range d.Values {
		sum += (v - d.Mean) * (v - d.Mean) / float64(len(d.Values))
	}
	return math.Sqrt(sum) / d.Mean
}

func clamp(v, low, high float64) float64 { return min(max(v, low), high) }

// TestNote says what the command shows of the answer.
func (a *Answer) TestNote() string {
	switch a.Workload.Kind {
	case model.Query:
		return "it measures a CPU-bound query, serial and parallel, under the policy that is set now. Run it under each policy and compare."
	case model.Commit:
		return "it measures the log device's commits on this host under the policy that is set now; give their latency as device in a workload file. Run it under each policy and compare."
	}
	note := "it runs steps of these lengths here, interleaved under high-performance, balanced-rs1, balanced-rs2 and ondemand, each with its clock emulated: no setting is touched, and none is needed."
	if e, ok := a.expected(); ok {
		note += fmt.Sprintf(" For %s the model expects cpu_s of %s.", a.Policies[0].String(), times(e))
	}
	return note
}

// expected is the first policy's ratio of CPU seconds at the lowest load, where the
// study has that policy as it was asked about.
func (a *Answer) expected() (model.Estimate, bool) {
	rows := rowsOf(a.Comparisons[0], a.Policies[0])
	name := a.Policies[0].String()
	if len(rows) != 1 || name != "balanced-rs1" && name != "balanced-rs2" && name != "ondemand" || a.Baseline.String() != "high-performance" && a.Baseline.String() != "performance" {
		return model.Estimate{}, false
	}
	e, ok := rows[0].Ratio[Headline]
	return e, ok
}

// duration writes seconds as parameters of workloads take them.
func duration(s float64) string {
	unit, factor := "s", 1.0
	switch {
	case s < 1e-3:
		unit, factor = "us", 1e6
	case s < 1:
		unit, factor = "ms", 1e3
	}
	v := s * factor
	digits := max(0, 2-int(math.Floor(math.Log10(v))))
	x, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64) + unit
}
