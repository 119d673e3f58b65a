package assess

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"hostlab/internal/explain"
	"hostlab/internal/explain/pgbouncer"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

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
	out.Busy, out.Foreign = mean(func(h *Host) *float64 { return h.Busy }),
		mean(func(h *Host) *float64 { return h.Foreign })
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
			*out = Wakeups{out.Wall + w.Wall, out.Seconds + w.Seconds, out.Avoidable + w.Avoidable, out.Low + w.Low,
				out.Most + w.Most,
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
		out.Connections, out.Local, out.Untold = max(out.Connections, t.Connections), max(out.Local, t.Local),
			max(out.Untold, t.Untold)
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
			mean := func(x, y float64) float64 { return (x*a + y*b) / n }
			*out = Requests{mean(out.Connections, r.Connections), mean(out.Unread, r.Unread), mean(out.AtWork, r.AtWork),
				mean(out.Held, r.Held), mean(out.Lost, r.Lost), out.Looks + r.Looks, out.TLS || r.TLS, proc.Opened{OverTCP: mean(out.OverTCP, r.OverTCP), OverUnix: mean(out.OverUnix, r.OverUnix),
					Full: mean(out.Full, r.Full)}}
		}
	}
	return out
}

// burstsOf are those of all that recorded some.
func burstsOf(list []*Minute) *burstlog.Sample {
	var all []*burstlog.Sample
	for _, m := range list {
		if m.Sample != nil {
			all = append(all, m.Sample)
		}
	}
	return burstlog.Join(all)
}

// busiest is the CPU that had most interrupts in all stretches together.
func busiest(list []*Minute) *Interrupts {
	by, sources, n, sum := map[int]float64{}, map[int]map[string]float64{}, 0.0, 0.0
	service, outside := new(0.0), map[int]*bool{} // known of those that had most in a stretch
	for _, m := range list {
		i := m.Interrupts
		if i == nil || m.Loads == nil {
			continue
		}
		n++
		if outside[i.CPU] = i.Outside; i.Service == nil {
			service = nil
		} else if service != nil {
			*service += *i.Service
		}
		if sources[i.CPU] == nil {
			sources[i.CPU] = map[string]float64{}
		}
		sources[i.CPU][i.Source] += i.Most
		for cpu, b := range m.Loads.Busy {
			if b == NoLoad {
				continue
			}
			share := 0.0
			if cpu < len(m.Loads.Interrupts) {
				share = float64(m.Loads.Interrupts[cpu]) / One
			}
			by[cpu], sum = by[cpu]+share, sum+share
		}
	}
	if len(by) < 2 {
		return nil
	}
	largest := func(a, b int) int { return cmp.Or(cmp.Compare(by[a], by[b]), cmp.Compare(b, a)) }
	most := slices.MaxFunc(slices.Collect(maps.Keys(by)), largest)
	out := &Interrupts{CPU: most, Most: by[most] / n, Others: max(0, sum-by[most]) / n / float64(len(by)-1),
		Outside: outside[most]}
	if service != nil {
		out.Service = new(*service / n)
	}
	often := 0.0
	for _, name := range slices.Sorted(maps.Keys(sources[most])) {
		if v := sources[most][name]; v > often {
			out.Source, often = name, v
		}
	}
	return out
}

// fullOf are the threads that mainly were at work in next to all of the time.
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
