package explain

import "strconv"

func trim(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// The levers. Their names are in JSON.
const (
	LogDevice   = "log_device"
	DataStorage = "data_storage"
	Processor   = "processor"
	MoreCPUs    = "more_cpus"
	LockDesign  = "locks"
	AppTier     = "application"
)

// LeverTitle is a lever's name for people, and what it is.
func LeverTitle(lever string) (title, what string) {
	switch lever {
	case LogDevice:
		return "faster log device", "persistent memory, another disk, fewer commits"
	case DataStorage:
		return "faster data disks", "or more memory for the cache"
	case Processor:
		return "faster processor", "clock, power policy, better plans"
	case MoreCPUs:
		return "more CPUs", "for those that are ready to run"
	case LockDesign:
		return "fewer lock waits", "order and length of transactions"
	case AppTier:
		return "application tier", "its code, its host, the network"
	}
	return lever, ""
}

// Bounds are what each lever could give at most, as shares of busy time. What is
// unexplained might belong to any part that was sampled, so it counts for those. Waits
// for locks may go with any other part: a commit on a slow log device holds its locks
// for longer, so that a faster one shortens also the waits of others for them. They
// count up to what the part itself takes, once for each other session: where work waits
// in turn, taking a second out of one's turn brings nobody on by more than a second
// (Baccelli and others, Synchronization and Linearity, 1992: such systems do not expand).
func Bounds(r *Report) (out []Bound) {
	for _, lever := range []struct {
		name  string
		parts []PartName
		event string
	}{
		{LogDevice, []PartName{LogWait}, ""},
		{Processor, []PartName{DatabaseCPU}, ""},
		{MoreCPUs, nil, CPUQueue},
		{DataStorage, []PartName{DataReads}, ""},
		{LockDesign, []PartName{Locks}, ""},
		{AppTier, []PartName{Application}, ""},
	} {
		b := Bound{Lever: lever.name, Parts: lever.parts, Event: lever.event}
		if b.Parts == nil {
			b.Parts = []PartName{}
		}
		var seconds, high, rest float64
		for _, name := range lever.parts {
			p := r.Part(name)
			seconds, high = seconds+p.Seconds, high+p.High*r.Elapsed
			if p.High > p.Low {
				rest = r.Part(Unexplained).Seconds
			}
		}
		b.Behind = []PartName{}
		if lever.name != LockDesign && lever.event == "" {
			b.Behind = append(b.Behind, Locks)
			locks := r.Part(Locks).High * r.Elapsed
			if r.Peak > 0 {
				locks = min(locks, float64(r.Peak-1)*(high+rest))
			}
			high += locks
		}
		found := lever.event == ""
		for _, e := range r.Events {
			if e.Name == lever.event && lever.event != "" {
				seconds, high, found = seconds+e.Seconds, high+e.High*r.Elapsed, true
			}
		}
		switch {
		case r.Busy <= 0 && r.Hidden:
			b.Reason = "no session was seen that did anything"
		case r.Busy <= 0:
			b.Reason = "nothing ran"
		case !found:
			continue // nobody waited for a CPU, or that was not seen
		default:
			b.Share, b.AtMost = min(1, seconds/r.Busy), min(1, (high+rest)/r.Busy)
		}
		out = append(out, b)
	}
	return out
}
