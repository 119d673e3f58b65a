package assess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// Options say how to watch.
type Options struct {
	For  time.Duration
	Tool string // version of the program, for the report
	Port uint16 // on which the service listens for clients of other hosts; 0: not known
	CPUs int    // of the host
	// Progress is called now and then with the time done; may be nil.
	Progress func(done time.Duration)
}

// Watch watches a service. source is its database, where one could be reached; nil: only its
// processes are observed, and why says why not. When ctx or the service ends, the minute has
// what was seen until then, and Ended says so.
func Watch(ctx context.Context, s *service.Service, source explain.Source, why string, o Options) (*Minute, error) {
	m := &Minute{Service: *s, Why: why, Unseen: map[string]string{}, Owners: map[string]string{}}
	var meter *service.Meter
	if s.Here() {
		var err error
		if meter, err = s.NewMeter(time.Now()); err != nil {
			return nil, err
		}
	}
	trips, tripless := m.listen(o.Port)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var (
		all     sync.WaitGroup
		told    explain.Report
		refused error
		seen    *trace.Result
		unseen  error
	)
	if s.Here() {
		all.Go(func() { seen, unseen = trace.Record(watching, trace.Config{Target: Target(s), For: o.For}) })
	}
	if source != nil {
		all.Go(func() {
			defer stop()
			told, refused = explain.Record(watching, source, explain.Options{For: o.For, Tool: o.Tool, Progress: o.Progress})
		})
	}
	began := time.Now()
	for {
		pause := o.For
		if meter != nil {
			pause = meter.Pause
		}
		wait(watching, min(pause, time.Until(began.Add(o.For))))
		over := watching.Err() != nil || time.Since(began) >= o.For
		if meter != nil {
			r, err := meter.Read(time.Now())
			if errors.Is(err, service.ErrEnded) {
				m.Ended = "the service ended"
				break
			}
			m.Seconds = append(m.Seconds, r)
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
	switch n := len(m.Seconds); {
	case n > 0:
		last = m.Seconds[n-1]
	case s.Here():
		return nil, service.ErrEnded
	case refused != nil:
		return nil, refused
	}
	switch {
	case source != nil && refused == nil:
		m.Report, m.Connected = told, true
		if m.Ended == "" {
			m.Ended = told.Ended
		}
	case source != nil:
		m.Why = refused.Error()
		fallthrough
	default:
		m.Report = ofThreads(s, last, began, o.Tool)
		if m.Ended == "" && ctx.Err() != nil {
			m.Ended = "interrupted"
		}
	}
	m.Throttled = last.Throttled
	if s.Here() {
		m.host(last, o.CPUs)
	}
	if trips != nil {
		t := trips.Trips()
		m.Trips = &t
	}
	m.scheduled(seen, unseen)
	m.unseen(tripless)
	return m, nil
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

// scheduled takes what the kernel's scheduler counted.
func (m *Minute) scheduled(r *trace.Result, err error) {
	if err != nil {
		m.Unseen[Idle] = err.Error()
		m.Unseen[SMT] = err.Error()
		return
	}
	if r == nil {
		return
	}
	if w := &r.OnIdle; w.N > 0 {
		m.Wakeups = &Wakeups{Wall: r.Seen, Seconds: w.Sum, Avoidable: max(0, w.Sum-float64(w.N)*w.Quantile(0.1)),
			Source: fmt.Sprintf("%d wake-ups on idle CPUs took %s in the mean, %s at the 99th percentile; %s of the time was seen",
				w.N, result.Format(w.Mean(), "s"), result.Format(w.Quantile(0.99), "s"), share(r.SeenShare()))}
	} else {
		m.Unseen[Idle] = "no wake-up of the service on an idle CPU was seen"
	}
	if r.Overlap == nil {
		m.Unseen[SMT], m.Alone = r.NoOverlap, true
	} else if r.Run.Value > 0 {
		beside := r.Overlap.Value / r.Run.Value
		m.Siblings = &Siblings{Beside: beside, Likely: usualHarm, AtMost: greatestHarm, Assumes: "a busy sibling takes a quarter of a thread's speed",
			Source: fmt.Sprintf("its threads ran beside a busy sibling for %s of their time", share(beside))}
	}
}

// What a busy sibling takes of a thread's speed where no probe has measured it: two that do
// the same share a core's units evenly, and gain by each other's waits.
const (
	usualHarm    = 0.25
	greatestHarm = 0.5
)

// listen begins to count round trips.
func (m *Minute) listen(port uint16) (*service.Network, string) {
	if port == 0 {
		return nil, "no network port of the service is known, so round trips of its clients are not counted; name the server with --dsn"
	}
	n, err := service.NewNetwork(port)
	if err != nil {
		return nil, err.Error()
	}
	return n, ""
}

// ofThreads is the account of a service that tells no sessions: its threads on a CPU and
// ready for one. Blocked threads may have nothing to do, so their time is no part.
func ofThreads(s *service.Service, r service.Reading, began time.Time, tool string) explain.Report {
	active := r.CPU + r.Queue
	rep := explain.Report{Vendor: s.Name, Tool: tool, Started: began, Wall: r.At, Elapsed: active, Busy: active, Transactions: -1, Log: explain.NoLog(),
		Method: "counted by the kernel's scheduler for each thread"}
	add := func(name explain.PartName, seconds, high float64, source string) {
		p := explain.Part{Name: name, Seconds: seconds, Source: source}
		if active > 0 {
			p.Share = result.Estimate{Value: seconds / active, Low: seconds / active, High: min(1, high/active), Evidence: result.Measured}
		}
		rep.Parts = append(rep.Parts, p)
	}
	add(explain.DatabaseCPU, r.CPU, r.CPU, "schedstat")
	add(explain.RunQueue, r.Queue, r.QueueHigh, "schedstat")
	return rep
}

// host is what all did on the CPUs.
func (m *Minute) host(r service.Reading, cpus int) {
	m.Host.CPUs = cpus
	if all := r.At * float64(cpus); all > 0 && r.Busy != nil {
		m.Host.Busy, m.Host.Steal = unit(*r.Busy/all), unit(*r.Steal/all)
		m.Host.Foreign = unit((*r.Busy - r.CPU) / all)
	}
}

// unseen says of each lever that nothing was seen of what would show it.
func (m *Minute) unseen(trips string) {
	sessions := "only sessions of a database tell it"
	if m.Why != "" {
		sessions = m.Why
	}
	for name, why := range map[string]string{
		Clock:   "no counter of cycles of its threads, nor of the CPUs, is open here",
		Idle:    "wake-ups were not watched; that takes root and BTF",
		SMT:     "no CPU of this host shares a core with another",
		CPUs:    "this kernel counts no waits for a CPU (schedstat)",
		Log:     sessions,
		Data:    sessions,
		Network: trips,
		Memory:  "page walks take counters that this host does not show (PMU)",
	} {
		if m.Unseen[name] == "" {
			m.Unseen[name] = why
		}
	}
}

// Second is one stretch of the minute: what the service used in it, in seconds per second.
type Second struct {
	At    float64 `json:"at"` // its end, s since the beginning
	CPU   float64 `json:"cpu"`
	Queue float64 `json:"run_queue"`
	Busy  float64 `json:"cpus_busy"` // CPUs, of anybody
}

// Stretches are the minute second by second.
func (m *Minute) Stretches() (out []Second) {
	var before service.Reading
	for _, r := range m.Seconds {
		if d := r.At - before.At; d > 0.1 {
			s := Second{At: r.At, CPU: max(0, r.CPU-before.CPU) / d, Queue: max(0, r.Queue-before.Queue) / d}
			if r.Busy != nil {
				s.Busy = *r.Busy / d
				if before.Busy != nil {
					s.Busy = (*r.Busy - *before.Busy) / d
				}
			}
			out, before = append(out, s), r
		}
	}
	return slices.Clip(out)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(max(d, time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
