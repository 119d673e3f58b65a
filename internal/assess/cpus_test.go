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

// TestBlame: a wait for a CPU has the lever first whose doing it was; each lever's bound holds all such waits.
func TestBlame(t *testing.T) {
	hog := proc.Taker{Name: "hog", PID: 4711, Processes: 1, Group: "/system.slice/hog.service", Seconds: 30}
	for name, c := range map[string]struct {
		takers    []Taker
		throttled *float64
		steal     float64
		first     string
		says      string
		step      string
	}{
		"a neighbour": {[]Taker{{Taker: hog}}, nil, 0, lever.Neighbour, "hog (PID 4711, hog.service), 3 of 4 CPUs", "sudo systemctl set-property --runtime hog.service CPUWeight=1"},
		"a shell's loop": {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Others: []int{9}, Processes: 2, Seconds: 30}}}, nil, 0, lever.Neighbour,
			"sh (2 processes, PID 7)", "echo 7 9 | sudo xargs -n1 chrt --all-tasks --idle --pid 0"},
		"in a session": {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Others: []int{9}, Sessions: []int{5, 9}, Processes: 9, Seconds: 30}, Sharing: proc.Sharing{By: proc.BySession}}}, nil, 0, lever.Neighbour,
			"sh (9 processes, PID 7)", "echo 19 | sudo tee /proc/5/autogroup /proc/9/autogroup"},
		"many": {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Others: []int{8}, Processes: 9, Seconds: 30}}}, nil, 0, lever.Neighbour,
			"sh (9 processes, PID 7)", "echo 7 8 | sudo xargs -n1 chrt --all-tasks --idle --pid 0"},
		"in a group":      {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Processes: 1, Seconds: 30}, Sharing: proc.Sharing{By: proc.ByGroup}}}, nil, 0, lever.Neighbour, "sh (PID 7)", "sudo taskset --all-tasks --cpu-list --pid 0 7"},
		"idle already":    {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Processes: 1, Seconds: 30}, Sharing: proc.Sharing{By: proc.ByThread, Idle: true}}}, nil, 0, lever.Neighbour, "sh (PID 7)", "sudo taskset --all-tasks --cpu-list --pid 0 7"},
		"a user's unit":   {[]Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Processes: 1, Seconds: 30, Group: "/user.slice/user-1.slice/user@1.service/app.slice/x.service"}}}, nil, 0, lever.Neighbour, "x.service", "sudo chrt --all-tasks --idle --pid 0 7"},
		"its own threads": {nil, nil, 0, lever.CPUs, "95 % busy", ""},
		"its quota":       {[]Taker{{Taker: hog}}, new(42.0), 0, lever.Quota, "stopped its threads for 42.0 s in 10.0 s", ""},
	} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.RunQueue: 42, explain.Locks: 38})
		m.Service, m.Counted, m.Takers, m.Throttled = service.Service{Kind: service.Process, Name: "x", PID: 1}, true, c.takers, c.throttled
		m.Host.Busy, m.Host.Steal, m.Report.Wall = new(0.95), &c.steal, 10
		m.Readings = []service.Reading{{At: 10, CPU: 20, Queue: 42, Throttled: c.throttled}}
		levers := m.Levers()
		if l := levers[0]; l.Name != c.first || !strings.Contains(l.Why(), c.says) || l.Next.Command != c.step ||
			c.first == lever.Neighbour && !strings.Contains(l.Next.Note, c.takers[0].Name) ||
			(name == "many") != strings.HasSuffix(l.Next.Note, "; do the same with 7 more processes of it, which used less") {
			t.Errorf("%s: first %s: %s, %q", name, l.Name, l.Why(), l.Next)
		}
		for _, of := range []string{lever.CPUs, lever.Neighbour, lever.Quota} {
			if l := find(t, levers, of); l.AtMost != nil && *l.AtMost != 0 && *l.AtMost < 0.75 {
				t.Errorf("%s: %s at most %.2f; the holders of locks may have waited for a CPU, and 2 of 4 CPUs do the work that siblings halve",
					name, of, *l.AtMost)
			}
		}
	}
}

// TestUnnamed: what programs took that ended meanwhile counts for the bound of other programs, though nobody names them.
func TestUnnamed(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.RunQueue: 42, explain.Locks: 38})
	m.Service, m.Counted, m.Report.Wall = service.Service{Kind: service.Process, Name: "x", PID: 1}, true, 10
	m.Readings, m.Host.Busy = []service.Reading{{At: 10, CPU: 20, Queue: 42}}, new(0.95)
	m.Host.Foreign = new(0.04)
	if l := find(t, m.Levers(), lever.Neighbour); *l.AtMost != 0 {
		t.Errorf("nobody took a CPU for long: at most %.2f", *l.AtMost)
	}
	m.Host.Foreign = new(0.9)
	for name, takers := range map[string][]Taker{"nobody is named": nil,
		"a small one is": {{Taker: proc.Taker{Name: "sh", PID: 7, Processes: 1, Seconds: 0.4}}}} {
		m.Takers = takers
		if l := find(t, m.Levers(), lever.Neighbour); *l.AtMost < 0.5 || !strings.Contains(l.Why(), "have ended, took 3.6 of 4 CPUs") {
			t.Errorf("%s: at most %.2f, %s", name, *l.AtMost, l.Why())
		}
	}
}

// TestTakenBack: what a step changes, its note takes back.
func TestTakenBack(t *testing.T) {
	sh := proc.Taker{Name: "sh", PID: 7, Others: []int{9}, Sessions: []int{5}, Processes: 2}
	for by, back := range map[proc.Divides]string{proc.ByThread: "echo 7 9 | sudo xargs -n1 chrt --all-tasks --other --pid 0",
		proc.BySession: "echo 0 | sudo tee /proc/5/autogroup"} {
		testkit.Has(t, limit(Taker{Taker: sh, Sharing: proc.Sharing{By: by}}).Note, "\""+back+"\" takes that back")
	}
}

// TestBrief: nobody acts on a process that is gone before a command is typed, but on what starts others like it.
func TestBrief(t *testing.T) {
	cc := Taker{Taker: proc.Taker{Name: "cc1", PID: 70, Processes: 2, Others: []int{71}, Seconds: 9, Starter: &proc.Starter{PID: 30, Name: "make", Brief: true}},
		Sharing: proc.Sharing{By: proc.ByThread}}
	session := cc
	session.Sharing.By = proc.BySession
	once, several := cc, cc
	once.Processes, once.Others, once.Starter = 1, nil, &proc.Starter{PID: 30, Name: "cron"}
	named := cc
	named.Name = "c|.*"
	several.Starter, several.Sharing.By = once.Starter, proc.BySession
	for name, c := range map[string]struct {
		taker                 Taker
		called, command, note string
	}{
		"of a build":          {cc, "cc1 (2 processes that make, PID 30, starts)", "echo 30 $(pgrep -x -P 30 -- cc1) | sudo xargs -n1 chrt --all-tasks --idle --pid 0", "make, with all that it starts from now on, gives"},
		"with other sessions": {session, "PID 30, starts", "echo 30 $(pgrep -x -P 30 -- cc1) | sudo xargs -n1 taskset --all-tasks --cpu-list --pid 0", "make, with all that it starts from now on, stays on CPU 0"},
		"of a pattern":        {named, "c|.* (2", `echo 30 $(pgrep -x -P 30 -- 'c\|\.\*') | sudo xargs -n1 chrt --all-tasks --idle --pid 0`, ""},
		"of a new session":    {several, "cc1 (2 processes that cron, PID 30, starts)", "echo 30 $(pgrep -x -P 30 -- cc1) | sudo xargs -n1 taskset --all-tasks --cpu-list --pid 0", "cron, with all that it starts from now on, stays on CPU 0"},
		"that came late":      {once, "cc1 (PID 70)", "sudo chrt --all-tasks --idle --pid 0 70", "do the same with cron (PID 30)"},
		"that were reaped": {Taker{Taker: proc.Taker{Name: "sh", PID: 30, Processes: 1, Seconds: 9, Reaped: 8}}, "sh (PID 30, mostly by programs it ran)",
			"sudo chrt --all-tasks --idle --pid 0 30", ""},
		"of units": {Taker{Taker: proc.Taker{Name: "systemd", PID: 1, Processes: 1, Seconds: 9, Reaped: 8}}, "systemd (PID 1, mostly for processes that have ended)", endedUnits, "set-property UNIT CPUWeight=1"},
	} {
		next := limit(c.taker)
		testkit.Has(t, called(c.taker), c.called, name)
		testkit.Is(t, c.command, next.Command, name)
		testkit.Has(t, next.Note, c.note, name)
	}
}

// TestUnboundedIsPossible: a lever of which neither the likely gain nor a bound is known is possible, at most.
func TestUnboundedIsPossible(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.RunQueue: 100})
	m.Counted, m.Takers = true, []Taker{{Taker: proc.Taker{Name: "sh", PID: 7, Processes: 1, Seconds: 300}}}
	m.Report.Wall, m.Host.Busy = 10, new(0.95)
	m.Service, m.Readings = service.Service{Kind: service.Process, Name: "x", PID: 1}, []service.Reading{{At: 10, Queue: 100}}
	if l := find(t, m.Levers(), lever.Neighbour); l.Bounded() || l.Likely != nil || l.Verdict != lever.Possible {
		t.Errorf("%s, at most %v, likely %v of %v", l.Verdict, *l.AtMost, l.Likely, *l.Estimate)
	}
}

// TestNotCounted: where other processes do not show, no neighbour is excluded.
func TestNotCounted(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.RunQueue: 42})
	if l := find(t, m.Levers(), lever.Neighbour); l.Verdict != lever.Unknown || l.Why() == "" {
		t.Errorf("%+v", l)
	}
}

// TestEnded: for processes that have ended there is no command.
func TestEnded(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.RunQueue: 42})
	m.Service, m.Counted, m.Report.Wall = service.Service{Kind: service.Process, Name: "x", PID: 1}, true, 10
	m.Takers = []Taker{{Taker: proc.Taker{Name: "cc1", Processes: 40, Seconds: 30}}}
	l := find(t, m.Levers(), lever.Neighbour)
	if l.Next.Command != "" || !strings.Contains(l.Why(), "cc1 (of processes that have ended)") {
		t.Errorf("%q, %s", l.Next.Command, l.Why())
	}
}

// TestHardlyActive: whatever a service could save that hardly works is not worth while.
func TestHardlyActive(t *testing.T) {
	for wall, want := range map[float64]lever.Verdict{60: lever.Worthwhile, 60_000: lever.Possible} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.LogWait: 80})
		m.Report.Wall = wall
		testkit.Is(t, want, find(t, m.Levers(), lever.Log).Verdict, "active for 100 s of", wall)
	}
}

// TestQuotaBound: a service that a quota stops for a third of the time does what it does in two thirds all the while
// without it, and no more, though its only thread waits for most of its active time.
func TestQuotaBound(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 12, explain.RunQueue: 22})
	m.Connected, m.Counted, m.Alone, m.Report.Wall = false, true, true, 60
	m.Service = service.Service{Kind: service.Process, Name: "redis", PID: 1}
	m.Throttled, m.Quota, m.Host.CPUs = new(20.0), &service.Quota{File: "/sys/fs/cgroup/x/cpu.max", CPUs: 0.2, Period: 0.1}, 2
	if l := find(t, m.Levers(), lever.Quota); *l.AtMost < 1./3 || *l.AtMost > 0.64 {
		t.Errorf("at most %.2f", *l.AtMost)
	}
	m.Throttled = new(90.0) // on both CPUs
	if l := find(t, m.Levers(), lever.Quota); *l.AtMost < 0.6 {
		t.Errorf("on two CPUs at most %.2f", *l.AtMost)
	}
}

// TestCPUSet: no affinity gives a service CPUs that its cpuset keeps from it, so that the step widens the cpuset.
func TestCPUSet(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 50, explain.RunQueue: 50})
	m.Service.Kind, m.Service.PID = service.Process, 7
	m.Host.CPUs, m.Host.Allowed, m.Host.Sets = 4, 1, []string{"/sys/fs/cgroup/a/cpuset.cpus", "/sys/fs/cgroup/a/b/cpuset.cpus"}
	l := find(t, m.Levers(), lever.CPUs)
	testkit.Is(t, "echo 0-3 | sudo tee /sys/fs/cgroup/a/cpuset.cpus /sys/fs/cgroup/a/b/cpuset.cpus", l.Next.Command, "step")
	testkit.Is(t, "let it use all CPUs, as it may use 1 of 4 by its cpuset", m.act(&l), "words")
}

// TestLimitOfMemory: a service that reached a limit of its memory reads again what it had, and no faster disk is the remedy.
func TestLimitOfMemory(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.DataReads: 60, explain.OtherWaits: 20})
	m.Memory = &service.Ceiling{File: "/sys/fs/cgroup/x/memory.max", Bytes: 64 << 20, Hits: 12}
	all := m.Levers()
	if l := all[0]; l.Name != lever.Memory || *l.AtMost < 0.99 || l.Next.Command != "echo 134217728 | sudo tee /sys/fs/cgroup/x/memory.max" {
		t.Errorf("first %s, at most %v, %q", l.Name, l.AtMost, l.Next.Command)
	}
	testkit.Is(t, 0, *find(t, all, lever.Data).Estimate, "faster disks could save")
}

// TestSoftLimitOfMemory: who is above memory.high waits on its way out of the kernel, which no wait of a database's own
// tells: what nothing explains is as likely as tasks were stalled on memory.
func TestSoftLimitOfMemory(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 30, explain.Unexplained: 70})
	m.Connected, m.Memory = true, &service.Ceiling{File: "/sys/fs/cgroup/x/memory.high", Bytes: 64 << 20, Hits: 900}
	m.Readings = []service.Reading{{At: 60, Stalled: map[string]float64{"memory": 100}}}
	l := find(t, m.Levers(), lever.Memory)
	if l.Estimate == nil || *l.Estimate < 0.4 || *l.AtMost < 0.7 || l.Next.Command != "echo 134217728 | sudo tee /sys/fs/cgroup/x/memory.high" {
		t.Errorf("likely %v, at most %v, %q", l.Estimate, l.AtMost, l.Next.Command)
	}
}

// What process 1 adopted is no more than nobody else took.
func TestAdopted(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10})
	m.Host.CPUs, m.Host.Foreign = 2, new(0.5)
	m.Takers = []Taker{{Taker: proc.Taker{Name: "systemd", PID: 1, Seconds: 500}}, {Taker: proc.Taker{Name: "go", PID: 7, Seconds: 40}}}
	m.adopted()
	testkit.Is(t, 7, m.Takers[0].PID, "the largest")
	testkit.Is(t, 20, m.Takers[1].Seconds, "s of process 1")
}
