package assess

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
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
	Facts  *host.Facts
	Clock  ClockSource // nil: what this host counts
	Texts  bool        // the texts of statements are wanted, too
	Bursts bool        // that are to be written: the recorder of the scheduler may take what it does alone
	// Stretch is set where this is one of many, so that no power policies are simulated for it; Counters, where the
	// scheduler is not recorded, the clock of the CPUs not read, no pooler asked, and not counted who moves most on disks.
	Stretch, Counters bool
	Programs          *trace.Programs // of the scheduler's recorder, which stay loaded; nil: it loads its own
	// Progress is called now and then with the time done; may be nil.
	Progress func(done time.Duration)
}

// The whole minute stays below 1 % of the CPU time: the recorder takes at most this share of what is in
// use, questions to the database 0.35 % of one CPU, and counters of threads 0.2 % of one.
const (
	recording = 0.0025
	asking    = 0.5 // of what a recording may ask by itself
)

// Watch watches a service. source is its database, where one could be reached; nil: only its
// processes are observed, and why says why not. When ctx or the service ends, the minute has
// what was seen until then, and Ended says so.
func Watch(ctx context.Context, s *service.Service, source explain.Source, why string, o Options) (*Minute, error) {
	m := &Minute{Service: *s, Why: why, Local: o.Local, Unseen: map[string]string{}}
	w := &watching{of: s, options: o, began: time.Now()}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	w.ctx, w.stop = watched, stop
	if err := w.start(source); err != nil {
		return nil, err
	}
	defer w.close()
	if m.Ended = w.wait(source == nil); m.Ended != "" {
		stop()
	}
	w.beside.fill(m)
	w.cloud.fill(m)
	w.traffic.fill(m)
	w.all.Wait()
	if err := w.nothing(); err != nil {
		return nil, err
	}
	w.sessions.fill(m, w, ctx.Err() != nil)
	w.threads.fill(m, o.CPUs)
	w.kernel.fill(m, w.of)
	m.plausible()
	m.adopted()
	w.trips.fill(m)
	w.scheduler.fill(m, o.Facts)
	m.whoAnswers(w.of)
	m.Ender = m.enders()
	m.divide()
	w.poolers.fill(m)
	w.commands.fill(ctx, m)
	m.uncounted()
	if !o.Stretch { // of many stretches, all of them together say it
		m.Report.Missing = append(m.Report.Missing, m.unfollowed(w.scheduler.err)...)
	}
	w.clock.fill(m, w, o.Facts)
	if ctx.Err() == nil && s.Here() && !o.Stretch {
		m.Policies = predictPolicies(ctx, w.scheduler.seen, w.scheduler.err, o.Facts)
	}
	m.missing(w.trips.why)
	return m, nil
}

// watching is what looks at a service, each part by itself.
type watching struct {
	ctx     context.Context
	stop    context.CancelFunc
	of      *service.Service
	options Options
	began   time.Time
	all     sync.WaitGroup // of those that run beside the loop

	threads   threads
	beside    beside
	poolers   poolers
	commands  commands
	blocked   blocked
	halts     halts
	kernel    kernelWork
	trips     trips
	scheduler scheduler
	sessions  sessions
	clock     clockMeter
	cloud     *cloudMeter // nil: its host is another
	traffic   *trafficMeter
}

// start begins to look.
func (w *watching) start(source explain.Source) (err error) {
	o := w.options
	if w.of.Here() {
		if w.threads.meter, err = w.of.NewMeter(); err != nil {
			return err
		}
		w.beside.start(w.of)
		w.cloud = newCloudMeter(o.Facts)
		w.traffic = newTrafficMeter(host.ResctrlDir, o.Facts)
		if !o.Counters {
			w.beside.moved = countMovers()
			w.poolers.start(w.ctx, w.of, o.For)
			w.commands.start(w.ctx, w.of)
			w.all.Go(func() { w.kernel.watch(w.ctx, w.of, o.For) })
		}
	}
	w.trips.start(o)
	w.clock.source = o.Clock
	if w.of.Here() {
		if o.Clock == nil && !o.Counters {
			w.clock = newClockMeter(Target(w.of))
		}
		if !o.Counters {
			w.all.Go(func() { w.scheduler.watch(w.ctx, w.of, source != nil, o) })
		}
		if source == nil {
			w.all.Go(func() { w.blocked.watch(w.ctx, w.of, o.For) })
		} else {
			w.all.Go(func() { w.halts.watch(w.ctx, w.of, o) })
		}
	}
	if !o.Counters {
		w.all.Go(func() { w.clock.watch(w.ctx, o.For) })
	}
	if source != nil {
		w.all.Go(func() {
			defer w.stop()
			w.sessions.watch(w.ctx, source, o)
		})
	}
	return nil
}

func (w *watching) close() {
	if w.threads.meter != nil {
		w.threads.meter.Close()
	}
	w.clock.close()
}

// wait looks now and then until the time is over, and says why it was over early; "" where it was not.
func (w *watching) wait(progress bool) string {
	for {
		pause := w.threads.pause(w.options.For)
		if len(w.threads.readings) > 0 { // the first is soon, since the service may end
			pause *= time.Duration(w.options.rarely())
		}
		wait(w.ctx, min(pause, time.Until(w.began.Add(w.options.For))))
		over := w.ctx.Err() != nil || time.Since(w.began) >= w.options.For
		if over {
			proc.Recent() // for all that looks at processes at the end
		}
		if err := w.threads.look(); err != nil {
			return "the service ended"
		}
		if over || !w.options.Stretch { // each look walks all connections of the host
			w.trips.look()
		}
		if progress && w.options.Progress != nil {
			w.options.Progress(time.Since(w.began))
		}
		if over {
			return ""
		}
	}
}

// nothing is the error of a minute in which nothing was seen.
func (w *watching) nothing() error {
	switch {
	case len(w.threads.readings) > 0:
		return nil
	case w.of.Here():
		return service.ErrEnded
	}
	return w.sessions.err
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

// missing says of each lever that nothing was seen of what would show it.
func (m *Minute) missing(trips string) {
	sessions := "only a database's sessions show it"
	if m.Why != "" {
		sessions = m.Why
	}
	if m.Away() {
		there := "its processes run on another host; run hostlab there"
		if m.Service.Near {
			there = nearby
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
		m.Unseen[name] = cmp.Or(m.Unseen[name], why)
	}
}

// Cautions say what the minute does not speak of. beside is set where the host is reported, too.
func (m *Minute) Cautions(beside bool) (list []string) {
	if m.Ended != "" {
		list = append(list, fmt.Sprintf("Watching ended early, after %.0f s: %s.", m.Report.Wall, m.Ended))
	}
	switch {
	case !m.Away() || !beside:
	case m.Service.Near:
		list = append(list, "Facts, checks and probes describe this host, on which no process of "+m.name()+" shows.")
	default:
		list = append(list, "Facts, checks and probes describe this host, which is not the host of "+m.name()+".")
	}
	return append(list, m.Report.Warnings...)
}

// Early is the error of a minute that ended early; nil: it did not.
func (m *Minute) Early() error {
	if m.Ended == "" {
		return nil
	}
	return fmt.Errorf("%s was watched for only %.1f s: %s", m.name(), m.Report.Wall, m.Ended)
}

// wait waits for so long, 1 ms at least, or until ctx ends.
func wait(ctx context.Context, d time.Duration) { _ = proc.Sleep(ctx, max(d, time.Millisecond)) }
