package assess

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

// Merge is what was seen of a service in several stretches of time, as if it had been one. list is in order and not
// empty. What a stretch did not see, as the scheduler's windows that only some have, is known from the others.
func Merge(list []*Minute) *Minute {
	list = oneKind(list)
	last, whole := list[len(list)-1], list[0]
	if i := slices.IndexFunc(list, func(m *Minute) bool { return m.Scheduler != nil }); i >= 0 { // it looked at most
		whole = list[i]
	}
	out := *last
	var accounts []explain.Report
	for _, m := range list {
		accounts = append(accounts, m.Report)
	}
	out.Report = explain.Merge(accounts)
	out.Readings, out.Throttled, out.Unseen = nil, nil, maps.Clone(whole.Unseen)
	out.Takers, out.Asked, out.Pools, out.Ends, out.Scheduler = nil, nil, nil, nil, nil
	out.Memory, out.Quota, out.Ended, out.Loads = nil, nil, "", nil
	var total service.Reading
	for _, m := range list {
		total = out.add(total, m)
		for name := range out.Unseen {
			if m.Unseen[name] == "" {
				delete(out.Unseen, name)
			}
		}
		out.Counted = out.Counted || m.Counted
		out.takers(m.Takers)
		out.asked(m.Asked)
		out.Ends = endsOf(out.Ends, m.Ends)
		if len(list) == 1 { // of several, their windows stand in Ends
			out.Scheduler = m.Scheduler
		}
		if m.Quota != nil {
			out.Quota = m.Quota
		}
		if c := m.Memory; c != nil {
			sum := *c
			if out.Memory != nil && out.Memory.File == c.File {
				sum.Hits += out.Memory.Hits
			}
			if out.Memory == nil || sum.Hits >= out.Memory.Hits {
				out.Memory = &sum
			}
		}
	}
	if out.Ends != nil && len(out.Ends.Windows) > mostWindows {
		out.Ends.Join(mostWindows, smallEnd)
	}
	slices.SortStableFunc(out.Takers, func(a, b Taker) int { return cmp.Compare(b.Seconds, a.Seconds) })
	out.Takers = out.Takers[:min(mostTakers, len(out.Takers))]
	slices.SortStableFunc(out.Asked, func(a, b Asked) int { return cmp.Compare(b.Seconds, a.Seconds) })
	out.Host, out.Clock, out.Wakeups, out.Siblings = hostOf(list), meanClock(list), wakeupsOf(list), siblingsOf(list)
	out.Trips, out.Pools, out.Cloud, out.Bounds = tripsOf(list), poolsOf(list), cloudOf(list), boundsOf(list)
	out.Collector, out.Requests, out.Interrupts, out.Full = collectorOf(list), requestsOf(list), busiest(list),
		fullOf(list)
	out.Traffic, out.Greedy = trafficOf(list), greedyIn(list)
	out.Reader = mostOf(list, func(m *Minute) *Other { return m.Reader })
	out.Keeper = mostOf(list, func(m *Minute) *Other { return m.Keeper })
	out.Files = mostOf(list, func(m *Minute) *Other { return m.Files })
	out.Ender = mostOf(list, func(m *Minute) *Other { return m.Ender })
	out.Child = childOf(list)
	out.Mover = mostOf(list, func(m *Minute) *Mover { return m.Mover })
	out.Policies, out.Bursts, out.Sample = Policies{}, nil, burstsOf(list)
	var refused error
	if whole.Scheduler != nil && whole.Scheduler.Reason != "" {
		refused = errors.New(whole.Scheduler.Reason)
	}
	out.Report.Missing = append(out.Report.Missing, out.unfollowed(refused)...)
	if n := len(out.Readings); n > explain.Stretches { // each is since the beginning, so that some of them tell all
		every := (n + explain.Stretches - 1) / explain.Stretches
		kept := out.Readings[:0]
		for i, r := range out.Readings {
			if i%every == every-1 || i == n-1 {
				kept = append(kept, r)
			}
		}
		out.Readings = kept
	}
	return &out
}

// oneKind are the stretches whose sessions were seen, or else those whose threads were: whatever lasted longer. They
// are no parts of one account.
func oneKind(list []*Minute) (out []*Minute) {
	wall := map[bool]float64{}
	for _, m := range list {
		wall[m.Connected] += m.Report.Wall
	}
	for _, m := range list {
		if m.Connected == (wall[true] >= wall[false]) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

// add puts a stretch's readings behind those before it, of which total is the last.
func (m *Minute) add(total service.Reading, more *Minute) service.Reading {
	if len(more.Readings) == 0 {
		return total
	}
	began := len(m.Readings) == 0
	sum := func(a, b *float64) *float64 { // unknown in one is unknown in all
		if b == nil || a == nil && !began {
			return nil
		}
		v := *b
		if a != nil {
			v += *a
		}
		return &v
	}
	r := more.Readings[len(more.Readings)-1]
	r.At, r.CPU = r.At+total.At, r.CPU+total.CPU
	r.Queue, r.QueueHigh = r.Queue+total.Queue, r.QueueHigh+total.QueueHigh
	r.Sampled, r.NoQueue = r.Sampled || total.Sampled, cmp.Or(r.NoQueue, total.NoQueue)
	r.Busy, r.Steal = sum(total.Busy, r.Busy), sum(total.Steal, r.Steal)
	r.Stalled = maps.Clone(r.Stalled)
	for name := range r.Stalled {
		if before, there := total.Stalled[name]; there || began {
			r.Stalled[name] += before
		} else {
			delete(r.Stalled, name)
		}
	}
	if r.Throttled = sum(total.Throttled, r.Throttled); r.Throttled == nil { // it had no quota in one
		r.Throttled = cmp.Or(total.Throttled, more.Throttled)
	}
	m.Readings, m.Throttled = append(m.Readings, r), r.Throttled
	return r
}

// takers adds up programs by name and control group.
func (m *Minute) takers(more []Taker) {
	for _, t := range more {
		i := slices.IndexFunc(m.Takers, func(o Taker) bool {
			return o.Name == t.Name && o.Group == t.Group && o.Kernel == t.Kernel
		})
		if i < 0 {
			m.Takers = append(m.Takers, t)
			continue
		}
		to := &m.Takers[i]
		t.Seconds, t.Processes = t.Seconds+to.Seconds, max(t.Processes, to.Processes)
		t.Reaped += to.Reaped
		if t.Script != to.Script {
			t.Script = ""
		}
		if t.PID == 0 && to.PID != 0 {
			t.PID, t.Others, t.Sharing, t.Starter = to.PID, to.Others, to.Sharing, to.Starter
		}
		*to = t
	}
}

func (m *Minute) asked(more []Asked) {
	for _, a := range more {
		i := slices.IndexFunc(m.Asked, func(o Asked) bool { return o.Address == a.Address && o.Name == a.Name })
		if i < 0 {
			m.Asked = append(m.Asked, a)
			continue
		}
		a.Seconds, a.Requests = a.Seconds+m.Asked[i].Seconds, max(a.Requests, m.Asked[i].Requests)
		a.Opened = max(a.Opened, m.Asked[i].Opened)
		m.Asked[i] = a
	}
}

// endsOf puts windows behind those before.
func endsOf(to, more *chain.Account) *chain.Account {
	if to == nil || more == nil {
		return cmp.Or(to, more)
	}
	out := *to
	out.Moments += more.Moments
	out.Windows, out.Lengths = slices.Concat(to.Windows, more.Windows), slices.Concat(to.Lengths, more.Lengths)
	out.Ran, out.Waited = slices.Concat(to.Ran, more.Ran), slices.Concat(to.Waited, more.Waited)
	out.Own, out.Clients = map[int]bool{}, map[int]bool{}
	for _, a := range []*chain.Account{to, more} {
		maps.Copy(out.Own, a.Own)
		maps.Copy(out.Clients, a.Clients)
	}
	return &out
}

// Past forgets the numbers of other processes, and leaves out experiments: now, another process may have such a number.
func (m *Minute) Past() {
	for i := range m.Takers {
		m.Takers[i].PID, m.Takers[i].Sharing, m.Takers[i].Starter = 0, proc.Sharing{}, nil
	}
	for i := range m.Asked {
		m.Asked[i].PID = 0
	}
	m.CannotTry = map[string]string{}
	_, studies := m.OnService()
	for _, study := range append(studies, "log-device") {
		m.CannotTry[study] = "it is of a time that has passed"
	}
}

// Sound reports that a stretch can be one: others may have written it.
func (m *Minute) Sound() bool {
	const longest, most = 3600, 1e9
	r := &m.Report
	ok := r.Wall > 0 && r.Wall <= longest && r.Elapsed >= 0 && r.Elapsed <= most && r.Busy >= 0 &&
		r.Busy <= r.Elapsed*1.001+1e-6 &&
		r.Transactions >= -1 && r.Samples >= 0
	for _, p := range r.Parts {
		ok = ok && p.Seconds >= 0 && p.Seconds <= most
	}
	ok = ok && (m.Traffic == nil || m.Traffic.sound())
	ok = ok && (m.Sample == nil || m.Sample.Sound())
	if l := m.Loads; l != nil {
		ok = ok && len(l.Busy) <= host.MostCPUs && len(l.Interrupts) <= len(l.Busy) &&
			(l.Pressure == nil || *l.Pressure >= 0 && *l.Pressure <= 1)
	}
	for _, x := range m.Readings {
		ok = ok && x.At >= 0 && x.CPU >= 0 && x.CPU <= most
	}
	return ok
}

// Thin leaves out of a stretch of some seconds what only a picture of it needs, so that days of them stay small.
func (m *Minute) Thin() {
	if n := len(m.Readings); n > 0 {
		m.Readings = m.Readings[n-1:]
	}
	m.Report.Course = nil
	if m.Bursts != nil {
		m.Sample = m.Bursts.Sample(keptBursts, rand.New(rand.NewPCG(uint64(m.Bursts.Started.UnixNano()), keptBursts)))
	}
	m.Policies, m.Bursts = Policies{}, nil
	if m.Ends != nil {
		m.Ends.Join(keptWindows, smallEnd)
	}
	m.Confide()
}

// keptBursts is how many bursts of CPUs a stretch keeps: of a day, some 80,000.
const keptBursts = 60

// keptWindows is how many of the scheduler's windows a stretch keeps, and smallEnd the share of a part below which an
// end goes with others of its kind.
const (
	keptWindows = 4
	smallEnd    = 0.02
)

// mostWindows is how many of them all stretches together have: a day's 5,760 took most of the time of its report.
const mostWindows = 1000

// counted is a process, of which each stretch counts how much it took.
type counted[T any] interface {
	*T
	same(other *T) bool
	add(other *T)
	size() float64
}

// mostOf adds up what stretches counted of each, and takes the one with most; nil: none.
func mostOf[T any, P counted[T]](list []*Minute, of func(*Minute) *T) (most *T) {
	var sums []*T
	for _, m := range list {
		x := of(m)
		if x == nil {
			continue
		}
		i := slices.IndexFunc(sums, func(sum *T) bool { return P(sum).same(x) })
		if i < 0 {
			i, sums = len(sums), append(sums, new(*x))
		} else {
			P(sums[i]).add(x)
		}
		if most == nil || P(sums[i]).size() > P(most).size() {
			most = sums[i]
		}
	}
	return most
}

func (o *Other) same(x *Other) bool {
	return o.On == x.On && o.PID == x.PID && o.Name == x.Name && o.Address == x.Address
}
func (o *Other) size() float64 { return o.Seconds }
func (o *Other) add(x *Other) {
	o.Seconds, o.Looks, o.Held = o.Seconds+x.Seconds, o.Looks+x.Looks, o.Held+x.Held
}

func (g *Greedy) same(x *Greedy) bool { return g.TID == x.TID }
func (g *Greedy) size() float64       { return g.Seconds }
func (g *Greedy) add(x *Greedy) {
	g.Seconds, g.Watched = g.Seconds+x.Seconds, g.Watched+x.Watched
}

func (c *Child) same(x *Child) bool { return c.Name == x.Name && c.Does == x.Does }
func (c *Child) size() float64      { return c.Seconds }
func (c *Child) add(x *Child)       { c.Seconds += x.Seconds }

func (v *Mover) same(x *Mover) bool { return v.PID == x.PID && v.Name == x.Name && v.Disk == x.Disk }
func (v *Mover) size() float64      { return v.Bytes }
func (v *Mover) add(x *Mover) {
	v.Seconds, v.Bytes, v.All, v.There = v.Seconds+x.Seconds, v.Bytes+x.Bytes, v.All+x.All, v.There+x.There
}
