package explain

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/result"
)

// Paused is the session that sat still within a transaction while others waited for its locks, and how long they did,
// s. A client that pauses for moments, as between two statements, is none: another one holds at the next look, or it
// works at most.
func (r *Report) Paused() (holder Blocker, seconds float64) {
	locks := r.Part(Locks).Seconds
	for _, b := range r.Blockers {
		all, client, _ := r.heldBy(b.PID)
		if b.Part == Application && b.Held >= half && b.PID != 0 && r.often(b, b.Held) && client >= all/2 {
			if seconds == 0 {
				holder = b
			}
			seconds += b.Share.Value * locks
		}
	}
	return holder, min(seconds, locks)
}

// often reports that a share of a kind of holders was seen at three looks or more: each look sees all who wait.
func (r *Report) often(b Blocker, share float64) bool {
	waiters := 1.0
	if r.Wall > 0 {
		waiters = max(1, r.Part(Locks).Seconds/r.Wall)
	}
	return share*float64(b.Share.N) >= 3*waiters
}

// heldBy is the share of lock waits in which a session held, and of that in which it waited meanwhile: for its client,
// or otherwise, but for those that compute for it.
func (r *Report) heldBy(pid int64) (all, client, other float64) {
	for _, b := range r.Blockers {
		share := b.Share.Value * b.Held
		switch {
		case b.PID != pid:
			continue
		case b.Part == Application:
			client += share
		case b.Part == OtherWaits && !strings.HasPrefix(b.Event, "IPC:Execute"):
			other += share
		}
		all += share
	}
	return all, client, other
}

// Holding is the finding that sessions wait for locks whose holders wait themselves, for their clients or otherwise: no
// platform shortens that. Who sat still all the while is Paused, and none of these.
func (r *Report) Holding() (f Finding, found bool) {
	locks, most := r.Part(Locks), Blocker{}
	still, _ := r.Paused()
	share := 0.0
	for _, b := range r.Blockers {
		if b.Part != Application && b.Part != OtherWaits || still.PID != 0 && b.PID == still.PID {
			continue
		}
		if share += b.Share.Value; most.Event == "" {
			most = b
		}
	}
	if share <= 0 || r.Busy <= 0 {
		return f, false
	}
	seconds, high := min(1, share)*locks.Seconds, 0.0
	for _, own := range []PartName{Application, OtherWaits} { // what holders wait for themselves goes, too
		if slices.ContainsFunc(r.Blockers, func(b Blocker) bool { return b.Part == own }) {
			seconds += r.Part(own).Seconds
			high += r.Part(own).Share.High * r.Elapsed
		}
	}
	for _, brought := range []PartName{RunQueue, Unexplained} { // each wait's end may wait for a CPU
		high += r.Part(brought).Share.High * r.Elapsed
	}
	f = Finding{Parameter: "transactions that hold locks", Part: Locks, Number: seconds, Unit: "s", N: int64(most.Share.N),
		Explains: result.Finite(min(1, seconds/r.Busy)),
		AtMost:   result.Finite(min(1, max(seconds, high+locks.Share.High*r.Elapsed)/r.Busy)),
		Step:     "have a transaction wait for nothing once it holds locks that others want"}
	doing := "waits for its client"
	if most.Part == OtherWaits {
		doing = "shows as " + most.Event
	}
	f.Text = fmt.Sprintf("%s of active time goes to locks whose holder waits itself, and to that wait: it %s",
		result.Share(*f.Explains), doing)
	return f, true
}

// Keeper is the name of the finding of Keeping.
const Keeper = "session that holds locks"

// Keeping is the finding that sessions wait for the locks of one that works meanwhile: what it does within its
// transaction is long.
func (r *Report) Keeping() (f Finding, found bool) {
	locks := r.Part(Locks)
	for _, b := range r.Blockers {
		all, client, other := r.heldBy(b.PID)
		if b.PID == 0 || b.Held < half || !r.often(b, b.Held) || client+other >= all/2 || r.Busy <= 0 {
			continue
		}
		seconds := min(1, all) * locks.Seconds
		f = Finding{Parameter: Keeper, Part: Locks, Number: seconds, Unit: "s", N: int64(b.Share.N),
			Explains: result.Finite(min(1, seconds/r.Busy)),
			AtMost:   result.Finite(min(1, max(seconds, r.Highest(Locks, DatabaseCPU, RunQueue))/r.Busy)),
			Step:     "have it take its locks as late as it can, or commit more often"}
		f.Text = fmt.Sprintf("%s of active time goes to waits for locks that one session holds while it works: %s",
			result.Share(*f.Explains), b.Who())
		return f, true
	}
	return f, false
}
