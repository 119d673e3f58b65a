package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/workload"
)

type watch struct {
	ctx     context.Context
	on      *service.Reached
	page    *page
	request workload.Request
	every   time.Duration

	meter       *service.Meter // nil: the service is of another host
	own         int64          // process or thread of the service that serves our session; 0: none, or not known
	noQueue     string         // why the wait for a CPU is not known
	first, last point
	failed      error // of a look
	harm        error // what Look said
	intact      bool  // it was cancelled, and the next run can go on with the same connection
}

// point is what all counters stood at.
type point struct {
	at         time.Time
	cpu, queue float64    // s
	requests   *histogram // nil: no page
}

// open begins to count what processes use.
func (w *watch) open() (err error) {
	if !w.on.Of.Here() {
		return nil
	}
	meter, err := w.on.Of.NewMeter()
	if err != nil {
		return w.ended(err)
	}
	w.meter = meter
	if h, ok := w.on.Source.(explain.Hosted); ok {
		_, w.own, _ = h.Process()
	}
	r, err := w.meter.Read()
	w.noQueue = r.NoQueue
	return w.ended(err)
}

// ended says that the service has, where that is what went wrong.
func (w *watch) ended(err error) error {
	if !errors.Is(err, service.ErrEnded) {
		return err
	}
	who := w.on.Of.Name
	if w.on.Of.PID != 0 {
		who += fmt.Sprintf(" (process %d)", w.on.Of.PID)
	}
	return &workload.Restarted{Err: fmt.Errorf("%s has ended or was restarted%s", who, w.after())}
}

func (w *watch) after() string {
	if w.first.at.IsZero() {
		return ""
	}
	return " after " + result.Format(time.Since(w.first.at).Seconds(), "s") + " of the run"
}

// patience is for how long the end of a server may come after that of its session.
const patience = time.Second

// lost says why the session with the database broke: mostly because the server has ended.
func (w *watch) lost(cause error) error {
	for end := time.Now().Add(patience); w.on.Of.Here(); time.Sleep(50 * time.Millisecond) {
		if w.on.Of.Ended() {
			return fmt.Errorf("%w: %w", w.ended(service.ErrEnded), cause)
		}
		if time.Now().After(end) || w.ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("the session with %s was lost%s: %w", w.on.Of.Name, w.after(), cause)
}

func (w *watch) read() (p point, err error) {
	if w.meter != nil {
		r, err := w.meter.Read()
		if err != nil {
			return p, w.ended(err)
		}
		p.cpu, p.queue = r.CPU, r.Queue
		if w.own != 0 {
			if run, queue, err := explain.SchedStat(w.own); err == nil {
				p.cpu, p.queue = p.cpu-run.Seconds(), p.queue-queue.Seconds()
			}
		}
	}
	p.at = time.Now()
	if w.page != nil {
		p.requests, err = w.page.read(w.ctx)
	}
	return p, err
}

// look takes what was seen since the last one; nil: the run begins. Its error ends the run.
func (w *watch) look(s *explain.Stretch) error {
	p, err := w.read()
	if err == nil && s != nil {
		err = w.fell(p, s)
	}
	if err != nil {
		w.failed = err
		return err
	}
	if s == nil {
		w.first, w.last = p, p
		return nil
	}
	bin := w.between(w.last, p)
	if w.on.Source != nil {
		w.tell(&bin, w.ofStretch(s))
	}
	w.last = p
	if w.request.Look == nil || bin.wall < w.every.Seconds()/2 { // a short rest says little
		return nil
	}
	at := p.at.Sub(w.first.at)
	w.harm = w.request.Look(workload.Bin{At: at, Lasted: time.Duration(bin.wall * float64(time.Second)),
		Values: bin.values()})
	return w.harm
}

// fell says that counters began anew, so that nothing is known of the run.
func (w *watch) fell(p point, s *explain.Stretch) error {
	const coarse = 0.05 // s: of threads that have ended, the kernel counts ticks
	if s.Reset {
		return &workload.Restarted{Err: fmt.Errorf(
			"the counters of %s started again%s: it has restarted, or someone reset them",
			w.on.Of.Name, w.after())}
	}
	if p.cpu < w.last.cpu-coarse {
		return w.ended(service.ErrEnded)
	}
	if p.requests != nil {
		if _, err := p.requests.since(w.last.requests); err != nil {
			return fmt.Errorf("%s: %w", w.page.at, err)
		}
	}
	return nil
}

// between is what processes and the application did from one point to another.
func (w *watch) between(from, to point) (s seen) {
	s.wall = to.at.Sub(from.at).Seconds()
	s.cpu, s.queue = amount{is: max(0, to.cpu-from.cpu)}, amount{max(0, to.queue-from.queue), w.noQueue}
	s.busy = amount{s.cpu.is + s.queue.is, w.noQueue}
	if w.meter == nil {
		s.cpu = unknown("the service runs on another host or is hidden: its processes cannot be seen here")
		s.queue, s.busy = s.cpu, s.cpu
	}
	s.untold()
	if to.requests != nil {
		if n, err := to.requests.since(from.requests); err == nil { // else look has failed
			s.latency.p50, s.latency.p99, s.latency.mean = n.quantiles(s.wall)
			s.transactions = amount{is: n.count()}
		}
	}
	s.arrivals = s.transactions
	return s
}

// sessionTime is what sessions of a database did in a stretch.
type sessionTime struct {
	transactions amount
	parts        map[explain.PartName]float64
	active       *float64 // s, as the server counts it; nil: sampled alone
	hidden       bool     // sessions of other users do not show
}

// tell adds what sessions did.
func (w *watch) tell(s *seen, t sessionTime) {
	if s.transactions = t.transactions; w.page == nil {
		s.arrivals = t.transactions
	}
	why := ""
	if t.hidden {
		why = "this user cannot see the sessions of other users"
		for _, m := range w.on.Source.Server().Missing {
			if strings.Contains(m, "grant") {
				why = m
			}
		}
	}
	busy := 0.0
	for name, seconds := range t.parts {
		if name != explain.Idle {
			busy += seconds
		}
	}
	s.busy, s.log = amount{busy, why}, amount{t.parts[explain.LogWait], why}
	if s.elapsed = (amount{max(0, busy-t.parts[explain.Application]), why}); t.active != nil {
		s.elapsed = amount{is: *t.active}
	}
}

// ofStretch is what a look saw of sessions.
func (w *watch) ofStretch(x *explain.Stretch) sessionTime {
	return sessionTime{counted(x.Transactions, nil), x.Parts, x.Active, w.on.Source.Server().Hidden}
}

// ofReport is what a run saw of them.
func ofReport(r *explain.Report) sessionTime {
	parts := map[explain.PartName]float64{}
	for _, p := range r.Parts {
		parts[p.Name] = p.Seconds
	}
	return sessionTime{counted(r.Transactions, r.Missing), parts, r.Active, r.Hidden}
}

// counted is a number of transactions; missing may say why it is not known.
func counted(n int64, missing []string) amount {
	if n >= 0 {
		return amount{is: float64(n)}
	}
	for _, m := range missing {
		if strings.Contains(m, "transactions there were") {
			return amount{why: "unknown " + m}
		}
	}
	return unknown("the server does not count transactions")
}
