package explain

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/thread"
)

// Options say how to record.
type Options struct {
	For      time.Duration
	Interval time.Duration // mean time between samples; 0: chosen by what one costs
	Tool     string        // version of the program, for the report
	// Part is the share of the usual questions that it may ask, where others watch too; 0: all.
	Part float64
	// Rarely is how many times as seldom it samples, counts and names as it would; 0: once.
	Rarely int
	// Progress is called now and then with the time done; may be nil.
	Progress func(done time.Duration)
	// Look is called when the recording begins, with nil, then every Every with what was seen
	// since, and at its end with the rest. Its error ends the recording, as Ended says. May be nil.
	Look  func(*Stretch) error
	Texts bool // the texts of statements are wanted, too
	Every time.Duration
	// timeOfDay may be stepped; nil: this host's.
	timeOfDay func() time.Time
}

// Record watches a server and says where its sessions' time went. When ctx ends, or
// the server goes away, the report is of what was seen until then, Ended says so and
// the error is nil: there is none unless nothing was seen at all. Time is monotonic.
func Record(ctx context.Context, src Source, o Options) (Report, error) {
	if o.timeOfDay == nil {
		o.timeOfDay = func() time.Time { return time.Now().Round(0) }
	}
	r := &recorder{src: src, Options: o, growth: map[string]int64{}}
	return r.run(ctx)
}

// patience is for how long one question may take. A server that is stopped or
// overloaded so much is not explained but noticed.
const patience = 10 * time.Second

type recorder struct {
	Options
	src Source

	batches []Batch
	open    Batch // since the last count
	last    Counters
	growth  map[string]int64
	grown   []Growth // by stretch
	covered float64
	costs   []float64 // s of CPU time, of the last samples
	slower  float64   // factor on the time between samples
	asked   float64   // s until answers came, in all
	paid    float64   // s of CPU time for questions and answers, in the server and here, in all
	cpu     float64   // of the server's side, at the last look
	used    float64   // the same, as last reported
	looked  float64   // of looks without questions
	first   float64   // the same, before the recording
	reports bool
	masked  int
	named   map[Key]bool // that were seen
	peak    int
	seen    int // snapshots with a client session at work
	resets  int
	shown   struct{ stretches, resets int } // at the last Look
	totals  *Totals
	untold  string // why the server tells nothing as a whole; "": it was not asked, or answered
	names   names
	copies  *Copies // nil: reads were none, as far as that shows
}

// Interrupted is why a recording ended (Report.Ended) whose context did, and which broke off no question.
const Interrupted = "interrupted"

func (r *recorder) run(ctx context.Context) (Report, error) {
	// A question under way when we are interrupted may still be answered, as a broken-off
	// one costs the connection and with it the counters; but not for long.
	ask, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })()

	server := r.src.Server()
	if b, ok := r.src.(Begins); ok {
		b.Begin()
	}
	r.Rarely = max(r.Rarely, 1)
	tick := min(max(time.Second, r.For/600), 10*time.Second)
	err := r.count(ask, 0)
	if err != nil {
		return Report{}, err
	}
	if _, err = r.sample(ask, 0); err != nil { // the first is slow, and has no time before it
		return Report{}, err
	}
	if r.Look != nil {
		if err := r.Look(nil); err != nil {
			return Report{}, err
		}
	}
	first := r.begin(ask)
	r.costs, r.asked, r.paid = nil, 0, 0
	start, wall := time.Now(), r.timeOfDay()
	began, reports := r.own()
	asked, looked, looks := r.looks()
	r.first = looked
	if looks {
		tick = max(tick, min(eased, r.For/20))
	}
	tick *= time.Duration(r.Rarely)
	here, _ := thread.ProcessCPU()
	p := &pass{recorder: r, ask: ask, server: server, tick: tick, start: start, last: start, counted: start, kept: start,
		due: start.Add(r.Every)}
	ended := p.until(ctx)
	if len(r.batches) == 0 {
		if ended != "" && ended != Interrupted {
			return Report{}, fmt.Errorf("the server went away before anything was seen: %s", ended)
		}
		return Report{}, context.Canceled
	}
	if ended == "" || ended == Interrupted {
		r.totals = TotalsOf(first, r.tell(ask), time.Since(start).Seconds())
	}
	rep := r.report(server, p.kept.Sub(start).Seconds())
	if r.untold != "" {
		rep.Missing = append(rep.Missing, "what the server counts as a whole, as checkpoints and connections: "+r.untold)
	}
	rep.Started, rep.Samples, rep.Ended = wall, p.samples, ended
	if p.glances > 0 {
		now, _, _ := r.looks()
		rep.Looks, rep.Questions = p.glances, now-asked
	}
	if p.samples > 0 {
		rep.Interval = rep.Wall / float64(p.samples)
	}
	if total := time.Since(start).Seconds(); total > 0 {
		rep.Cost, rep.CostAtMost = r.asked/total, true
		if used, ok := r.own(); ok && reports {
			now, _ := thread.ProcessCPU()
			rep.Cost, rep.CostAtMost = (used-began+(now-here).Seconds())/total, false
		}
		if step := r.timeOfDay().Sub(wall).Seconds() - total; step > 0.5 || step < -0.5 {
			rep.Warnings = append(rep.Warnings, "this host's clock was stepped by "+trim(step)+
				" s meanwhile; times here do not come from it")
		}
	}
	return rep, nil
}

// pass is a recording under way.
type pass struct {
	*recorder
	ask     context.Context //nolint:containedctx // of one recording
	server  Server
	tick    time.Duration // between counts
	start   time.Time
	last    time.Time // sample
	counted time.Time // last time
	kept    time.Time // up to which samples and counters agree
	due     time.Time // next Look
	samples int
	glances int // of those, that asked nothing
}

// until records until the time is over, and says why that was early; "" where it was not.
func (p *pass) until(ctx context.Context) string {
	for {
		left := p.For - time.Since(p.start)
		if ctx.Err() != nil || left <= 0 {
			return p.finish(ctx.Err() != nil)
		}
		looked := p.glance(ctx, left)
		if !looked {
			select {
			case <-ctx.Done():
				continue
			case <-time.After(min(left, p.next(p.server, time.Since(p.start).Seconds()))):
			}
		}
		now := time.Now()
		if err := p.step(now, looked); err != nil {
			return err.Error()
		}
		if p.Progress != nil {
			p.Progress(now.Sub(p.start))
		}
	}
}

// step takes a sample where none was taken, which stands for the time since the one before, and counts and tells where that is due.
func (p *pass) step(now time.Time, looked bool) error {
	if !looked {
		n, err := p.sample(p.ask, now.Sub(p.last).Seconds())
		if err != nil {
			return err
		}
		p.samples += n
	}
	p.last = now
	looks := p.Look != nil && !now.Before(p.due)
	if looks || now.Sub(p.counted) >= p.tick || len(p.batches) == 0 && now.Sub(p.counted) >= time.Second { // soon something is kept
		if err := p.count(p.ask, now.Sub(p.counted).Seconds()); err != nil {
			return err
		}
		p.counted, p.kept = now, now
	}
	p.name(p.ask, now) // of sessions that came with the counters: who held a lock then holds it still
	if !looks {
		return nil
	}
	for p.due = p.due.Add(p.Every); !p.due.After(now); p.due = p.due.Add(p.Every) { // it took too long
	}
	return p.look()
}

// finish counts the rest, and tells of it unless it was interrupted.
func (p *pass) finish(interrupted bool) string {
	if now := time.Now(); now.Sub(p.counted) > 0 && p.open.Snapshots > 0 {
		if err := p.count(p.ask, now.Sub(p.counted).Seconds()); err != nil {
			return err.Error()
		}
		p.kept = p.last
	}
	if interrupted {
		return Interrupted
	}
	if err := p.look(); err != nil {
		return err.Error()
	}
	return ""
}

// look tells what was seen since the last time, if anything was.
func (r *recorder) look() error {
	from := r.shown.stretches
	if r.Look == nil || from == len(r.grown) && r.shown.resets == r.resets {
		return nil
	}
	seen, grown := Batch{}, Growth{}
	for i := from; i < len(r.grown); i++ {
		r.join(&seen, &grown, i)
	}
	s := r.stretch(seen, grown)
	s.Reset = r.resets > r.shown.resets
	r.shown.stretches, r.shown.resets = len(r.grown), r.resets
	return r.Look(&s)
}

// sample takes what the source has and adds it to the open stretch. seconds is the
// time since the sample before; 0: the first, which is not counted.
func (r *recorder) sample(ctx context.Context, seconds float64) (int, error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	shots, err := r.src.Sample(ctx)
	if err != nil {
		return 0, err
	}
	cost := r.pay(begin)
	r.costs = append(r.costs, cost)
	if len(r.costs) > 64 {
		r.costs = r.costs[1:]
	}
	if seconds == 0 {
		return 0, nil
	}
	for _, s := range shots {
		dt := seconds / float64(len(shots))
		if s.Seconds > 0 {
			dt = s.Seconds
		}
		r.add(s, dt)
	}
	return len(shots), nil
}

// add counts one snapshot that stands for dt seconds.
func (r *recorder) add(s Snapshot, dt float64) {
	if r.open.Seconds == nil {
		r.open.Seconds = map[Key]float64{}
	}
	r.open.Snapshots++
	r.open.Wall += dt
	r.masked = max(r.masked, s.Masked)
	busy := 0
	workers := map[int64][]*Session{}
	for i := range s.Sessions {
		if w := &s.Sessions[i]; w.Leader != 0 && w.Leader != w.ID {
			workers[w.Leader] = append(workers[w.Leader], w)
		}
	}
	for _, x := range s.Sessions {
		if x.Leader != 0 && x.Leader != x.ID {
			continue
		}
		if !x.Background && x.Part != Idle {
			busy += max(1, x.Times)
		}
		// Who waits for parallel workers does what they do.
		if team := workers[x.ID]; len(team) > 0 && x.Part == OtherWaits {
			for _, w := range team {
				r.open.Seconds[r.key(w, false)] += dt / float64(len(team))
			}
			continue
		}
		r.open.Seconds[r.key(&x, x.Background)] += dt * float64(max(1, x.Times))
	}
	if r.peak = max(r.peak, busy); busy > 0 {
		r.seen++
	}
}

// What a server may name: events in a recording, and counters. Those of databases are some hundreds. A name is cut
// at longest.
const mostEvents, mostCounters, longest = 2000, 2000, 120

// others are events beyond those.
const others = "others"

// key is what a sample is counted by.
func (r *recorder) key(x *Session, background bool) Key {
	k := Key{Part: x.Part, Event: screen.Cut(x.Event, longest), Background: background}
	if r.named == nil {
		r.named = map[Key]bool{}
	}
	if !r.named[k] && len(r.named) >= mostEvents {
		k.Event = others
		return k
	}
	r.named[k] = true
	return k
}

// count reads the counters and closes the open stretch, so that both cover the same
// time.
func (r *recorder) count(ctx context.Context, seconds float64) error {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := r.src.Count(ctx)
	if err != nil {
		return err
	}
	for name := range c.Values {
		if len(name) > longest || len(c.Values) > mostCounters {
			return fmt.Errorf("the server tells of %d counters, or calls one by a name too long, as no database does",
				len(c.Values))
		}
	}
	r.pay(begin)
	reset := r.last.Values != nil && c.Epoch != r.last.Epoch
	for name, v := range c.Values {
		if old, ok := r.last.Values[name]; ok && v < old {
			reset = true
		}
	}
	if r.last.Values != nil {
		if reset {
			r.resets++
		} else {
			r.covered += seconds
			grown := Growth{Seconds: seconds, Values: map[string]int64{}}
			for name, v := range c.Values {
				if old, ok := r.last.Values[name]; ok {
					grown.Values[name] = v - old
					r.growth[name] += v - old
				}
			}
			r.grown = append(r.grown, grown)
		}
	}
	r.last = c
	if seconds > 0 {
		if !reset { // otherwise what was counted of this stretch is lost, and what was sampled goes too
			if r.open.Seconds == nil {
				r.open.Seconds = map[Key]float64{}
			}
			r.batches = append(r.batches, r.open)
		}
		r.open = Batch{}
	}
	return nil
}

func (r *recorder) report(server Server, wall float64) Report {
	account := r.src.Account(Growth{Seconds: r.covered, Values: r.growth})
	sampled := map[string]float64{}
	for _, b := range r.batches {
		for k, s := range inOrder(b.Seconds, Key.compare) {
			if !k.Background && k.Part != Idle {
				sampled[k.Event] += s
			}
		}
	}
	if r.copies = copiesOf(r.batches, account, r.totals); r.copies != nil {
		r.copies.cached(r.batches, account)
		account = r.copies.account(account)
	}
	rep := Report{Tool: r.Tool, Vendor: server.Vendor, Version: server.Version, Target: server.Target,
		Wall: wall, Method: Method,
		Transactions: account.Transactions, TransactionsLow: account.TransactionsLow, Unlooked: account.Unlooked,
		TransactionsHigh: account.TransactionsHigh, Late: account.Late, Peak: r.peak, Seen: &r.seen, Active: account.Active,
		Hidden: server.Hidden || r.masked > 0, Log: account.Log, Totals: r.totals, Sampled: sampled, Copies: r.copies, Missing: slices.Concat(server.Missing, account.Missing),
		Warnings: account.Warnings}
	if account.Log.Average != nil {
		rep.Log.Stretches = r.logStretches()
	}
	if r.masked > 0 {
		rep.Missing = append(rep.Missing, strconv.Itoa(r.masked)+" sessions and processes of others are hidden from this user")
	}
	if r.resets > 0 {
		rep.Warnings = append(rep.Warnings,
			"the server's counters were reset meanwhile (or it restarted); the interval between the two readings around "+
				"that is left out")
	}
	var more []string
	if r.Rarely == 1 { // of one of many stretches, all of them together say it
		rep.late()
		rep.unlooked()
	}
	rep.Elapsed, rep.Parts, rep.Events, more = Decompose(r.batches, account)
	rep.Warnings = append(rep.Warnings, more...)
	for i := range rep.Events {
		rep.Events[i].Meaning = r.src.Meaning(rep.Events[i].Name)
	}
	rep.Busy = rep.Elapsed - rep.Part(Idle).Seconds
	if rep.Busy < 1e-9*rep.Elapsed {
		rep.Busy = 0
	}
	if rep.Part(Unexplained).Share.Value > tolerance {
		rep.Warnings = append(rep.Warnings, result.Share(rep.Part(Unexplained).Share.Value)+" of the time is unexplained")
	}
	for _, b := range r.batches {
		rep.Untold += b.Seconds[Key{Part: Unexplained, Event: Untold}]
	}
	rep.Untold = min(rep.Untold, rep.Part(Unexplained).Seconds)
	r.names.fill(&rep)
	r.local(rep.Blockers)
	rep.Course = r.course(&rep)
	rep.Vary()
	return rep
}
