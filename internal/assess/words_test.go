package assess

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

func withOther(m *Minute, other proc.Taker) *Minute {
	m.Counted, m.Takers = true, []Taker{{Taker: other}}
	return m
}

func unsure(m *Minute) *Minute {
	m.Takers[0].Unsure = true
	return m
}

// TestVerdicts reads the answer of many made-up minutes: what the time goes to first, then the number, then
// what to type, in at most 25 words a sentence.
// TestHardlySeen: of a database whose sessions could not be seen, nobody knows whether they wait.
func TestHardlySeen(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 0.2, explain.RunQueue: 0.2})
	m.Service, m.Why = service.Service{Kind: service.Database, Name: "MariaDB", PID: 7}, "no socket file shows"
	testkit.Has(t, m.Verdict(nil), "It was active for only 400 ms of 60.0 s; whether its sessions wait, as for locks, does not show")
	more := lever.Lever{Name: lever.CPUs}
	more.Gains(0.3, 0.2, 0.3, 0.5)
	for i := range m.Report.Parts[2:] { // all but on CPU and wait for a CPU
		m.Report.Parts[2+i].Source = ""
	}
	m.Report.Busy = 12 // of it a fifth of one session: who knows what else it waited for
	testkit.Has(t, m.Verdict([]lever.Lever{more}), "does not show: run hostlab as root, or let this user in.")
}

func TestVerdicts(t *testing.T) {
	parts := func(cpu, queue, log, read, lock, application float64) map[explain.PartName]float64 {
		return map[explain.PartName]float64{explain.DatabaseCPU: cpu, explain.RunQueue: queue, explain.LogWait: log,
			explain.DataReads: read, explain.Locks: lock,
			explain.Application: application}
	}
	gain := func(name string, low, likely, high float64, command string) lever.Lever {
		l := lever.Lever{Name: name, Next: lever.Next{Command: command}}
		l.Gains(likely, low, likely, high)
		return l
	}
	queued, elsewhere := gain(lever.CPUs, 0, 0, 0.46, "hostlab watch"), gain(lever.Data, 0, 0, 0.46, "x")
	queued.Share = new(0.46)
	bounded, open := lever.Lever{Name: lever.Idle}, lever.Lever{Name: lever.Idle}
	bounded.Limit(nil, 0.02)
	open.Unseen(nil)
	owned := lever.Lever{Name: lever.Clock, Verdict: lever.NotHere, Owner: "the owner of the hypervisor"}
	alone := lever.Lever{Name: lever.SMT, Verdict: lever.NotHere}
	small := gain(lever.Data, 0, 0.001, 0.012, "")
	for name, c := range map[string]struct {
		minute *Minute
		kind   service.Kind
		levers []lever.Lever
		want   string
	}{
		"cpu-bound": {minute(parts(90, 2, 4, 0, 0, 4)), service.Database,
			[]lever.Lever{gain(lever.Clock, 0.2, 0.25, 0.3, "hostlab set governor=performance"), small, alone},
			`PostgreSQL computes for 90 % of its active time. Let its CPUs run at a faster clock: likely 25 % less time, at most 30 %. First: run "hostlab set governor=performance".`},
		"starved": {minute(parts(31, 60, 9, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.CPUs, 0.3, 0.4, 0.6, "hostlab watch"), gain(lever.Log, 0.03, 0.06, 0.1, "x"), small, open},
			`PostgreSQL waits 60 % of its active time for a CPU; on CPU 31 %, log wait 9.0 %. Give it more CPUs: at most 60 % less time. First: run "hostlab watch".`},
		"log-bound": {minute(parts(20, 0, 70, 0, 10, 0)), service.Database,
			[]lever.Lever{gain(lever.Log, 0.6, 0.7, 0.8, "hostlab run log-device"), owned},
			`PostgreSQL waits 70 % of its active time for the log; on CPU 20 %, locks 10 %. Use a faster log device: likely 70 % less time, at most 80 %. To try log devices with a job of hostlab's own, in up to 40 min: run "hostlab run log-device".`},
		"decided and not": {minute(parts(31, 60, 9, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Log, 0.03, 0.5, 1, "x"), gain(lever.CPUs, 0.3, 0.4, 0.6, "hostlab watch"), small},
			`PostgreSQL waits 60 % of its active time for a CPU; on CPU 31 %, log wait 9.0 %. Give it more CPUs: at most 60 % less time. First: run "hostlab watch".`},
		"not sure": {minute(parts(80, 0, 20, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Log, 0.01, 0.04, 0.2, "hostlab run log-device")},
			`PostgreSQL computes for 80 % of its active time; log wait 20 %. Use a faster log device: likely 4.0 % less time, at most 20 % (not certain). To try log devices with a job of hostlab's own, in up to 40 min: run "hostlab run log-device".`},
		"nothing likely": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Log, 0, 0, 1, "hostlab run log-device"), small},
			`PostgreSQL computes for 100 % of its active time. No lever that was measured here can save 5 % of active time.`},
		"one likely, one not": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Clock, 0, 0.03, 0.3, ""), gain(lever.Log, 0, 0, 1, "hostlab run log-device")},
			`PostgreSQL computes for 100 % of its active time. Let its CPUs run at a faster clock: likely 3.0 % less time, at most 30 % (not certain).`},
		"only a bound": {minute(parts(54, 46, 0, 0, 0, 0)), service.Database,
			[]lever.Lever{elsewhere, queued, gain(lever.Log, 0, 0, 1, "x"), open},
			`PostgreSQL computes for 54 % of its active time; wait for a CPU 46 %. Give it more CPUs: at most 46 % less time. First: run "hostlab watch".`},
		"a bound that is no reason": {minute(parts(92, 8, 0, 0, 0, 0)), service.Database, []lever.Lever{gain(lever.CPUs, 0, 0.01, 0.08, "x")},
			`PostgreSQL computes for 92 % of its active time; wait for a CPU 8.0 %. What was measured here could save at most 8.0 % of active time, and likely less.`},
		"not bounded": {minute(parts(20, 0, 80, 0, 0, 0)), service.Database, []lever.Lever{gain(lever.Log, 0.7, 0.8, 1, "x")},
			`PostgreSQL waits 80 % of its active time for the log; on CPU 20 %. Use a faster log device: likely 80 % less time. First: run "x".`},
		"a neighbour": {withOther(minute(parts(50, 50, 0, 0, 0, 0)), proc.Taker{PID: 4711, Name: "python3", Processes: 1, Seconds: 120}), service.Process,
			[]lever.Lever{gain(lever.Neighbour, 0.3, 0.4, 0.46, "chrt --idle --pid 0 4711")},
			`Process PostgreSQL computes for 50 % of its active time; wait for a CPU 50 %. Move or limit python3 (PID 4711), which took 2 of 4 CPUs: at most 46 % less time. First: run "chrt --idle --pid 0 4711".`},
		"a neighbour or a client": {unsure(withOther(minute(parts(50, 50, 0, 0, 0, 0)), proc.Taker{PID: 4711, Name: "python3", Processes: 1, Seconds: 120})),
			service.Process, []lever.Lever{gain(lever.Neighbour, 0, 0.4, 0.46, "x")},
			`Process PostgreSQL computes for 50 % of its active time; wait for a CPU 50 %. Move or limit python3 (PID 4711), which took 2 of 4 CPUs, unless it is a client: at most 46 % less time. First: run "x".`},
		"cold reads": {minute(parts(20, 0, 0, 80, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Data, 0.7, 0.8, 0.8, "hostlab x")},
			`PostgreSQL waits 80 % of its active time for data reads; on CPU 20 %. Use faster data disks: likely 80 % less time. First: run "hostlab x".`},
		"locked": {minute(parts(8, 0, 2, 0, 90, 0)), service.Database,
			[]lever.Lever{gain(lever.Log, 0, 0.02, 0.04, ""), small},
			`PostgreSQL waits 90 % of its active time for locks; on CPU 8.0 %. No lever that was measured here can save 5 % of active time.`},
		"chatty": {minute(parts(20, 0, 0, 0, 0, 80)), service.Database, []lever.Lever{gain(lever.Network, 0.5, 0.6, 0.7, "")},
			`PostgreSQL waits 80 % of its active time for its clients; on CPU 20 %. Use fewer round trips: at most 70 % less time.`},
		"all negligible": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database, []lever.Lever{small},
			`PostgreSQL computes for 100 % of its active time. No lever that was measured here can save 5 % of active time.`},
		"unknown": {minute(parts(98, 2, 0, 0, 0, 0)), service.Process, []lever.Lever{open, owned, alone},
			`Process PostgreSQL computes for 98 % of its active time. No lever could be measured here.`},
		"idle": {minute(nil), service.Unit, []lever.Lever{open},
			`Unit PostgreSQL did nothing while it was watched. Watch it again while it works.`},
		"too short to be seen": {&Minute{Connected: true, Report: explain.Report{Transactions: 28}}, service.Database,
			[]lever.Lever{open},
			`PostgreSQL did 28 transactions, but no sample caught one. Watch it for longer with --for, or while it does more.`},
		"hidden": {&Minute{Report: explain.Report{Hidden: true}}, service.Database, []lever.Lever{open},
			`Unknown: this user saw no active session of PostgreSQL, and may not see the sessions of other users. The missing grants stand under "Not seen".`},
		"ended": {minute(parts(98, 2, 0, 0, 0, 0)), service.Cgroup,
			[]lever.Lever{gain(lever.CPUs, 0.01, 0.02, 0.02, ""), open},
			`Control group PostgreSQL computes for 98 % of its active time. No lever that was measured here can save 5 % of active time.`},
		"bounded by counters": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database, []lever.Lever{bounded},
			`PostgreSQL computes for 100 % of its active time. No lever that was measured here can save 5 % of active time.`},
		"checks alone": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database,
			[]lever.Lever{{Name: "kernel", Verdict: lever.Possible}},
			`PostgreSQL computes for 100 % of its active time. No lever could be measured here.`},
		"hardly active": {minute(parts(0.2, 0.05, 0.05, 0, 0, 0.1)), service.Database,
			[]lever.Lever{gain(lever.CPUs, 0.3, 0.4, 0.6, "hostlab watch")},
			`PostgreSQL computes for 50 % of its active time; wait for clients 25 %, wait for a CPU 12 %. It was active for only 400 ms of 60.0 s, so that no lever saves much.`},
		"seldom active": {minute(parts(1, 0.25, 0.25, 0, 0, 0.5)), service.Database,
			[]lever.Lever{gain(lever.Clock, 0.2, 0.2, 0.2, "hostlab watch")},
			`PostgreSQL was active for only 2.00 s of 60.0 s, and computes for 50 % of its active time. Let its CPUs run at a faster clock: likely 20 % less time. First: run "hostlab watch".`},
		"a long command": {minute(parts(100, 0, 0, 0, 0, 0)), service.Database,
			[]lever.Lever{gain(lever.Clock, 0.2, 0.2, 0.2, "a\nb")},
			`PostgreSQL computes for 100 % of its active time. Let its CPUs run at a faster clock: likely 20 % less time. First: see "What to do next".`},
	} {
		c.minute.Service = service.Service{Kind: c.kind, Name: "PostgreSQL", PID: 7}
		got := c.minute.Verdict(c.levers)
		testkit.Is(t, c.want, got, name)
		if n := strings.Count(got+" ", ". "); n > 3 {
			t.Errorf("%s: %d sentences", name, n)
		}
		for s := range strings.SplitSeq(got, ". ") {
			if n := len(strings.Fields(s)); n > 25 {
				t.Errorf("%s: %d words in %q", name, n, s)
			}
		}
	}
}

// TestAway: of a server elsewhere, what is typed is typed there, and nothing of this host is a reason.
func TestAway(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.LogWait: 70, explain.DatabaseCPU: 30})
	m.Service = service.Service{Kind: service.Database, Name: "PostgreSQL"}
	l := lever.Lever{Name: lever.Log, Next: lever.Next{Command: "hostlab run log-device"}}
	l.Gains(0.7, 0.6, 0.7, 0.8)
	if got, want := m.Verdict([]lever.Lever{l}), `On its host, to try log devices with a job of hostlab's own, in up to 40 min: run "hostlab run log-device".`; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	m.missing("no port")
	for _, name := range []string{lever.Clock, lever.Idle, lever.SMT, lever.Network, lever.Memory} {
		if l := find(t, m.Levers(), name); l.Verdict != lever.Unknown || !strings.Contains(l.Why(), "run hostlab there") {
			t.Errorf("%s: %s, %q", name, l.Verdict, l.Why())
		}
	}
}

// TestUntold: where sessions tell no state, no sentence calls the time active in which they may have been idle, and
// no limit
// of a gain is of more time than was surely active.
func TestUntold(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 44, explain.Unexplained: 56})
	m.Service, m.Connected, m.Report.Transactions = service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 7},
		true, -1
	m.Report.Untold = 56
	got := m.Verdict(nil)
	if want := "How long PostgreSQL was active is unknown, 44.0 s to 100 s in 60.0 s: its sessions do not say whether they work. " +
		"If that is all of it, PostgreSQL computes for 44 % of its active time."; !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := m.basis(), "0.7 to 1.7 active on average"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	testkit.Is(t, 0, *find(t, m.Levers(), lever.Log).AtMost, "what waits for a client does not wait for the log")
	m.Clock = &Frequency{Mean: 2e9, Low: 2e9, High: 2e9, Highest: 2.1e9, Limit: 2.1e9, Source: "test"}
	if l := find(t, m.Levers(), lever.Clock); !near(*l.AtMost, 0.1/2.1) {
		t.Errorf("of 44 s, a clock that is 5 %% faster saves at most %v", *l.AtMost)
	}
}

// TestQuota: a quota that stops a service is the lever that the answer names; one that hardly does is not.
func TestQuota(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.RunQueue: 70, explain.DatabaseCPU: 30})
	m.Service, m.Throttled = service.Service{Kind: service.Cgroup, Name: "/shop"}, new(40.0)
	if got, want := m.Verdict(m.Levers()), " for a CPU; on CPU 30 %. Lift its CPU quota: likely 40 % less time"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	*m.Throttled = 1
	if got := m.Verdict(m.Levers()); strings.Contains(got, "quota") {
		t.Error(got)
	}
}
