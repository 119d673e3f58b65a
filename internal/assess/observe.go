package assess

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/stats"
	"hostlab/internal/trace"
	"hostlab/internal/waits"
)

// threads reads the counters of the service's threads.
type threads struct {
	meter    *service.Meter // nil: none of its processes is here
	readings []service.Reading
}

// pause is until the next look. A service that ends soon has been seen once.
func (t *threads) pause(lasts time.Duration) time.Duration {
	switch {
	case t.meter == nil:
		return lasts
	case len(t.readings) == 0:
		return time.Second
	}
	return t.meter.Pause
}

// seldom is how many times as seldom stretches are looked at as a minute is: there are many of them.
const seldom = 4

func (o *Options) rarely() int {
	if o.Stretch {
		return seldom
	}
	return 1
}

// look reads once. Its only error is that the service ended.
func (t *threads) look() error {
	if t.meter == nil {
		return nil
	}
	r, err := t.meter.Read()
	if err == nil {
		t.readings = append(t.readings, r)
	}
	return err
}

func (t *threads) last() (r service.Reading) {
	if n := len(t.readings); n > 0 {
		r = t.readings[n-1]
	}
	return r
}

func (t *threads) fill(m *Minute, cpus int) {
	last := t.last()
	m.Readings, m.Throttled = t.readings, last.Throttled
	if t.meter != nil {
		m.Greedy = greedyOf(t.meter.Uses(), last.At)
		m.host(last, cpus)
		m.Host.Allowed, m.Host.Sets = len(allowed(m.Service.PID)), m.Service.CPUSets(cpus)
	}
	if last.NoQueue != "" {
		m.Unseen[lever.CPUs] = last.NoQueue
	}
}

// beside sees which other programs use CPUs.
type beside struct {
	of     *service.Service
	before proc.Census
	memory map[string]float64 // hits of each limit before, by its file
	came   interruptions
	disks  []service.Throttle
	moved  *movers // nil: not counted
	began  time.Time
	claims []host.Claims
}

func (b *beside) start(s *service.Service) {
	b.of, b.before, b.memory, b.came = s, proc.TakeCensus(pods.GroupOf), map[string]float64{}, countInterrupts()
	b.disks, b.began = s.Throttles(), time.Now()
	for _, c := range s.Ceilings() {
		b.memory[c.File] = c.Hits
	}
	for _, c := range s.Containers { // now: their first processes may end meanwhile
		b.claims = append(b.claims, host.ReadClaims(host.Tree{}, c.PID, c.String(), c.Group, c.UID != ""))
	}
}

// mostTakers is how many programs a minute keeps.
const mostTakers = 10

func (b *beside) fill(m *Minute) {
	if b.of == nil {
		return
	}
	came := countInterrupts()
	m.Interrupts, m.Loads = came.since(b.came, allowed(b.of.PID)), came.loads(b.came)
	m.Throttles = throttlesOf(b.disks, b.of.Throttles(), time.Since(b.began).Seconds())
	now := proc.TakeCensus(pods.GroupOf)
	ours := now.Below(append(b.of.Processes(), os.Getpid())...)
	takers := now.Takers(b.before, func(s proc.Stat, group string) bool { return ours[s.PID] || b.of.Holds(group) })
	var names *pods.Names
	takers = takers[:min(mostTakers, len(takers))]
	members := b.of.Members()
	if b.moved != nil {
		m.Mover = countMovers().since(b.moved, members, ours)
	}
	var all []int
	for _, t := range takers {
		all = append(all, t.PIDs()...)
	}
	clients, hidden := proc.ClientsAmong(all, members), slices.ContainsFunc(members, proc.Hides)
	for _, of := range takers {
		t := Taker{Taker: of}
		named := t.PIDs()
		t.Client = !slices.ContainsFunc(named, func(pid int) bool { return !clients[pid] })
		t.Unsure = !t.Client && !t.Kernel && b.of.Kind != service.Demo &&
			(hidden || slices.ContainsFunc(named, proc.Hides))
		if s, err := proc.Read(t.PID); err != nil || s.Ended() {
			t.PID = 0
		} else {
			t.Sharing, t.Script = proc.Shares(t.PID, b.of.PID), proc.Script(t.PID, t.Name)
			for _, pid := range t.Others { // which may run others
				if t.Script != "" && proc.Script(pid, t.Name) != t.Script {
					t.Script = ""
				}
			}
		}
		if _, is := pods.Of(t.Group); is && names == nil {
			names = pods.Read()
		}
		if names != nil {
			t.Container = names.In(t.Group, t.PID)
		}
		m.Takers = append(m.Takers, t)
	}
	m.Counted, m.Quota, m.Claims = true, b.of.Quota(), b.claims
	for _, c := range b.of.Ceilings() { // the one that was reached most
		if c.Hits -= b.memory[c.File]; m.Memory == nil || c.Hits > m.Memory.Hits {
			m.Memory = c
		}
	}
}

// trips counts requests of clients of other hosts.
type trips struct {
	network *service.Network
	why     string // why it does not
}

func (t *trips) start(o Options) {
	if o.Port == 0 {
		t.why = cmp.Or(o.NoPort, "the service's network port is not known, so its clients' round trips are not counted")
		return
	}
	t.take(service.NewNetwork(o.Port))
}

func (t *trips) take(n *service.Network, err error) {
	if t.network = n; err != nil {
		t.network, t.why = nil, err.Error()
	}
}

func (t *trips) look() {
	if t.network != nil {
		t.take(t.network, t.network.Look())
	}
}

func (t *trips) fill(m *Minute) {
	if t.network != nil {
		all := t.network.Trips()
		m.Trips = &all
	}
}

// scheduler asks the kernel's, or else its counters.
type scheduler struct {
	seen   *trace.Result
	err    error // why it was not asked
	bounds []trace.Bound
	length float64 // s of bounds
}

func (x *scheduler) watch(ctx context.Context, s *service.Service, sessions bool, o Options) {
	c := trace.Config{Target: Target(s), For: o.For, Chains: true, Sessions: sessions}
	if sessions && s.PID != 0 { // of PostgreSQL, which knows its symbol
		if w, err := waits.OpenWords(s.PID); err == nil { // else waits are named by their system calls
			defer w.Close()
			c.Words = w
		}
	}
	if !o.Bursts {
		c.Budget = recording
	}
	record := trace.Record
	if o.Programs != nil {
		record = o.Programs.Record
	}
	if x.seen, x.err = record(ctx, c); x.err != nil {
		x.bounds, x.length = trace.BoundsOf(ctx, c)
	}
}

func (x *scheduler) fill(m *Minute, facts *host.Facts) {
	m.scheduled(x.seen, x.err)
	switch {
	case x.seen != nil:
		m.Scheduler, m.Bursts, m.Programs = x.seen.Summary(), x.seen, x.seen.Cost.Programs
		m.Ends = x.seen.Ends
	case x.err != nil:
		m.Scheduler = &trace.Summary{Reason: x.err.Error(), Seconds: x.length, Bounds: x.bounds}
	}
	m.bounded(x.bounds, facts)
}

// sessions asks a database what its sessions do.
type sessions struct {
	source explain.Source // nil: it was not asked
	report explain.Report
	err    error
}

func (x *sessions) watch(ctx context.Context, source explain.Source, o Options) {
	x.source = source
	x.report, x.err = explain.Record(ctx, source,
		explain.Options{For: o.For, Tool: o.Tool, Part: asking, Rarely: o.rarely(),
			Texts: o.Texts, Progress: o.Progress})
}

// fill takes the account of sessions, or else that of threads.
func (x *sessions) fill(m *Minute, w *watching, interrupted bool) {
	rep := x.report
	switch {
	case x.err != nil:
		m.Why = x.err.Error()
	case rep.Hidden && rep.Busy <= 0 && w.of.Here():
		m.Why = "this user cannot see its sessions"
	default:
		m.Connected = x.source != nil
	}
	if m.Report = rep; m.Connected {
		m.Stopped, m.Asked = w.halts.stopped(), m.serversOf(w.of.Members())
	} else {
		m.Report = ofThreads(w.of, w.threads.readings, withLocks(w.blocked.parts(m.short()), w.scheduler.locks(w.threads.last().At, w.of)),
			w.began, w.options.Tool)
		members := w.of.Members()
		m.Asked, m.Report.Missing = w.blocked.asked(members), rep.Missing
		m.Full, m.Threads = w.blocked.busy()
		m.Stopped, m.Interpreter = w.blocked.stopped(), w.blocked.interpreter()
		m.Collector, m.Requests = w.blocked.collector(), w.blocked.unread.mean()
		m.Child, m.Reader, m.Keeper = w.blocked.child(), w.blocked.reader(members), w.blocked.keeper(members)
		m.Files = w.blocked.onFiles(members)
		if m.Requests != nil {
			m.Requests.TLS = encrypts(w.of.PID)
		}
		if interrupted {
			rep.Ended = explain.Interrupted
		}
	}
	m.Ended = cmp.Or(m.Ended, rep.Ended)
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
		m.Unseen[lever.SMT], m.Alone = r.NoOverlap, r.Alone
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
		own, m.Host.Guest = known && hypervisor == "none", known && hypervisor != "none"
	}
	m.Bounds = map[string]Bounded{}
	for _, b := range bounds {
		switch {
		case b.Name == trace.BesideSibling && b.Value == nil:
			m.Unseen[lever.SMT], m.Alone = b.Reason, b.Alone
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

// scripts run in one thread, and their helpers' threads wait for work of it.
var scripts = []string{"node", "nodejs", "deno", "bun"}

// parks reports a program whose threads wait where they have nothing to do: of JavaScript, or of Go, which takes who
// waits for a lock off its thread (runtime, HACKING.md).
func parks(pid int) bool {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if program, _ := os.Readlink(exe); slices.Contains(scripts, filepath.Base(program)) {
		return true
	}
	f, err := elf.Open(exe)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Section(".go.buildinfo") != nil
}

// locks are the waits for locks of a service that tells no sessions. wall is in s.
func (x *scheduler) locks(wall float64, of *service.Service) []explain.Part {
	if x.seen == nil || x.seen.Ends == nil || len(x.seen.Ends.Windows) < followed || parks(of.PID) {
		return nil
	}
	a := x.seen.Ends
	each := stats.RatioOfSums(a.Each(explain.Locks, ofLocks), a.Lengths, 0.05)
	p := explain.Part{Name: explain.Locks, Seconds: each.Value * wall, Source: "the scheduler's windows",
		Share: result.Estimate{Value: each.Value * wall, Low: max(0, each.Low) * wall, High: each.High * wall, N: each.N,
			Evidence: result.Measured}}
	return []explain.Part{p}
}

// ofThreads is the account of a service that tells no sessions: its threads on a CPU, ready for one, and off it where
// they have work: blocked until a device has done it, or for what another thread does. Threads that wait otherwise may
// have nothing to do, so their time is no part.
func ofThreads(s *service.Service, readings []service.Reading, off []explain.Part, began time.Time,
	tool string) explain.Report {
	var r service.Reading
	if n := len(readings); n > 0 {
		r = readings[n-1]
	}
	active := r.CPU + r.Queue // on a CPU alone, where the wait for one is not known
	for _, p := range off {
		active += p.Seconds
	}
	rep := explain.Report{Vendor: s.Name, Tool: tool, Started: began, Wall: r.At, Elapsed: active, Busy: active,
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
	rest := active - r.Queue
	add(explain.DatabaseCPU, service.RunSource, r.CPU, r.CPU*active/(rest+max(r.Queue, r.QueueHigh)),
		r.CPU*active/(rest+r.QueueLow()))
	if r.NoQueue == "" {
		add(explain.RunQueue, service.QueueSource, r.Queue, r.QueueLow(), r.QueueHigh)
	}
	for _, p := range off {
		if active > 0 {
			p.Share.Value, p.Share.Low, p.Share.High = p.Share.Value/active, p.Share.Low/active, min(1, p.Share.High/active)
		}
		rep.Parts = append(rep.Parts, p)
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
