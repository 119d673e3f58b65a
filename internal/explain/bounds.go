package explain

import (
	"cmp"
	"slices"
	"strconv"
)

func trim(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// The levers. Their names are in JSON.
const (
	LogDevice   = "log_device"
	DataStorage = "data_storage"
	Processor   = "processor"
	MoreCPUs    = "more_cpus"
	LockDesign  = "locks"
	AppTier     = "application"
)

// levers are what could be changed, and the part that each touches. The application's, which
// takes none of the database's time, comes last.
var levers = []struct {
	name string
	part PartName
}{
	{LogDevice, LogWait}, {Processor, DatabaseCPU}, {MoreCPUs, RunQueue}, {DataStorage, DataReads}, {LockDesign, Locks},
	{AppTier, Application},
}

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

// Bounds are what each lever could give at most, as shares of busy time: of that within
// transactions. What is unexplained might belong to any part that was sampled, so it
// counts for those. CPU time and waits for a CPU that a part brings along go away with it.
// Waits for locks may go with any other part: a commit on a slow log
// device holds its locks for longer, so that a faster one shortens also the waits of
// others for them. They count up to what the part itself takes, once for each other
// session: where work waits in turn, taking a second out of one's turn brings nobody on by
// more than a second (Baccelli and others, Synchronization and Linearity, 1992: such
// systems do not expand). Most likely waits for locks shrink as the time does for which
// they are held.
//
// The lever that touches most of the database's time comes first; the application's, which
// takes none of it, last.
func Bounds(r *Report) (out []Bound) {
	for _, lever := range levers {
		p := r.Part(lever.part)
		if lever.part == RunQueue && p.Source == "" {
			continue // not seen
		}
		b := Bound{Lever: lever.name, Parts: []PartName{lever.part}, Behind: []PartName{}, Seconds: p.Seconds}
		high, rest, likely := p.Share.High*r.Elapsed, 0.0, p.Seconds+p.Within
		if p.Share.High > p.Share.Low {
			if rest = r.Part(Unexplained).Seconds; lever.part != Application {
				rest = max(0, rest-r.Untold) // they waited for their clients
			}
		}
		if lever.part == LogWait || lever.part == DataReads {
			high += min(r.Part(DatabaseCPU).Seconds, aftermath*r.waits(lever.part))
		}
		if lever.name != LockDesign {
			b.Behind = append(b.Behind, Locks)
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
		switch {
		case r.Busy <= 0 && r.Hidden:
			b.Reason = "no active session was seen"
		case r.Busy <= 0:
			b.Reason = "nothing ran"
		default:
			b.Share, b.AtMost = min(1, p.Seconds/r.Busy), min(1, (high+rest)/r.Busy)
			b.Likely = min(b.AtMost, likely/r.Busy)
			cycle := r.Busy / r.Elapsed
			b.CycleLikely, b.CycleAtMost = b.Likely*cycle, b.AtMost*cycle
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out[:len(out)-1], func(a, b Bound) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out
}
