package predict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
		return "hostlab run log-device"
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
	if floor := clamp(a.Machine.PStates[0]/a.Machine.PStates[len(a.Machine.PStates)-1], 0.05,
		1); math.Abs(floor-studyFloor) > 0.005 {
		set("floor", strconv.FormatFloat(floor, 'f', 2, 64))
	}
	if check, ok := a.check(); ok {
		set("check", duration(check))
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
		return "The command measures a CPU-bound query, serial and parallel, under the policy that is set now. Run it under each " +
			"policy and compare."
	case model.Commit:
		return "The command measures the log device's commits on this host under the policy that is set now; give their latency as " +
			"device in a workload file. Run it under each policy and compare."
	}
	note := "The command runs steps of these lengths here, interleaved under " + wordList(studyPolicies) +
		", each with an emulated clock. It changes no setting."
	// The study has another clock and other lengths than the answer, so it has no
	// figure of the answer to meet: it shows the same effect, not the same number.
	if list := a.uncovered(); len(list) > 0 {
		note += " It does not cover " + strings.Join(list, "; ") + "."
	}
	return note
}

// studyPolicies are those that the study power-emulated runs, its baseline first.
var studyPolicies = []string{"high-performance", "balanced-rs1", "balanced-rs2", "ondemand"}

// uncovered names what of the answer's case the study power-emulated leaves out.
func (a *Answer) uncovered() (out []string) {
	w, m := a.Workload, a.Machine
	add := func(when bool, what string) {
		if when {
			out = append(out, what)
		}
	}
	check, _ := a.check()
	var others []string
	for _, p := range append([]model.Policy{a.Baseline}, a.Policies...) {
		set := len(p.Asked())
		if !slices.Contains(studyPolicies, p.Name) && p.Name != "performance" || set > 0 && (check == 0 || set > 1) {
			others = append(others, p.String())
		}
	}
	add(len(others) > 0, wordList(others))
	add(!m.This, fmt.Sprintf("the %d CPUs of %s, only those of this host", m.CPUs(), m.Name))
	add(len(a.Loads) > 1, "other loads than "+percent(a.lowest()))
	if w.Open() {
		l := a.lowest()
		add(l != clamp(l, 0.05, 0.95), fmt.Sprintf("a load of %s, but has %s", percent(l), percent(clamp(l, 0.05, 0.95))))
	}
	add(w.MemoryShare > 0, "work that does not scale with frequency")
	add(w.Watched > 0, "the spread of the record's lengths, but has their mean")
	shaped := false
	for _, d := range []model.Dist{w.Slice, w.Wait, w.Think} {
		shaped = shaped || !d.IsZero() && d.Kind != "" && d.Kind != model.DistFixed && d.Kind != model.DistExponential
	}
	add(shaped && w.Watched == 0, "lengths that are neither all alike nor exponential")
	add(w.Placement == model.Sticky, "sticky placement")
	add(w.Kind == model.Batch, "the whole of a job, but has slices of it")
	add(m.Fixed > 0, "a clock that firmware holds")
	add(len(m.Turbo) > 0, "turbo")
	add(m.ThreadsPerCore > 1, "threads that share a core")
	add(m.Domain != model.PerThread, "one frequency for each "+string(m.Domain))
	return out
}

// lowest is the lowest load, NaN where the workload is closed.
func (a *Answer) lowest() float64 {
	if len(a.Loads) == 0 {
		return math.NaN()
	}
	return a.Loads[0]
}

// check is the check interval that all of the answer's Balanced policies were given,
// in seconds: the study has one for all. It is 0 where they differ, or have their own.
func (a *Answer) check() (seconds float64, ok bool) {
	for _, p := range a.Policies {
		asked := p.Asked()
		if p.Name != "balanced-rs1" && p.Name != "balanced-rs2" || len(asked) == 0 {
			if slices.Contains(studyPolicies[1:], p.Name) {
				return 0, false // it would get the interval too
			}
			continue
		}
		i := slices.IndexFunc(asked, func(x model.Parameter) bool { return x.Name == "PERFCHECK" })
		if i < 0 || seconds != 0 && seconds != asked[i].Value {
			return 0, false
		}
		seconds = asked[i].Value
	}
	return seconds, seconds > 0
}

// wordList joins with commas and a last "and".
func wordList(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
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
