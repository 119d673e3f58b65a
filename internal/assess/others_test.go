package assess

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// TestOthers: who reads a full pipe is named, and who holds the lock of a file at three looks or more.
func TestOthers(t *testing.T) {
	b := blocked{tally: &waits.Tally{Looks: map[waits.Thread]map[waits.Wait]float64{
		{PID: 1, TID: 1}: {{Kind: waits.Push, On: "pipe:[7]"}: 40, {Kind: waits.Lock}: 60, {Kind: waits.Lock, On: "/a/lock"}: 30,
			{Kind: waits.Write, On: "/a/fifo"}: 20, {Kind: waits.Write, On: "/a/file", Blocked: true}: 90},
	}}, holders: map[program]*held{{"flock", 1}: {pid: 8, looks: 5, several: true}, {"x", 1}: {pid: 9, looks: 1}}}
	testkit.Same(t, Other{On: "pipe:[7]", Seconds: 40}, b.longest(b.pushes), "written to")
	testkit.Is(t, true, b.pushes(waits.Wait{Kind: waits.Write, On: "/a/fifo"}), "a FIFO is written to")
	o := b.keeper(nil)
	testkit.Same(t, []any{"/a/lock", 30., 5, 6}, []any{o.On, o.Seconds, o.Held, o.Looks}, "lock, its time, and who holds it")

	testkit.Is(t, true, strings.HasPrefix(o.called(), "flock (processes that ") && strings.HasSuffix(o.called(), ", PID 1, starts)"), o.called())

	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.OtherWaits: 40, explain.Locks: 40})
	m.Connected, m.Service.Name = false, "writer"
	m.Reader = &Other{On: "pipe", PID: 8, Name: "gzip", Seconds: 40}
	m.Keeper = &Other{On: "/a/lock", PID: 9, Name: "python3", Script: "job.py", Seconds: 40, Looks: 6, Held: 5}
	want := "writer waits 40 % of its active time until gzip (PID 8) takes what it writes to a pipe"
	if f := m.pushes()[0]; f.Text != want || !strings.HasSuffix(f.Step, "run 'hostlab assess --service pid:8'") || *f.AtMost < 0.4 {
		t.Errorf("%+v", f)
	}
	want = "writer waits 40 % of its active time for the lock of /a/lock, held by python3 job.py (PID 9); that held it at 5 of 6 looks"
	if f := m.queues()[0]; f.Says() != want || *f.AtMost < 0.4 {
		t.Errorf("%+v", f)
	}
	m.Ender = &Other{On: "slept", PID: 9, Name: "python3", Script: "job.py", Seconds: 40}
	testkit.Is(t, 0, len(m.ender()), "a file's lock says more")
	if m.Keeper.Held = 2; m.queues() != nil {
		t.Error("two looks say nothing of others")
	}
	want = "writer waits 40 % of its active time for locks until python3 job.py (PID 9) lets them go, which slept meanwhile"
	if f := m.ender(); len(f) != 1 || f[0].Text != want || *f[0].AtMost < 0.4 {
		t.Errorf("%+v", f)
	}
}

// Who took more than all CPUs give had waited for programs that ran before.
func TestPlausible(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10})
	m.Host.CPUs = 2
	taker := func(name string, seconds float64) Taker {
		return Taker{Taker: proc.Taker{Name: name, Seconds: seconds}}
	}
	m.Takers = []Taker{taker("bash", 2.5*m.Report.Wall), taker("gzip", 1.9*m.Report.Wall)}
	m.plausible()
	testkit.Is(t, 1, len(m.Takers), "one is left")
	testkit.Is(t, "gzip", m.Takers[0].Name)
	testkit.Has(t, strings.Join(m.Report.Missing, ";"), "how much of the CPUs bash took")
}
