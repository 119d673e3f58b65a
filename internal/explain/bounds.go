package explain

import (
	"math"
	"strconv"

	"hostlab/internal/result"
)

func trim(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// aftermath is what a wait for a device takes of a CPU beyond its call, s, at most: waking up,
// and filling caches that others have used meanwhile. Chosen so that bounds hold in bench/live.
const aftermath = 20e-6

// flush is the same of a sync of the log, s: the file system's and the device's part of it run on a CPU, too. Chosen so
// that bounds hold in bench/causes.
const flush = 60e-6

// called is the share of a service's CPU time that its waits for a device may bring along, at most as long as those last.
// Chosen so that bounds hold in bench/causes.
const called = 0.5

// waits are those of a part, as far as they were counted.
func (r *Report) waits(part PartName) (n float64) {
	for _, e := range r.Events {
		if e.Part == part {
			n += float64(max(0, e.Count))
		}
	}
	return n
}

// Highest is how long parts took at most, s.
func (r *Report) Highest(parts ...PartName) (seconds float64) {
	for _, p := range parts {
		seconds += r.Part(p).Share.High * r.Elapsed
	}
	return seconds
}

// sleeps are events of statements that only let time pass.
var sleeps = map[string]bool{"Timeout:PgSleep": true, "User sleep": true}

// Slept is the share of other waits that were sleeps, which no device ends.
func (r *Report) Slept() float64 {
	slept := 0.0
	for _, e := range r.Events {
		if e.Part == OtherWaits && sleeps[e.Name] {
			slept += e.Seconds
		}
	}
	return min(1, slept/max(r.Part(OtherWaits).Seconds, 1e-9))
}

// Saving is what a part's end would give, as shares of busy time, 0 to 1.
type Saving struct {
	Share  float64 // that it takes
	Low    float64 // lower end of Likely's interval
	Likely float64 // gain, if it took no time at all
	AtMost float64 // the same, upper end of its interval
}

// Ends say which share of a part's time likely goes away with the time that is to be saved, and at most which. known is
// false where nobody has followed its waits.
type Ends func(part PartName) (likely, most result.Estimate, known bool)

// Saving is what could be gained at most if a part took no time: of that within transactions. What is unexplained might
// belong to any part that was sampled, so it counts for those. CPU time and waits for a CPU that a part brings along go
// away with it. Other waits go as far as they end with it: ends tell.
//
// Where they do not, waits for locks may go with any other part: a commit on a slow log device holds its locks for
// longer, so that a faster one shortens also the waits of others for them. They count up to what the part itself takes,
// once for each other session: where work waits in turn, taking a second out of one's turn brings nobody on by more
// than a second (Baccelli and others, Synchronization and Linearity, 1992: such systems do not expand). Most likely
// waits for locks shrink as the time does for which they are held.
func (r *Report) Saving(part PartName, ends Ends) (s Saving) {
	if r.Busy <= 0 {
		return s
	}
	p := r.Part(part)
	low, likely, high, rest := p.Share.Low*r.Elapsed, p.Seconds, p.Share.High*r.Elapsed, 0.0
	centre, off := p.Seconds, high-p.Seconds // of what is known, and how far its interval goes
	if p.Share.High > p.Share.Low {
		if rest = r.Part(Unexplained).Seconds; part != Application {
			rest = max(0, rest-r.Untold) // they waited for their clients
		}
	}
	if ends == nil {
		ends = func(PartName) (likely, most result.Estimate, known bool) { return likely, most, false }
	}
	if share, _, known := ends(part); known {
		low, likely = low*share.Low, likely*share.Value
	}
	likely += p.Within
	more := 0.0
	switch part {
	case LogWait:
		more = min(r.Part(DatabaseCPU).Seconds, flush*r.waits(part), max(p.Seconds, aftermath*r.waits(part)))
	case DataReads:
		more = min(r.Part(DatabaseCPU).Seconds, aftermath*r.waits(part))
	}
	if (part == LogWait || part == DataReads) && len(r.Events) == 0 { // nobody counted its waits
		more = min(called*r.Part(DatabaseCPU).Seconds, p.Seconds)
	}
	direct := high + more + rest
	for _, q := range r.Parts {
		if q.Name == part || q.Name == Idle || q.Name == DatabaseCPU || q.Name == Unexplained {
			continue
		}
		if q.Name == RunQueue { // a wait for a device brings one for a CPU along
			if _, upTo, known := ends(q.Name); known && (part == LogWait || part == DataReads) {
				centre, off = centre+q.Seconds*upTo.Value, math.Hypot(off, q.Share.High*r.Elapsed*upTo.High-q.Seconds*upTo.Value)
			}
			continue
		}
		most := q.Share.High * r.Elapsed
		switch share, upTo, known := ends(q.Name); {
		case known:
			low, likely = low+q.Share.Low*r.Elapsed*share.Low, likely+q.Seconds*share.Value
			centre += q.Seconds * upTo.Value
			off = math.Hypot(off, most*upTo.High-q.Seconds*upTo.Value) // errors of parts are independent
		case q.Name == Locks:
			if held := r.Busy - q.Seconds - q.Within; held > 0 {
				likely *= 1 + (q.Seconds+q.Within)/held
			}
			switch { // sessions besides one
			case r.Peak > 0:
				most = min(most, float64(r.Peak-1)*direct)
			case r.Wall > 0: // samples too few to see one at work
				most = min(most, max(1, r.Busy/r.Wall)*direct)
			}
			rest += most
		}
	}
	s.Share, s.AtMost = min(1, p.Seconds/r.Busy), min(1, (centre+off+more+rest)/r.Busy)
	s.Likely = min(s.AtMost, likely/r.Busy)
	s.Low = min(s.Likely, low/r.Busy)
	return s
}
