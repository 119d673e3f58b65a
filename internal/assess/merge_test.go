package assess

import (
	"math"
	"reflect"
	"testing"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

// stretch is a part of the minute that minute makes, with what all observers see.
func stretch(recorded bool) *Minute {
	m := minute(map[explain.PartName]float64{explain.LogWait: 6, explain.DatabaseCPU: 2, explain.Locks: 2})
	m.Report.Wall, m.Connected, m.Counted = 10, true, true
	m.Host.Foreign, m.Host.Steal = new(0.2), new(0.0)
	m.Readings = []service.Reading{{At: 10, CPU: 2, Queue: 1, QueueHigh: 1, Threads: 9, Busy: new(20.0), Steal: new(0.0),
		Stalled: map[string]float64{"cpu": 1, "io": 2}}}
	m.Takers = []Taker{{Taker: proc.Taker{Name: "backup", PID: 7, Processes: 1, Seconds: 5}}}
	m.Unseen[lever.Clock] = "not read"
	if recorded {
		delete(m.Unseen, lever.Clock)
		m.Clock = &Frequency{Mean: 2e9, Low: 1.9e9, High: 2.1e9, N: 20, Highest: 3e9, Limit: 3e9}
		m.Wakeups = &Wakeups{Wall: 5, Seconds: 0.1, Avoidable: 0.01, Most: 0.2}
		m.Ends = chain.New(false)
		for range 20 {
			m.Ends.Windows = append(m.Ends.Windows, chain.Shares{explain.Locks: {
				{Kind: chain.Log, PID: 4}: 0.09, {Kind: chain.Computing, PID: 5}: 0.01, {Kind: chain.Log, PID: 6}: 0.0001}})
			m.Ends.Lengths, m.Ends.Ran = append(m.Ends.Lengths, 0.1), append(m.Ends.Ran, 0.02)
			m.Ends.Waited = append(m.Ends.Waited, 0.01)
		}
		m.Ends.Moments = 20
	}
	m.Thin()
	return m
}

// TestMergeStretches: an hour of equal stretches has the answer and the levers of one of them, and the seconds of all.
func TestMergeStretches(t *testing.T) {
	var list []*Minute
	for i := range 360 {
		list = append(list, stretch(i%6 == 0))
	}
	one, all := Merge([]*Minute{stretch(true)}), Merge(list)
	last := all.Readings[len(all.Readings)-1]
	if all.Report.Wall != 3600 || math.Abs(last.CPU-720) > 1e-6 || math.Abs(*last.Busy-7200) > 1e-6 || last.Stalled["io"] != 720 ||
		math.Abs(all.Takers[0].Seconds-1800) > 1e-6 || len(all.Takers) != 1 || len(all.Readings) > explain.Stretches ||
		len(all.Report.Course) > explain.Stretches || math.Abs(all.Wakeups.Wall-300) > 1e-9 || all.Clock.N != 1200 ||
		all.Clock.High-all.Clock.Low > 0.05e9 || all.Unseen[lever.Clock] != "" {
		t.Errorf("%+v", all)
	}
	ends := func(m *Minute) float64 {
		return m.Ends.Share(explain.Locks, func(e chain.End) bool { return e.Kind == chain.Log }).Value
	}
	if math.Abs(ends(one)-ends(all)) > 1e-9 || math.Abs(ends(all)-0.901/1.001) > 1e-3 {
		t.Errorf("waits end with the log: %v, %v", ends(one), ends(all))
	}
	said := func(m *Minute) (list []string) {
		levers := m.Levers()
		for i := range levers {
			list = append(list, levers[i].Name+" "+string(levers[i].Verdict))
		}
		return append(list, m.First(levers))
	}
	if a, b := said(one), said(all); !reflect.DeepEqual(a, b) {
		t.Errorf("one: %v\nall: %v", a, b)
	}
	last = Merge([]*Minute{stretch(false), {Unseen: map[string]string{}, Connected: true, Readings: []service.Reading{{At: 10}}}}).Readings[1]
	if last.Busy != nil || last.Stalled["io"] != 0 || last.CPU != 2 {
		t.Errorf("what one stretch does not know: %+v", last)
	}
}
