package assess

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
	"hostlab/internal/trace"
)

// minute is one of 100 s of active time, whose parts are these seconds.
func minute(parts map[explain.PartName]float64) *Minute {
	m := &Minute{Host: Host{CPUs: 4, Busy: new(0.5)}, Unseen: map[string]string{}}
	r := &m.Report
	r.Wall, r.Peak = 60, 10
	for _, s := range parts {
		r.Elapsed += s
	}
	r.Busy = r.Elapsed - parts[explain.Idle]
	for _, name := range explain.PartNames {
		v := parts[name] / r.Elapsed
		r.Parts = append(r.Parts, explain.Part{Name: name, Seconds: parts[name],
			Share: result.Estimate{Value: v, Low: v, High: v}, Source: "test"})
	}
	return m
}

func find(t *testing.T, all []lever.Lever, name string) lever.Lever {
	t.Helper()
	for _, l := range all {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no lever %s", name)
	return lever.Lever{}
}

// TestFirstLever: where one part takes most of the time, its lever is the first.
func TestFirstLever(t *testing.T) {
	for want, parts := range map[string]map[explain.PartName]float64{
		lever.Log:  {explain.LogWait: 60, explain.DatabaseCPU: 20, explain.Application: 20},
		lever.Data: {explain.DataReads: 60, explain.DatabaseCPU: 20, explain.Application: 20},
		lever.CPUs: {explain.RunQueue: 60, explain.DatabaseCPU: 20, explain.Application: 20},
	} {
		m := minute(parts)
		if want == lever.CPUs {
			m.Host.Busy, m.Report.Wall = new(0.95), 6
		}
		all := m.Levers()
		if all[0].Name != want || all[0].Verdict != lever.Worthwhile {
			t.Errorf("%v: the first lever is %+v, want %s", parts, all[0], want)
		}
	}
}

// TestFewSamples: however wide of the margin an interval from few samples is, it makes nothing worthwhile, and it is
// said how
// long to watch. What the kernel counted takes no samples.
func TestFewSamples(t *testing.T) {
	for seen, want := range map[int]string{0: "no sample found it at work: watch it for longer",
		1:  "only 1 sample found it at work, too few for a verdict: watch it with --for 20m10s",
		2:  "only 2 samples found it at work, too few for a verdict: watch it with --for 10m10s",
		19: "only 19 samples found it at work, too few for a verdict: watch it with --for 1m10s", 20: ""} {
		for _, connected := range []bool{true, false} {
			m := minute(map[explain.PartName]float64{explain.LogWait: 60, explain.DatabaseCPU: 20, explain.Application: 20})
			m.Connected, m.Report.Seen = connected, &seen
			l, text := find(t, m.Levers(), lever.Log), m.Verdict(m.Levers())
			few := connected && want != ""
			if (l.Verdict == lever.Worthwhile) == few || few != (strings.Contains(l.Why(), want) && want != "") {
				t.Errorf("%d, %v: %s, %q", seen, connected, l.Verdict, l.Why())
			}
			if few && !strings.Contains(text, want[1:]) {
				t.Errorf("%d: %s", seen, text)
			}
		}
	}
}

// TestUnknownIsNotZero: what was not seen has no figures, a reason, and stands last.
func TestUnknownIsNotZero(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 50, explain.Application: 50})
	m.Unseen[lever.Clock] = "this guest has no counter of cycles"
	all := m.Join([]lever.Lever{{Name: lever.Clock, Verdict: lever.NotHere, Owner: "the owner of the hypervisor"}})
	l := find(t, all, lever.Clock)
	if l.AtMost != nil || l.Estimate != nil || l.Verdict != lever.NotHere || l.Why() == "" {
		t.Errorf("clock: %+v", l)
	}
	if l := find(t, all, lever.Memory); l.Verdict != lever.Unknown || l.AtMost != nil {
		t.Errorf("memory: %+v", l)
	}
	for i, l := range all[1:] {
		if all[i].AtMost == nil && l.AtMost != nil {
			t.Errorf("%s, which is unknown, stands before %s", all[i].Name, l.Name)
		}
	}
}

// TestNothingRanNothingGained: where nothing ran no lever has a figure, and a part that a recording
// does not know takes no share.
func TestNothingRanNothingGained(t *testing.T) {
	m := minute(nil)
	for i := range m.Report.Parts {
		m.Report.Parts[i].Share = result.Unknown()
	}
	for _, l := range m.Levers() {
		if l.AtMost != nil || l.Estimate != nil {
			t.Errorf("%+v", l)
		}
	}
	for _, p := range m.Parts() {
		if p.Share != 0 || p.Interval != nil {
			t.Errorf("%+v", p)
		}
	}
}

// TestClockBound: at 2 of 3 GHz a third of the CPU time could go, and of waits for locks.
func TestClockBound(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.Locks: 30, explain.Application: 10})
	m.Clock = &Frequency{Mean: 2e9, Low: 2e9, High: 2e9, Highest: 3e9, Limit: 3e9, Source: "test"}
	l := find(t, m.Levers(), lever.Clock)
	if !near(*l.Estimate, 0.2*(1+30.0/70)) || !near(*l.Low, 0.2) || !near(*l.AtMost, 0.3) || l.Verdict != lever.Worthwhile {
		t.Errorf("likely %v, at most %v, %s", *l.Estimate, *l.AtMost, l.Verdict)
	}
}

// TestNetworkStaysWithinTheApplication: trips between transactions cost none of them, but
// 0.1 ms of a CPU each.
func TestNetworkStaysWithinTheApplication(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 90, explain.Application: 10})
	m.Trips = &service.Trips{Count: 1000, Least: 50 * time.Second, Most: 60 * time.Second}
	l := find(t, m.Levers(), lever.Network)
	if !near(*l.AtMost, 0.101) {
		t.Errorf("at most %v, and the application took 0.1", *l.AtMost)
	}
}

// TestNoTrips: connections of this host alone make no round trips, and bound the lever with nothing.
func TestNoTrips(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 70, explain.Application: 30})
	m.Report.Parts[6].Within = 20
	m.Trips = &service.Trips{Connections: 1, Local: 1}
	if l := find(t, m.Levers(), lever.Network); l.Verdict != lever.Negligible || *l.AtMost != 0 {
		t.Errorf("%+v", l)
	}
}

// TestTripsInWords: where none was counted the reason says why, and where most would be missing the lever is not known.
func TestTripsInWords(t *testing.T) {
	for want, c := range map[string]struct {
		trips service.Trips
		known bool
	}{
		"no round trips: all 20 connections to its network port came from this host": {service.Trips{Connections: 20,
			Local: 20}, true},
		"no round trips: its one connection to its network port came from this host": {service.Trips{Connections: 1,
			Local: 1}, true},
		"no round trips: no connection to its network port was seen": {service.Trips{}, true},
		"0 round trips on 2 connections of other hosts": {service.Trips{Connections: 20,
			Local: 18}, true},
		"1000 round trips on 2 connections of other hosts": {service.Trips{Count: 1000,
			Connections: 3, Local: 1}, true},
		"7 of 8 connections of other hosts ended before the next look": {service.Trips{Count: 10,
			Connections: 9, Local: 1, Brief: 7}, false},
		"this kernel does not count requests": {service.Trips{Connections: 9,
			Untold: 9}, false},
	} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 70, explain.Application: 30})
		m.Trips = &c.trips
		l := find(t, m.Levers(), lever.Network)
		if known := l.AtMost != nil; known != c.known || !strings.Contains(l.Why(), want) {
			t.Errorf("%+v: %v, %q, want %q", c.trips, known, l.Why(), want)
		}
	}
}

// TestErlang compares with tabulated values: two CPUs, each busy for half of the time, make a
// third of all jobs wait (Gross and Harris, Fundamentals of Queueing Theory).
func TestErlang(t *testing.T) {
	if p := erlangC(2, 0.5); !near(p, 1.0/3) {
		t.Errorf("erlangC(2, 0.5) = %v, want 1/3", p)
	}
	if p := erlangC(1, 0.7); !near(p, 0.7) {
		t.Errorf("erlangC(1, 0.7) = %v, want 0.7", p)
	}
	if p := erlangC(512, 0.99); math.IsNaN(p) || p <= 0 || p > 1 {
		t.Errorf("erlangC(512, 0.99) = %v", p)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestVerdictOfLeversOfChecks: a lever that only checks know has no share of the service's
// time, and the verdict speaks of none.
func TestVerdictOfLeversOfChecks(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 100})
	m.Service.Name = "it"
	for _, v := range []lever.Verdict{lever.Worthwhile, lever.Possible, lever.Negligible, lever.NotHere, lever.Unknown} {
		if text := m.Verdict([]lever.Lever{{Name: "kernel", Verdict: v}}); !strings.HasPrefix(text, "It computes for 100 %") {
			t.Errorf("%s: %q", v, text)
		}
	}
}

// A lever of which checks alone know that nothing is to change is not called unknown.
func TestNothingToChangeIsNotUnknown(t *testing.T) {
	levers := []lever.Lever{{Name: lever.Kernel, Verdict: lever.Negligible, Reason: lever.Settled,
		Evidence: []lever.Evidence{{Text: "x"}}}}
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, &document.Document{Name: "x", Sections: lever.Sections(levers, true)},
		document.TextOptions{}))
	if text := b.String(); strings.Contains(text, "unknown") || !strings.Contains(text, "nothing to change") {
		t.Error(text)
	}
}

// What a probe measured or a source recommends makes a lever possible of which the minute knows nothing, and nothing
// less.
func TestPlatformBesideTheMinute(t *testing.T) {
	for reason, want := range map[lever.Reason]lever.Verdict{lever.Costs: lever.Possible,
		lever.Recommended: lever.Possible,
		lever.NoEffect:    lever.Unknown, lever.Settled: lever.Unknown, lever.NoSiblings: lever.NotHere} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 100})
		l := find(t, m.Join([]lever.Lever{{Name: lever.SMT, Reason: reason,
			Evidence: []lever.Evidence{{Text: "probed"}}}}), lever.SMT)
		if l.Verdict != want || len(l.Evidence) != 2 {
			t.Errorf("%s: %s, %d sources", reason, l.Verdict, len(l.Evidence))
		}
	}
}

// TestBoundsOfCounters: where the scheduler cannot be asked, counters bound a lever. A guest's leave
// out what its host takes, so they bound nothing.
func TestBoundsOfCounters(t *testing.T) {
	each := func(v float64) *float64 { return &v }
	bounds := []trace.Bound{{Name: trace.IdleExit, Value: each(0.05)}, {Name: trace.BesideSibling, Value: each(0.5)}}
	for hypervisor, want := range map[string]lever.Verdict{"none": lever.Negligible, "kvm": lever.Unknown} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 90, explain.Application: 10})
		m.scheduled(nil, errors.New("loading programs takes root"))
		f := &host.Facts{}
		f.Virt.Hypervisor = host.Known(hypervisor, "", "")
		m.bounded(bounds, f)
		all := m.Levers()
		idle, smt := find(t, all, lever.Idle), find(t, all, lever.SMT)
		if idle.Verdict != want || idle.Estimate != nil || !strings.Contains(idle.Why(), "root") {
			t.Errorf("%s: %+v", hypervisor, idle)
		}
		if want == lever.Negligible && (!near(*idle.AtMost, 0.03) || idle.Kind() != result.Cited) {
			t.Errorf("at most 0.05 s a second of 100 s in 60 s: %+v", idle)
		}
		if smt.Verdict != lever.Possible || !near(*smt.AtMost, 0.15) {
			t.Errorf("beside siblings for 0.5 s a second of 100 s in 60 s, at half of the speed: %+v", smt)
		}
	}
}

// TestNoRoundTrips: a service that no other host reaches loses nothing to the network.
func TestNoRoundTrips(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 90, explain.Application: 10})
	m.Local = true
	if l := find(t, m.Levers(), lever.Network); l.Verdict != lever.Negligible || *l.AtMost != 0 ||
		!strings.Contains(l.Why(), "on this host's socket") {
		t.Errorf("%+v", l)
	}
}

// TestStalls: where sessions tell nothing, pressure settles what hardly anybody waited for; it
// gives no bound else. Few stalls say nothing of page walks.
func TestStalls(t *testing.T) {
	for _, c := range []struct {
		io, memory   float64 // s
		data, pages  lever.Verdict
		likely, most float64 // of memory; -1: unknown
	}{
		{0.01, 0.01, lever.Negligible, lever.Unknown, -1, -1},
		{9, 0, lever.Unknown, lever.Unknown, -1, -1},
		{0, 25, lever.Negligible, lever.Possible, 0.2, 0.5},
	} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 100})
		m.Report.Parts = nil // no sessions
		m.Readings = []service.Reading{{At: 60, Threads: 4, Stalled: map[string]float64{"io": c.io, "memory": c.memory}}}
		all := m.Levers()
		data, pages := find(t, all, lever.Data), find(t, all, lever.Memory)
		if data.Verdict != c.data || pages.Verdict != c.pages || !strings.Contains(data.Why(), "by PSI") ||
			!strings.Contains(pages.Why(), "by PSI") {
			t.Errorf("%+v: %+v, %+v", c, data, pages)
		}
		if known := pages.AtMost != nil; known != (c.most >= 0) || known &&
			(!near(*pages.Estimate, c.likely) || !near(*pages.AtMost, c.most)) {
			t.Errorf("%+v: %+v", c, pages)
		}
	}
}

// TestIdleUnderSteal: what the hypervisor takes makes wake-ups late, too, so that idle states are not blamed for it.
func TestIdleUnderSteal(t *testing.T) {
	for steal, want := range map[float64]lever.Verdict{0: lever.Worthwhile, 0.02: lever.Possible, 0.2: lever.Possible} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.Application: 40})
		m.Host.Steal = &steal
		m.Wakeups = &Wakeups{Wall: 60, Seconds: 11, Avoidable: 10, Low: 9, Most: 12, Source: "9 wake-ups"}
		l := find(t, m.Levers(), lever.Idle)
		if l.Verdict != want || *l.AtMost != 0.12 || strings.Contains(l.Why(), "hypervisor") != (steal > 0) {
			t.Errorf("steal %g: %s, at most %g, %s", steal, l.Verdict, *l.AtMost, l.Why())
		}
	}
}

// TestIdleOfGuest: who wakes a guest's CPU is its hypervisor, so that its own idle states are possible at most.
func TestIdleOfGuest(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.Application: 40})
	m.Host.Guest, m.Wakeups = true, &Wakeups{Wall: 60, Seconds: 11, Avoidable: 10, Low: 9, Most: 12, Source: "9 wake-ups"}
	if l := find(t, m.Levers(), lever.Idle); l.Verdict != lever.Possible || !strings.Contains(l.Why(), "guest") {
		t.Errorf("%s: %s", l.Verdict, l.Why())
	}
}

// TestQueueing compares with the machine repair model (Gross and Harris): of two sessions that pause for a second after each on the one
// CPU, each waits for half a second. Two CPUs leave two sessions nothing to wait for.
func TestQueueing(t *testing.T) {
	q := queueing{sessions: 2, pause: 1, cpus: 2, quota: 2}
	if w := q.wait(1); !near(w, 0.5) {
		t.Errorf("two sessions wait for one CPU for %v s, want 0.5", w)
	}
	testkit.Is(t, 0, q.wait(2), "two sessions wait for two CPUs for", "s")
	if w := (queueing{sessions: 1, pause: 1}).wait(0.5); !near(w, 1) {
		t.Errorf("half a CPU makes one session wait for %v s, want 1", w)
	}
	q.sessions, q.pause = 8, 0.5
	if quota, neighbour, cpus := q.spared(); quota != 0 || neighbour != 0 || cpus < 0.5 {
		t.Errorf("with nobody beside it: quota %.2f, others %.2f, CPUs %.2f", quota, neighbour, cpus)
	}
	q.others, q.sessions = 1, 4
	if quota, neighbour, cpus := q.spared(); quota != 0 || neighbour < 0.5 || neighbour < cpus {
		t.Errorf("beside a busy loop: quota %.2f, others %.2f, CPUs %.2f", quota, neighbour, cpus)
	}
	q.quota = 0.3
	if quota, neighbour, cpus := q.spared(); quota < 0.6 || quota < neighbour+cpus {
		t.Errorf("below a quota: quota %.2f, others %.2f, CPUs %.2f", quota, neighbour, cpus)
	}
}

// TestSleepsOfStatements: who sleeps within a statement waits for no device; of other waits that nobody followed, none
// is excluded.
func TestSleepsOfStatements(t *testing.T) {
	for event, want := range map[string]float64{"Timeout:PgSleep": 0, "Timeout:SpinDelay": 0.2} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 80, explain.OtherWaits: 20})
		m.Report.Events = []explain.Event{{Name: event, Part: explain.OtherWaits, Seconds: 20}}
		if got := m.saving(explain.DataReads).AtMost; math.Abs(got-want) > 0.01 {
			t.Errorf("%s: data reads at most %v, want %v", event, got, want)
		}
	}
}

// TestMost: CPUs do no more work than their time allows, which nobody else's work then makes slower.
func TestMost(t *testing.T) {
	q := queueing{sessions: 20, active: 20, used: 0.9, cpus: 2, cooled: 0.15}
	if most := q.most(2); !near(most, 1-0.9*0.85/2) {
		t.Errorf("20 sessions that used 0.9 of 2 CPUs: at most %v", most)
	}
	q.clients = 0.5
	if most := q.most(2); !near(most, 1-1.4*0.85/2) {
		t.Errorf("with clients that used half a CPU: at most %v", most)
	}
	if most := q.most(1); !near(most, 1-0.9*0.85) {
		t.Errorf("on one CPU, which clients need not use: at most %v", most)
	}
	if q.sessions = 300; q.most(2) != 1 { // who waits for its turn outside may come in
		t.Errorf("with 280 idle sessions: at most %v", q.most(2))
	}
}
