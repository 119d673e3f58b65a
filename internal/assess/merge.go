package assess

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/explain/pgbouncer"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

// Merge is what was seen of a service in several stretches of time, as if it had been one. list is in order and not empty. What a
// stretch did not see, as the scheduler's windows that only some have, is known from the others.
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
	out.Memory, out.Quota, out.Ended = nil, nil, ""
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
	slices.SortStableFunc(out.Takers, func(a, b Taker) int { return cmp.Compare(b.Seconds, a.Seconds) })
	out.Takers = out.Takers[:min(most, len(out.Takers))]
	slices.SortStableFunc(out.Asked, func(a, b Asked) int { return cmp.Compare(b.Seconds, a.Seconds) })
	out.Host, out.Clock, out.Wakeups, out.Siblings = hostOf(list), meanClock(list), wakeupsOf(list), siblingsOf(list)
	out.Trips, out.Pools, out.Cloud, out.Bounds = tripsOf(list), poolsOf(list), cloudOf(list), boundsOf(list)
	out.Collector, out.Requests, out.Interrupts, out.Full = collectorOf(list), requestsOf(list), busiest(list), fullOf(list)
	out.Policies, out.Bursts = Policies{}, nil
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

// oneKind are the stretches whose sessions were seen, or else those whose threads were: whatever lasted longer. They are no parts
// of one account.
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
		i := slices.IndexFunc(m.Takers, func(o Taker) bool { return o.Name == t.Name && o.Group == t.Group && o.Kernel == t.Kernel })
		if i < 0 {
			m.Takers = append(m.Takers, t)
			continue
		}
		to := &m.Takers[i]
		t.Seconds, t.Processes = t.Seconds+to.Seconds, max(t.Processes, to.Processes)
		if t.PID == 0 && to.PID != 0 {
			t.PID, t.Sharing = to.PID, to.Sharing
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
		a.Seconds += m.Asked[i].Seconds
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

// hostOf is the mean of what all did on the CPUs, by the stretches that know it.
func hostOf(list []*Minute) Host {
	out := list[len(list)-1].Host
	mean := func(of func(*Host) *float64) *float64 {
		sum, all := 0.0, 0.0
		for _, m := range list {
			if v := of(&m.Host); v != nil {
				sum, all = sum+*v*m.Report.Wall, all+m.Report.Wall
			}
		}
		if all <= 0 {
			return nil
		}
		sum /= all
		return &sum
	}
	out.Busy, out.Foreign = mean(func(h *Host) *float64 { return h.Busy }), mean(func(h *Host) *float64 { return h.Foreign })
	out.Steal = mean(func(h *Host) *float64 { return h.Steal })
	return out
}

// meanClock is the mean clock; stretches are independent, so that errors add up by their squares.
func meanClock(list []*Minute) (out *Frequency) {
	var mean, low, high, all float64
	for _, m := range list {
		c := m.Clock
		if c == nil {
			continue
		}
		if out == nil {
			out = &Frequency{}
			*out = *c
			out.N = 0
		}
		n := float64(max(c.N, 1))
		mean, all = mean+n*c.Mean, all+n
		low, high = low+n*n*(c.Mean-c.Low)*(c.Mean-c.Low), high+n*n*(c.High-c.Mean)*(c.High-c.Mean)
		out.N, out.Highest, out.Limit = out.N+c.N, max(out.Highest, c.Highest), max(out.Limit, c.Limit)
	}
	if out != nil {
		out.Mean = mean / all
		out.Low, out.High = out.Mean-math.Sqrt(low)/all, out.Mean+math.Sqrt(high)/all
	}
	return out
}

func wakeupsOf(list []*Minute) (out *Wakeups) {
	for _, m := range list {
		if w := m.Wakeups; w != nil && out == nil {
			one := *w
			out = &one
		} else if w != nil {
			*out = Wakeups{out.Wall + w.Wall, out.Seconds + w.Seconds, out.Avoidable + w.Avoidable, out.Low + w.Low, out.Most + w.Most,
				w.Source}
		}
	}
	return out
}

// siblingsOf is the mean over all run time.
func siblingsOf(list []*Minute) (out *Siblings) {
	sum, all := 0.0, 0.0
	for _, m := range list {
		if s := m.Siblings; s != nil {
			one, ran := *s, m.Report.Part(explain.DatabaseCPU).Seconds
			sum, all = sum+ran*s.Beside, all+ran
			out = &one
		}
	}
	if out != nil && all > 0 {
		out.Beside = sum / all
	}
	return out
}

func boundsOf(list []*Minute) map[string]Bounded {
	out, all := map[string]Bounded{}, map[string]float64{}
	for _, m := range list {
		for name, b := range m.Bounds {
			b.Each = (out[name].Each*all[name] + b.Each*m.Report.Wall) / max(all[name]+m.Report.Wall, 1e-9)
			out[name] = b
			all[name] += m.Report.Wall
		}
	}
	return out
}

func tripsOf(list []*Minute) (out *service.Trips) {
	for _, m := range list {
		t := m.Trips
		if t == nil {
			continue
		}
		if out == nil {
			out = &service.Trips{}
		}
		out.Count, out.Brief = out.Count+t.Count, out.Brief+t.Brief
		out.Least, out.Most = out.Least+t.Least, out.Most+t.Most
		out.Connections, out.Local, out.Untold = max(out.Connections, t.Connections), max(out.Local, t.Local), max(out.Untold, t.Untold)
	}
	return out
}

func poolsOf(list []*Minute) (out []pgbouncer.Pool) {
	for _, m := range list {
		for _, p := range m.Pools {
			i := slices.IndexFunc(out, func(o pgbouncer.Pool) bool {
				return o.Pooler == p.Pooler && o.Database == p.Database && o.User == p.User
			})
			if i < 0 {
				out = append(out, p)
				continue
			}
			to, n := &out[i], float64(max(out[i].Looks+p.Looks, 1))
			p.Waiting = (to.Waiting*float64(to.Looks) + p.Waiting*float64(p.Looks)) / n
			p.Working = (to.Working*float64(to.Looks) + p.Working*float64(p.Looks)) / n
			p.Looks, p.Transactions = p.Looks+to.Looks, p.Transactions+to.Transactions
			*to = p
		}
	}
	return out
}

// cloudOf adds up for how long limits held.
func cloudOf(list []*Minute) (out *Cloud) {
	for _, m := range list {
		c := m.Cloud
		if c == nil {
			continue
		}
		if out == nil {
			out = &Cloud{Held: map[string]map[string]uint64{}}
		}
		out.Unread, out.Untold = cmp.Or(out.Unread, c.Unread), cmp.Or(out.Untold, c.Untold)
		for _, v := range c.Volumes {
			i := slices.IndexFunc(out.Volumes, func(o Volume) bool { return o.Name == v.Name })
			if i < 0 {
				out.Volumes = append(out.Volumes, v)
				continue
			}
			to := &out.Volumes[i]
			to.VolumeIOPS, to.VolumeThroughput = to.VolumeIOPS+v.VolumeIOPS, to.VolumeThroughput+v.VolumeThroughput
			to.InstanceIOPS, to.InstanceThroughput = to.InstanceIOPS+v.InstanceIOPS, to.InstanceThroughput+v.InstanceThroughput
			to.Reads, to.Writes, to.Queue = longest(to.Reads, v.Reads), longest(to.Writes, v.Writes), v.Queue
		}
		for name, limits := range c.Held {
			if out.Held[name] == nil {
				out.Held[name] = map[string]uint64{}
			}
			for limit, n := range limits {
				out.Held[name][limit] += n
			}
		}
	}
	return out
}

func longest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func collectorOf(list []*Minute) (out *Collector) {
	for _, m := range list {
		if c := m.Collector; c != nil {
			one := *c
			if out != nil {
				one.Seconds += out.Seconds
			}
			out = &one
		}
	}
	return out
}

func requestsOf(list []*Minute) (out *Requests) {
	for _, m := range list {
		if r := m.Requests; r != nil && out == nil {
			one := *r
			out = &one
		} else if r != nil {
			a, b := float64(out.Looks), float64(r.Looks)
			n := max(a+b, 1)
			*out = Requests{(out.Connections*a + r.Connections*b) / n, (out.Unread*a + r.Unread*b) / n, out.Looks + r.Looks}
		}
	}
	return out
}

// busiest is the CPU that had most interrupts in all stretches together.
func busiest(list []*Minute) (out *Interrupts) {
	by, n := map[int]Interrupts{}, 0.0
	for _, m := range list {
		if i := m.Interrupts; i != nil {
			n++
			by[i.CPU] = Interrupts{i.CPU, by[i.CPU].Most + i.Most, by[i.CPU].Others + i.Others, cmp.Or(i.Source, by[i.CPU].Source)}
		}
	}
	for _, i := range by {
		if i.Most, i.Others = i.Most/n, i.Others/n; out == nil || i.Most > out.Most || i.Most == out.Most && i.CPU < out.CPU {
			out = &i
		}
	}
	return out
}

// fullOf are the threads that were always at work in next to all of the time.
func fullOf(list []*Minute) (out []Full) {
	sum, n := map[Full]float64{}, map[Full]int{}
	for _, m := range list {
		for _, f := range m.Full {
			key := Full{TID: f.TID, Name: f.Name}
			sum[key] += f.Share
			n[key]++
		}
	}
	for key, times := range n {
		if float64(times) >= full*float64(len(list)) {
			out = append(out, Full{key.TID, key.Name, sum[key] / float64(times)})
		}
	}
	slices.SortFunc(out, func(a, b Full) int { return a.TID - b.TID })
	return out
}

// Past forgets the numbers of other processes, and leaves out experiments: now, another process may have such a number.
func (m *Minute) Past() {
	for i := range m.Takers {
		m.Takers[i].PID, m.Takers[i].Sharing = 0, proc.Sharing{}
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
	ok := r.Wall > 0 && r.Wall <= longest && r.Elapsed >= 0 && r.Elapsed <= most && r.Busy >= 0 && r.Busy <= r.Elapsed*1.001+1e-6 &&
		r.Transactions >= -1 && r.Samples >= 0
	for _, p := range r.Parts {
		ok = ok && p.Seconds >= 0 && p.Seconds <= most
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
	m.Policies, m.Bursts = Policies{}, nil
	if m.Ends != nil {
		m.Ends.Join(keptWindows, smallEnd)
	}
	m.Confide()
}

// keptWindows is how many of the scheduler's windows a stretch keeps, and smallEnd the share of a part below which an end goes
// with others of its kind.
const (
	keptWindows = 4
	smallEnd    = 0.02
)
