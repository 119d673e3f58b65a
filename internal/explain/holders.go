package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Paused is the session that sat still within a transaction while others waited for its locks, and how long they did,
// s. A client that pauses for moments, as between two statements, is none: another one holds at the next look, or it
// works at most.
func (r *Report) Paused() (holder Blocker, seconds float64) {
	locks := r.Part(Locks).Seconds
	for _, b := range r.Blockers {
		all, client, _ := r.heldBy(b.PID)
		if b.Part == Application && b.Held >= half && b.PID != 0 && often(b, b.Held) && client >= all/2 {
			if seconds == 0 {
				holder = b
			}
			seconds += b.Share.Value * locks
		}
	}
	return holder, min(seconds, locks)
}

// often reports that a share of a kind of holders was seen at three looks or more.
func often(b Blocker, share float64) bool { return share*float64(b.Share.N) >= 3 }

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
		Step:     "let no transaction wait for anything while it holds locks that others want" + r.end(most)}
	doing := "for its client"
	if most.Part == OtherWaits {
		doing = "as " + most.Event
	}
	f.Text = fmt.Sprintf("%s of active time goes to locks whose holder waits itself (%s), and to that wait",
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
		if b.PID == 0 || b.Event == Deadlocked || b.Held < half || !often(b, b.Held) || client+other >= all/2 || r.Busy <= 0 {
			continue
		}
		seconds := min(1, all) * locks.Seconds
		f = Finding{Parameter: Keeper, Part: Locks, Number: seconds, Unit: "s", N: int64(b.Share.N),
			Explains: result.Finite(min(1, seconds/r.Busy)),
			AtMost:   result.Finite(min(1, max(seconds, r.Highest(Locks, DatabaseCPU, RunQueue))/r.Busy)),
			Step:     "have it take its locks as late as it can, or commit more often" + r.end(b)}
		f.Text = fmt.Sprintf("%s of active time goes to waits for locks that one session holds while it works: %s",
			result.Share(*f.Explains), b.Who())
		return f, true
	}
	return f, false
}

// Deadlocked is what a holder does that waits for the one that waits for it.
const Deadlocked = "each waits for the other"

// Prepared is what PostgreSQL says holds a lock that is no session's: a transaction of two phases.
const Prepared = "prepared transaction"

// end is a clause with the SQL that ends the session which others wait for. It is "" where the vendor has no such
// statement, or the session holds no lock any more.
func (r *Report) end(b Blocker) string {
	if b.PID == 0 && b.Event == Prepared {
		return "; select gid, owner, prepared from pg_prepared_xacts shows them, and rollback prepared 'GID' or commit prepared 'GID' ends one"
	}
	verb := map[string]string{"PostgreSQL": "select pg_terminate_backend(%d)", "MariaDB": "kill %d", "MySQL": "kill %d"}
	if !b.Still || b.Held < half || verb[r.Vendor] == "" {
		return ""
	}
	return "; to end this one now: " + fmt.Sprintf(verb[r.Vendor], b.PID)
}

// Idler says how long sessions wait for one that sits still within a transaction, and how to end that.
func (r *Report) Idler(b Blocker, share float64) (text, step string) {
	return fmt.Sprintf("sessions wait %s of active time for locks of session %d, which is idle in a transaction",
		result.Share(share), b.PID), "have its client end the transaction" + r.end(b)
}

// Confide takes out what a file for others must not hold: texts of statements, and addresses of clients.
func (r *Report) Confide() {
	for i := range r.Statements {
		r.Statements[i].Text = ""
	}
	for i := range r.Blockers {
		r.Blockers[i].Client = ""
	}
}

// Who names the holder as a person finds it.
func (b *Blocker) Who() string { return b.of("session " + strconv.FormatInt(b.PID, 10)) }

// All names the sessions that held in turn; "": they have no user and application in common.
func (b *Blocker) All() string {
	if !b.Alike || b.Sessions < 2 || b.User == "" && b.Application == "" {
		return ""
	}
	all := *b
	all.Client = "" // of one of them
	return all.of(screen.Count(b.Sessions, "session"))
}

func (b *Blocker) of(s string) string {
	for _, x := range [][2]string{{" of user ", b.User}, {", application ", b.Application}, {", client ", b.Client}} {
		if x[1] != "" {
			s += x[0] + x[1]
		}
	}
	return s
}

// Waiter is a session that waits for locks of others, as a server tells it.
type Waiter struct {
	Relation string
	By       []int64
}

// Chains follows each waiter to who holds at the end. holders are all sessions that anybody waits for, by their
// numbers. Who is not among them has ended meanwhile, or does not show: its part is Unexplained.
func Chains(waiters map[int64]Waiter, holders map[int64]Holder) (out []Block) {
	for id, w := range inOrder(waiters, cmp.Compare[int64]) {
		seen, at, depth := map[int64]bool{id: true}, w, 0
		for len(at.By) > 0 {
			depth++
			// who waits for nobody holds it, and others queue before this one
			next := slices.MinFunc(at.By, func(a, b int64) int {
				return cmp.Or(cmp.Compare(len(waiters[a].By), len(waiters[b].By)), cmp.Compare(a, b))
			})
			further, waits := waiters[next]
			switch {
			case seen[next]:
				out = append(out, Block{Holder: Holder{PID: next, Part: Locks, Event: Deadlocked},
					Relation: w.Relation, Depth: depth})
			case !waits || len(further.By) == 0:
				h, there := holders[next]
				if !there {
					h = Holder{PID: next, Part: Unexplained, Event: "not seen"}
				}
				out = append(out, Block{Holder: h, Relation: w.Relation, Depth: depth})
			default:
				seen[next], at = true, further
				continue
			}
			break
		}
	}
	return out
}
