package predict

import (
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/model"
)

// bursts is what the built-in study wakeup does in a run: so many bursts, half of
// its runs with this pause before each.
const (
	bursts     = 20
	burstPause = 0.1 // s
)

// TestCommand is the command that would test the answer on the host it is for. All
// studies that it names are built in.
func (a *Answer) TestCommand() string {
	w := a.Workload
	switch w.Kind {
	case model.Query:
		return "hostlab run query-degree"
	case model.Commit:
		return "hostlab run commit-layout"
	}
	slice := min(max(w.Slice.Mean, 10e-6), 10) // what the workload burst takes
	count := int(min(bursts, max(3, 5/slice)))
	command := "hostlab run wakeup --set workload.slice=" + duration(slice)
	if count != bursts {
		command += " --set workload.count=" + strconv.Itoa(count)
	}
	return command + " --set workload.expect=" + duration(float64(count)*(slice+burstPause/2))
}

// TestNote says what the command shows of the answer.
func (a *Answer) TestNote() string {
	switch a.Workload.Kind {
	case model.Query:
		return "it measures a CPU-bound query, serial and parallel, under the policy that is set now. Run it under each policy and compare."
	case model.Commit:
		return "it measures the log device's commits on this host under the policy that is set now; give their latency as device in a workload file. Run it under each policy and compare."
	}
	note := fmt.Sprintf("it measures what slices of %s cost on one CPU after %s asleep, against without a pause, under the policy that is set now. Run it under each policy.",
		seconds(a.Workload.Slice.Mean), shortSeconds(burstPause))
	if e, ok := a.asleep(); ok {
		note += fmt.Sprintf(" Under %s the model expects cpu_s of %s.", a.Policies[0].String(), times(e))
	}
	return note
}

// asleep is the first policy's ratio of CPU seconds at the lowest load, where the
// model's slices, too, begin on CPUs that were idle for long.
func (a *Answer) asleep() (model.Estimate, bool) {
	rows := rowsOf(a.Comparisons[0], a.Policies[0])
	if len(rows) != 1 || !a.Workload.Open() || a.Loads[0] > 0.2 || a.Baseline.String() != "high-performance" && a.Baseline.String() != "performance" {
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
