package postgres

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// waits are findings that follow from events alone: what sessions wait for that no lever moves.
func (f *findings) waits() []func() (explain.Finding, bool) {
	return []func() (explain.Finding, bool){f.deadlocks, f.vacuumDelay, f.unnamed, f.readers}
}

// most is the event of a part that begins so with most time, and the time of all such, s.
func (f *findings) most(part explain.PartName, begins string) (event string, seconds float64) {
	for _, e := range f.Events { // the longest first
		if rest, is := strings.CutPrefix(strings.ToLower(e.Name), strings.ToLower(begins)); is && e.Part == part {
			if seconds += e.Seconds; event == "" {
				event = e.Name[len(e.Name)-len(rest):]
			}
		}
	}
	return event, seconds
}

// deadlocks: sessions that wait for each other do so until deadlock_timeout is over.
func (f *findings) deadlocks() (x explain.Finding, ok bool) {
	x = f.set("deadlock_timeout", explain.Locks)
	i := slices.IndexFunc(f.Blockers, func(b explain.Blocker) bool { return b.Event == explain.Deadlocked })
	if i < 0 {
		return x, false
	}
	b := f.Blockers[i]
	x.Number, x.Unit, x.N = b.Share.Value, "of lock waits", int64(b.Share.N)
	seconds := b.Share.Value * f.Part(explain.Locks).Seconds
	x.Explains, x.AtMost, x.Plain = f.share(seconds), f.upTo(seconds, explain.Locks), b.Share.Value >= 0.5
	where := ""
	if b.Relation != "" {
		where = " on " + b.Relation
	}
	x.Text = fmt.Sprintf("in %s of lock waits sessions wait for each other%s (deadlocks), until %s ends one of them",
		result.Share(b.Share.Value), where, now(x))
	x.Step = "have all transactions take their locks in one order; the server's log shows the statements"
	return x, true
}

// vacuumDelay: a VACUUM of a session sleeps so that others get on.
func (f *findings) vacuumDelay() (x explain.Finding, ok bool) {
	x = f.set("vacuum_cost_delay", explain.OtherWaits)
	seconds := f.in("Timeout:VacuumDelay")
	x.Number, x.Unit, x.N = seconds, "s", -1
	x.Explains, x.AtMost, x.Whole = f.share(seconds), f.upTo(seconds, explain.OtherWaits, explain.RunQueue), true
	x.Text = fmt.Sprintf("sessions that vacuum sleep %s of active time, as %s has them", result.Share(*x.Explains), now(x))
	x.Step = "where they are to be faster: set vacuum_cost_delay = 0 in their sessions, or " + alter("vacuum_cost_delay", "0")
	return x, seconds > 0
}

// unnamed: the server has no name for the wait, as that for who reads its log.
func (f *findings) unnamed() (x explain.Finding, ok bool) {
	x = explain.Finding{Parameter: "waits without an event", Part: explain.OtherWaits}
	what, seconds := f.most(explain.OtherWaits, Unnamed)
	x.Number, x.Unit, x.N = seconds, "s", -1
	x.Explains, x.AtMost, x.Whole = f.share(seconds), f.upTo(seconds, explain.OtherWaits, explain.RunQueue, explain.Unexplained), true
	x.Text = fmt.Sprintf("sessions wait %s of active time without an event, mostly for %s",
		result.Share(*x.Explains), screen.Clean(what))
	x.Step = "see which statements do that and what they call (hostlab assess --texts --all)"
	if strings.HasPrefix(what, "a write to a pipe") {
		x.Step = "have that read faster, or write less there, as the server's log goes to standard error " +
			"(log_statement, log_min_duration_statement)"
	}
	return x, seconds > 0 && what != Page
}

// readers: a client takes its rows slowly.
func (f *findings) readers() (x explain.Finding, ok bool) {
	x = explain.Finding{Parameter: "clients that read slowly", Part: explain.Application, Elsewhere: true}
	seconds := f.in("Client:ClientWrite")
	x.Number, x.Unit, x.N = seconds, "s", -1
	x.Explains, x.AtMost, x.Whole = f.share(seconds), f.upTo(seconds, explain.Application, explain.RunQueue), true
	x.Text = fmt.Sprintf("sessions wait %s of active time until their clients read what they have sent",
		result.Share(*x.Explains))
	x.Step = "have clients read faster, or ask for less"
	return x, seconds > 0
}
