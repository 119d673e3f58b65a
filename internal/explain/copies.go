package explain

import (
	"maps"
	"slices"
)

// Copies are reads of data that the kernel's page cache answered: they took CPU time, and no device.
type Copies struct {
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"` // of sessions; 0: nobody timed them
	Bytes   float64 `json:"bytes"`   // that the server read
	Device  float64 `json:"device"`  // B that devices gave for it, at most
	// AtMost is for how long sessions may have waited for devices nevertheless, s.
	AtMost float64 `json:"device_at_most"`
}

// quickest is less than any device takes for a read of its own, s: flash takes some 50 us. Reads ahead of a scan may be
// as quick in the mean, so that this alone says nothing.
const quickest = 20e-6

// handed is how many times as long a copy may take that another process makes for a session, which waits until that has
// run. PostgreSQL 18's io workers took 20 to 30 us on two CPUs. A file system of a network answers as quickly, so that
// this holds of data on disks alone.
const handed = 10

// few is the share of what a server reads from which on devices had a part in it.
const few = 0.1

// smallest is what one request for data reads, B, at least.
const smallest = 4096

// copiesOf tells whether the reads of a recording were copies; nil: they were not, or nothing tells. What devices gave
// decides. The mean of timed reads keeps apart file systems whose devices do not show, as those of networks.
func copiesOf(batches []Batch, a Account, totals *Totals) *Copies {
	c := reads(batches, a)
	timed := c.Seconds > 0
	if c.Count == 0 || totals.Get("read_bytes") <= 0 {
		return nil
	}
	c.Bytes = totals.Get("read_bytes")
	disks, shown := totals.Get("disks_bytes"), totals.Has("disks_bytes")
	switch {
	case totals.Has("device_bytes"):
		c.Device = totals.Get("device_bytes")
	case shown && timed: // all that they gave to anybody
		c.Device = disks
	default:
		return nil
	}
	c.AtMost = c.Device / smallest * Longest
	if shown && c.Device <= disks {
		c.AtMost = min(c.AtMost, totals.Get("disks_us")*1e-6)
	}
	longest, known := quickest*float64(c.Count), totals.Settings[onDisks] != ""
	if a.Handed && known {
		longest *= handed
	}
	if !timed && !known { // then nothing keeps apart reads of no device
		return nil
	}
	if c.Device >= few*c.Bytes || timed && (c.Seconds >= longest || c.AtMost >= c.Seconds/2) {
		return nil
	}
	return &c
}

// reads are those of sessions, and how long they took: by counters, or by samples where only their number was counted.
func reads(batches []Batch, a Account) (c Copies) {
	if n := a.Waits[DataReads]; n > 0 {
		c.Count = int64(n)
		for _, b := range batches {
			for k, s := range inOrder(b.Seconds, Key.compare) {
				if k.Part == DataReads && !k.Background {
					c.Seconds += s
				}
			}
		}
	}
	for _, x := range a.Counted {
		if x.Part == DataReads && x.Count > 0 {
			c.Count, c.Seconds = x.Count, x.Seconds
			if x.Blocked { // its time is a limit
				c.Seconds = 0
			}
		}
	}
	return c
}

// cached takes copies out of the waits for data: they are time on a CPU, the session's own or, where another process
// makes them, that one's, for which it waits.
func (c *Copies) cached(batches []Batch, a Account) {
	to := DatabaseCPU
	if a.Handed {
		to = OtherWaits
	}
	for _, b := range batches {
		for k, s := range inOrder(b.Seconds, Key.compare) {
			if k.Part == DataReads {
				delete(b.Seconds, k)
				k.Part = to
				b.Seconds[k] += s
			}
		}
	}
}

// account says of copies that no session waited for data, but for what devices may have taken.
func (c *Copies) account(a Account) Account {
	a.Counted = slices.DeleteFunc(slices.Clone(a.Counted), func(x Counted) bool { return x.Part == DataReads })
	a.Counted = append(a.Counted, Counted{Part: DataReads, Events: []string{"copies"}, Whole: true,
		Source: "copies from the page cache"})
	a.AtMost = maps.Clone(a.AtMost)
	if a.AtMost == nil {
		a.AtMost = map[PartName]float64{}
	}
	a.AtMost[DataReads] = c.AtMost
	return a
}
