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

// levers are what could be changed: by name, for people, and the part that each touches.
// The application's, which takes none of the database's time, comes last.
var levers = []struct {
	name, title, what string
	part              PartName
}{
	{LogDevice, "faster log device", "persistent memory, another disk, fewer commits", LogWait},
	{Processor, "faster processor", "clock, power policy, better plans", DatabaseCPU},
	{MoreCPUs, "more CPUs", "for those that are ready to run", RunQueue},
	{DataStorage, "faster data disks", "or more memory for the cache", DataReads},
	{LockDesign, "fewer lock waits", "order and length of transactions", Locks},
	{AppTier, "application tier", "its code, its host, the network", Application},
}

// leverTitle is a lever's name for people, and what it is.
func leverTitle(name string) (title, what string) {
	for _, l := range levers {
		if l.name == name {
			return l.title, l.what
		}
	}
	return name, ""
}

// Bounds are what each lever could give at most, as shares of busy time: of that within
// transactions. What is unexplained might belong to any part that was sampled, so it
// counts for those. Waits for locks may go with any other part: a commit on a slow log
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
		high, rest, likely := p.Share.High*r.Elapsed, 0.0, p.Seconds
		if p.Share.High > p.Share.Low {
			rest = r.Part(Unexplained).Seconds
		}
		if lever.name != LockDesign {
			b.Behind = append(b.Behind, Locks)
			held, locks := r.Busy-r.Part(Locks).Seconds, r.Part(Locks).Share.High*r.Elapsed
			if held > 0 {
				likely += r.Part(Locks).Seconds * p.Seconds / held
			}
			if r.Peak > 0 {
				locks = min(locks, float64(r.Peak-1)*(high+rest))
			}
			high += locks
		}
		switch {
		case r.Busy <= 0 && r.Hidden:
			b.Reason = "no session was seen that did anything"
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
