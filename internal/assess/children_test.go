package assess

import (
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// A wait for a child counts where the child does nothing that counts itself, and where the parent works at all.
func TestChildren(t *testing.T) {
	asleep, computes := waits.Wait{Kind: waits.Child, On: "sleep", Does: waits.Sleep}, waits.Wait{Kind: waits.Child, On: "gzip", Does: waits.Running}
	running := waits.Wait{Kind: waits.Running}
	b := blocked{tally: &waits.Tally{N: 9, Looks: map[waits.Thread]map[waits.Wait]float64{
		{PID: 1, TID: 1}: {running: 1, asleep: 7, computes: 2}, {PID: 2, TID: 2}: {asleep: 60}}}}
	testkit.Same(t, &Child{"sleep", waits.Sleep, 7}, b.child())
	testkit.Is(t, true, (&blocked{tally: &waits.Tally{}}).child() == nil, "none")
	for _, p := range b.parts(false) {
		if p.Name == explain.OtherWaits {
			testkit.Is(t, 7, p.Seconds)
		}
	}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 30, explain.OtherWaits: 70})
	m.Connected, m.Service.Name, m.Child = false, "shop", &Child{"sleep", waits.Sleep, 0.7 * m.Report.Busy}
	testkit.Is(t, "shop waits 70 % of its active time for programs that it starts, most of all for sleep, which sleeps", m.parents()[0].Text)
	testkit.Has(t, m.parents()[0].Step, "no platform")
	of := func(name string, seconds float64) *Minute { return &Minute{Child: &Child{name, waits.Sleep, seconds}} }
	testkit.Same(t, &Child{"sleep", waits.Sleep, 12}, childOf([]*Minute{of("sleep", 3), of("tar", 5), {}, of("sleep", 4)}))
	testkit.Is(t, true, childOf([]*Minute{{}}) == nil, "none")
}
