package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// Options say how to watch.
type Options struct {
	For  time.Duration
	Tool string // version of the program, for the report
	Port uint16 // on which the service listens for clients of other hosts; 0: not known
	// Local is set where it listens for none of other hosts.
	Local bool
	// NoPort says why Port is 0; "": nobody looked.
	NoPort string
	CPUs   int // of the host
	// Facts of this host have what its clock and its policies are; nil: not known.
	Facts *host.Facts
	Clock ClockSource // nil: what this host counts
	// Progress is called now and then with the time done; may be nil.
	Progress func(done time.Duration)
}

// The whole minute stays below 1 % of the CPU time: the recorder takes at most this share of what is in
// use, questions to the database 0.35 % of one CPU, and counters of threads 0.2 % of one.
const (
	recording = 0.0012
	asking    = 0.5 // of what a recording may ask by itself
)

// Watch watches a service. source is its database, where one could be reached; nil: only its
// processes are observed, and why says why not. When ctx or the service ends, the minute has
// what was seen until then, and Ended says so.
func Watch(ctx context.Context, s *service.Service, source explain.Source, why string, o Options) (*Minute, error) {
	m := &Minute{Service: *s, Why: why, Local: o.Local, Unseen: map[string]string{}}
	var (
		meter *service.Meter
		err   error
	)
	if s.Here() {
		if meter, err = s.NewMeter(); err != nil {
			return nil, err
		}
		defer meter.Close()
	}
	clock := &clockMeter{source: o.Clock}
	if s.Here() && o.Clock == nil {
		clock = newClockMeter(Target(s))
	}
	defer clock.close()
	trips, tripless := m.listen(o)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var (
		all     sync.WaitGroup
		rep     explain.Report
		refused error
		seen    *trace.Result
		unseen  error
		bounds  []trace.Bound
	)
	if s.Here() {
		all.Go(func() {
			c := trace.Config{Target: Target(s), For: o.For, Budget: recording}
			if seen, unseen = trace.Record(watching, c); unseen != nil {
				bounds, _ = trace.BoundsOf(watching, c)
			}
		})
	}
	all.Go(func() { clock.watch(watching, o.For) })
	if source != nil {
		all.Go(func() {
			defer stop()
			rep, refused = explain.Record(watching, source, explain.Options{For: o.For, Tool: o.Tool, Part: asking,
				Progress: o.Progress})
		})
	}
	began := time.Now()
	for {
		pause := o.For
		switch {
		case meter != nil && len(m.Readings) == 0: // a service that ends soon has been seen once
			pause = time.Second
		case meter != nil:
			pause = meter.Pause
		}
		wait(watching, min(pause, time.Until(began.Add(o.For))))
		over := watching.Err() != nil || time.Since(began) >= o.For
		if meter != nil {
			r, err := meter.Read()
			if errors.Is(err, service.ErrEnded) {
				m.Ended = "the service ended"
				break
			}
			m.Readings = append(m.Readings, r)
		}
		if trips != nil {
			if err := trips.Look(); err != nil {
				trips, tripless = nil, err.Error()
			}
		}
		if source == nil && o.Progress != nil {
			o.Progress(time.Since(began))
		}
		if over {
			break
		}
	}
	if m.Ended != "" {
		stop()
	}
	all.Wait()
	var last service.Reading
	switch n := len(m.Readings); {
	case n > 0:
		last = m.Readings[n-1]
	case s.Here():
		return nil, service.ErrEnded
	case refused != nil:
		return nil, refused
	}
	switch {
	case refused != nil:
		m.Why = refused.Error()
	case rep.Hidden && rep.Busy <= 0 && s.Here():
		m.Why = "this user cannot see its sessions"
	default:
		m.Connected = source != nil
	}
	if m.Report = rep; !m.Connected {
		m.Report = ofThreads(s, m.Readings, began, o.Tool)
		m.Report.Missing = rep.Missing
		if ctx.Err() != nil {
			rep.Ended = explain.Interrupted
		}
	}
	m.Ended = cmp.Or(m.Ended, rep.Ended)
	m.Throttled = last.Throttled
	if s.Here() {
		m.host(last, o.CPUs)
	}
	if last.NoQueue != "" {
		m.Unseen[lever.CPUs] = last.NoQueue
	}
	if trips != nil {
		t := trips.Trips()
		m.Trips = &t
	}
	m.scheduled(seen, unseen)
	if seen != nil {
		m.Programs = seen.Cost.Programs
	}
	if s.Here() {
		m.Clock, err = clock.frequency(seen, o.Facts)
		m.say(lever.Clock, err)
	}
	m.bounded(bounds, o.Facts)
	if ctx.Err() == nil && s.Here() {
		m.Policies = predictPolicies(ctx, seen, unseen, o.Facts)
	}
	m.missing(tripless)
	return m, nil
}

// say notes why nothing was seen of a lever.
func (m *Minute) say(lever string, why error) {
	if why != nil {
		m.Unseen[lever] = why.Error()
	}
}

// Target is a service as the kernel's scheduler is asked for it.
func Target(s *service.Service) trace.Target {
	processes, group := s.Target()
	t := trace.Target{Name: s.Name, PIDs: processes}
	if group != "" {
		t.Cgroups = []string{group}
	}
	return t
}

// longestExit is longer than the deepest idle states of servers and desktops take to leave, in s
// (drivers/idle/intel_idle.c: 890 us). What takes longer waits for something else, as for a hypervisor.
const longestExit = 1e-3

// unseen is how many wake-ups are to be expected where none at all is seen in 1 of 40 such times (Poisson).
const unseen = 3.7

// scheduled takes what the kernel's scheduler counted.
func (m *Minute) scheduled(r *trace.Result, err error) {
	if err != nil {
		m.Unseen[lever.Idle] = err.Error()
		m.Unseen[lever.SMT] = err.Error()
		return
	}
	if r == nil {
		return
	}
	if w := &r.OnIdle; w.N > 0 {
		all, allOff := w.Between(0, longestExit)
		few := 0.0 // wake-ups say little of how long others take
		if w.N < 10 {
			few = unseen * longestExit
		}
		more, moreOff := w.Between(w.Quantile(0.1), longestExit)
		m.Wakeups = &Wakeups{Wall: r.Seen, Seconds: all, Avoidable: more, Low: max(0, more-1.96*moreOff),
			Most: max(all+1.96*allOff, few),
			Source: fmt.Sprintf("%s on idle CPUs took %s on average, %s at the 99th percentile; hostlab saw %s of the time",
				screen.Count(int(w.N), "wake-up"), result.Format(w.Mean(), "s"), result.Format(w.Quantile(0.99), "s"),
				result.Share(r.SeenShare()))}
	} else {
		m.Wakeups = &Wakeups{Wall: r.Seen, Most: unseen * longestExit,
			Source: fmt.Sprintf("no wake-up of the service on an idle CPU was seen in %s", result.Format(r.Seen, "s"))}
	}
	if r.Overlap == nil {
		m.Unseen[lever.SMT], m.Alone = r.NoOverlap, true
	} else if r.Run.Value > 0 {
		beside := r.Overlap.Value / r.Run.Value
		m.Siblings = &Siblings{Beside: beside, Likely: usualHarm, AtMost: greatestHarm,
			Assumes: "a busy sibling takes a quarter of a thread's speed",
			Source:  fmt.Sprintf("its threads ran beside a busy sibling for %s of their time", result.Share(beside))}
	}
}

// bounded takes what the kernel counts for anybody. A guest's idle states leave out what waking a
// CPU takes its host.
func (m *Minute) bounded(bounds []trace.Bound, facts *host.Facts) {
	own := false
	if facts != nil {
		hypervisor, known := facts.Virt.Technology()
		own = known && hypervisor == "none"
	}
	m.Bounds = map[string]Bounded{}
	for _, b := range bounds {
		switch {
		case b.Name == trace.BesideSibling && b.Value == nil:
			m.Unseen[lever.SMT], m.Alone = b.Reason, true
		case b.Value == nil:
		case b.Name == trace.IdleExit && own:
			m.Bounds[lever.Idle] = Bounded{*b.Value, result.Cited,
				"exits from idle states by all tasks, times the exit latency that the driver states; " + m.Unseen[lever.Idle]}
		case b.Name == trace.BesideSibling:
			m.Bounds[lever.SMT] = Bounded{*b.Value * greatestHarm, result.Measured,
				"its CPUs and their siblings were busy at the same time for no longer than that; " + m.Unseen[lever.SMT]}
		}
	}
}

// What a busy sibling takes of a thread's speed where no probe has measured it: two that do
// the same share a core's units evenly, and gain by each other's waits.
const (
	usualHarm    = 0.25
	greatestHarm = 0.5
)

// listen begins to count round trips.
func (m *Minute) listen(o Options) (*service.Network, string) {
	if o.Port == 0 {
		return nil, cmp.Or(o.NoPort, "the service's network port is not known, so its clients' round trips are not counted")
	}
	n, err := service.NewNetwork(o.Port)
	if err != nil {
		return nil, err.Error()
	}
	return n, ""
}

// ofThreads is the account of a service that tells no sessions: its threads on a CPU and
// ready for one. Blocked threads may have nothing to do, so their time is no part.
func ofThreads(s *service.Service, readings []service.Reading, began time.Time, tool string) explain.Report {
	var r service.Reading
	if n := len(readings); n > 0 {
		r = readings[n-1]
	}
	active := r.CPU + r.Queue // on a CPU alone, where the wait for one is not known
	rep := explain.Report{Kind: "explain", Schema: 3, Vendor: s.Name, Tool: tool, Started: began, Wall: r.At, Elapsed: active, Busy: active,
		Transactions: -1, Log: explain.NoLog(), Course: courseOf(readings),
		Method: service.Method}
	add := func(name explain.PartName, source string, seconds, low, high float64) {
		p := explain.Part{Name: name, Seconds: seconds, Source: source, Share: result.Estimate{Evidence: result.Measured}}
		if active > 0 {
			p.Share = result.Estimate{Value: seconds / active, Low: low / active, High: min(1, high/active),
				Evidence: result.Measured}
		}
		rep.Parts = append(rep.Parts, p)
	}
	add(explain.DatabaseCPU, service.RunSource, r.CPU, r.CPU*active/(r.CPU+max(r.Queue, r.QueueHigh)),
		r.CPU*active/(r.CPU+r.QueueLow()))
	if r.NoQueue == "" {
		add(explain.RunQueue, service.QueueSource, r.Queue, r.QueueLow(), r.QueueHigh)
	}
	rep.Vary()
	return rep
}

// host is what all did on the CPUs.
func (m *Minute) host(r service.Reading, cpus int) {
	m.Host.CPUs = cpus
	if all := r.At * float64(cpus); all > 0 && r.Busy != nil {
		busy, foreign := lever.Unit(*r.Busy/all), lever.Unit((*r.Busy-r.CPU)/all)
		m.Host.Busy, m.Host.Foreign = &busy, &foreign
		if r.Steal != nil { // Windows does not tell
			steal := lever.Unit(*r.Steal / all)
			m.Host.Steal = &steal
		}
	}
}

// missing says of each lever that nothing was seen of what would show it.
func (m *Minute) missing(trips string) {
	sessions := "only a database's sessions show it"
	if m.Why != "" {
		sessions = m.Why
	}
	if m.Away() {
		there := "its processes run on another host; run hostlab there"
		if m.Service.Near {
			there = "its processes do not show on this host, where it was reached; run hostlab as root, and where they are"
		}
		for _, name := range []string{lever.Clock, lever.Idle, lever.SMT, lever.CPUs, lever.Network, lever.Memory} {
			m.Unseen[name] = there
		}
	}
	queue := "this kernel counts no waits for a CPU (schedstat)"
	if n := len(m.Readings); n > 0 && m.Readings[n-1].NoQueue == "" {
		queue = "the waits for a CPU of its sessions are not known apart from those of its other threads"
	}
	for name, why := range map[string]string{
		lever.Clock:   "no cycle counter of its threads or of the CPUs can be read here",
		lever.Idle:    "wake-ups were not watched; that needs root and a kernel with BTF",
		lever.SMT:     "no CPU of this host shares a core with another",
		lever.CPUs:    queue,
		lever.Log:     sessions,
		lever.Data:    sessions,
		lever.Network: trips,
		lever.Memory:  pageWalks,
	} {
		if m.Unseen[name] == "" {
			m.Unseen[name] = why
		}
	}
}

// Early is the error of a minute that ended early; nil: it did not.
func (m *Minute) Early() error {
	if m.Ended == "" {
		return nil
	}
	return fmt.Errorf("%s was watched for only %.1f s: %s", m.name(), m.Report.Wall, m.Ended)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(max(d, time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
