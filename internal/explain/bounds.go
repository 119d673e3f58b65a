package explain

import "strconv"

func trim(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// aftermath is what a wait for a device takes of a CPU beyond its call, s, at most: waking up,
// and filling caches that others have used meanwhile. Chosen so that bounds hold in bench/live.
const aftermath = 20e-6

// waits are those of a part, as far as they were counted.
func (r *Report) waits(part PartName) (n float64) {
	for _, e := range r.Events {
		if e.Part == part {
			n += float64(max(0, e.Count))
		}
	}
	return n
}

// Saving is what a part's end would give, as shares of busy time, 0 to 1.
type Saving struct {
	Share  float64 // that it takes
	Likely float64 // gain, if it took no time at all
	AtMost float64 // the same, upper end of its interval
}

// Saving is what could be gained at most if a part took no time: of that within
// transactions. What is unexplained might belong to any part that was sampled, so it
// counts for those. CPU time and waits for a CPU that a part brings along go away with it.
// Waits for locks may go with any other part: a commit on a slow log
// device holds its locks for longer, so that a faster one shortens also the waits of
// others for them. They count up to what the part itself takes, once for each other
// session: where work waits in turn, taking a second out of one's turn brings nobody on by
// more than a second (Baccelli and others, Synchronization and Linearity, 1992: such
// systems do not expand). Most likely waits for locks shrink as the time does for which
// they are held.
func (r *Report) Saving(part PartName) (s Saving) {
	if r.Busy <= 0 {
		return s
	}
	p := r.Part(part)
	high, rest, likely := p.Share.High*r.Elapsed, 0.0, p.Seconds+p.Within
	if p.Share.High > p.Share.Low {
		if rest = r.Part(Unexplained).Seconds; part != Application {
			rest = max(0, rest-r.Untold) // they waited for their clients
		}
	}
	if part == LogWait || part == DataReads {
		high += min(r.Part(DatabaseCPU).Seconds, aftermath*r.waits(part))
	}
	if part != Locks {
		behind := r.Part(Locks)
		held, locks := r.Busy-behind.Seconds-behind.Within, behind.Share.High*r.Elapsed
		if held > 0 {
			likely *= 1 + (behind.Seconds+behind.Within)/held
		}
		switch { // sessions besides one
		case r.Peak > 0:
			locks = min(locks, float64(r.Peak-1)*(high+rest))
		case r.Wall > 0: // samples too few to see one at work
			locks = min(locks, max(1, r.Busy/r.Wall)*(high+rest))
		}
		high += locks
	}
	s.Share, s.AtMost = min(1, p.Seconds/r.Busy), min(1, (high+rest)/r.Busy)
	s.Likely = min(s.AtMost, likely/r.Busy)
	return s
}
