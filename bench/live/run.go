//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/worker"
)

// record is a run: a line of the file.
type record struct {
	Time  time.Time         `json:"time"`
	Load  string            `json:"load"`
	Wall  float64           `json:"wall"`  // s that were watched
	Busy  float64           `json:"busy"`  // s of the service in it
	Cycle float64           `json:"cycle"` // share of sessions' time that is busy
	Parts map[string]part   `json:"parts"`
	Lever map[string]answer `json:"levers"`
	First string            `json:"first"`
	Truth []truth           `json:"truth"`
	Rate  float64           `json:"rate"` // transactions a second, by the clients
	Gain  *gain             `json:"gain"` // from taking the cause away; nil: it was not
	Host  assess.Host       `json:"host"`
	Notes []string          `json:"notes"`
}

// part is a share of the service's active time.
type part struct{ Value, Low, High float64 }

// answer is what is said of a lever.
type answer struct {
	Likely, Low, AtMost *float64
	Verdict             lever.Verdict
	Estimate            float64 // of the most, by values without their intervals
}

// truth is a part beside an independent count of it, all in shares of active time.
type truth struct {
	Part     string
	Got      part
	Low      float64 // what it is between
	High     float64
	Agree    bool
	Counters string
}

// gain is how much shorter the service's active time for the same work is without the cause.
type gain struct {
	Value, Low, High float64  // of active time
	Cycle            float64  // of the time from one transaction to the next, by the clients alone
	AtMost, Likely   *float64 // what was said before, of active time
	Estimate         float64  // the same as AtMost without intervals
}

// bench runs loads.
type bench struct {
	servers servers
	lasts   time.Duration
}

// running is a load at work.
type running struct {
	*load
	server   *server
	work     *worker.Session // clients, or the loops that are the service
	others   *worker.Session
	stop     context.CancelFunc
	sessions []int64 // the system's numbers of clients' threads in the server
	port     uint16
}

func (b *bench) begin(ctx context.Context, l *load) (r *running, err error) {
	r = &running{load: l, stop: func() {}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", l.Name, errors.Join(err, r.end()))
		}
	}()
	if l.Others.N > 0 {
		if r.others, err = worker.Start(ctx, "loops", l.Others.N); err != nil {
			return r, err
		}
		if err = r.others.Call(l.Others, nil); err != nil {
			return r, err
		}
	}
	if l.At.Vendor == nil {
		if r.work, err = worker.Start(ctx, "loops", l.Alone.N); err != nil {
			return r, err
		}
		prefer(r.work.PID(), l.rank())
		return r, r.work.Call(l.Alone, nil)
	}
	if r.server, err = b.servers.get(ctx, l.At); err != nil {
		return r, err
	}
	var evicting context.Context
	evicting, r.stop = context.WithCancel(ctx)
	go r.server.evict(evicting)
	c := l.Clients
	c.Vendor, c.Socket = l.At.Vendor.Name, r.server.socket()
	if r.work, err = worker.Start(ctx, "clients", 2); err != nil {
		return r, err
	}
	var s seen
	if err = r.work.Call(c, &s); err != nil {
		return r, err
	}
	r.port = s.Port
	time.Sleep(warm)
	r.sessions, err = r.server.sessions(ctx)
	for _, id := range r.sessions {
		rank(int(id), l.rank())
	}
	if l.rank() > 0 { // warm up again as it will be
		time.Sleep(warm)
	}
	return r, err
}

// warm is the time before a load is watched.
const warm = 700 * time.Millisecond

func (r *running) end() (err error) {
	r.stop()
	for _, s := range []*worker.Session{r.work, r.others} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if r.Clients.Trip > 0 {
		leave()
	}
	return err
}

func (r *running) look() (s seen, err error) {
	if r.At.Vendor == nil {
		return s, r.work.Call(loops{}, &s)
	}
	return s, r.work.Call(clients{}, &s)
}

func (r *running) source(ctx context.Context) (explain.Source, error) {
	if r.server == nil {
		return nil, nil //nolint:nilnil // a process tells nothing
	}
	d, err := connect.Parse(r.server.dsn())
	if err != nil {
		return nil, err
	}
	return connect.Open(ctx, d)
}

// run watches a load, and what becomes of it without its cause, in random order.
func (b *bench) run(ctx context.Context, l *load) (*record, error) {
	rec := &record{Time: time.Now().UTC().Truncate(time.Second), Load: l.Name}
	var with, without account
	steps := []func() error{func() (err error) { with, err = b.watch(ctx, l, rec); return err }}
	if l.Without != nil {
		steps = append(steps, func() (err error) { without, err = b.watch(ctx, l.Without, nil); return err })
		if rand.IntN(2) == 0 {
			slices.Reverse(steps)
		}
	}
	for _, s := range steps {
		if err := s(); err != nil {
			return nil, err
		}
	}
	if l.Without != nil {
		rec.Gain = with.gain(without, rec, l)
	}
	return rec, nil
}

// account is what a transaction took.
type account struct {
	each   float64 // s of the service's active time
	spread float64 // relative standard error, by the clients' times in stretches
	rate   float64 // transactions a second
}

// watch watches a load with the engine of assess, where rec is nil for its account alone.
func (b *bench) watch(ctx context.Context, l *load, rec *record) (a account, err error) {
	r, err := b.begin(ctx, l)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	pid := r.work.PID()
	if r.server != nil {
		pid = r.server.PID()
	}
	s, err := service.Spec{Kind: service.Process, Name: fmt.Sprint(pid)}.Find(nil, nil)
	if err != nil {
		return a, err
	}
	source, err := r.source(ctx)
	if err != nil {
		return a, err
	}
	if source != nil {
		defer source.Close()
	}
	before, err1 := r.look()
	c0 := r.count()
	lasts := b.lasts
	if l.Null {
		lasts = lasts * 3 / 5
	}
	m, err := assess.Watch(ctx, s, source, "", assess.Options{For: lasts, Port: r.port,
		Local: r.server != nil && r.port == 0, CPUs: runtime.NumCPU()})
	c1 := r.count()
	after, err2 := r.look()
	if err := errors.Join(err, err1, err2); err != nil {
		return a, err
	}
	if m.Ended != "" {
		return a, errors.New(m.Ended)
	}
	a = accountOf(m, before, after)
	if rec != nil {
		rec.fill(m, a)
		rec.Truth = r.truths(m, before, after, c0, c1)
	}
	return a, nil
}

func accountOf(m *assess.Minute, before, after seen) (a account) {
	a.rate = float64(after.Transactions-before.Transactions) / (after.At - before.At)
	if m.Report.Wall > 0 && a.rate > 0 {
		a.each = m.Report.Busy / m.Report.Wall / a.rate
	}
	// Time within transactions and their number in stretches make the error of their ratio.
	var in, n []float64
	last := before.totals
	for _, mark := range append(after.Marks, after.totals) {
		if mark.At < before.At || mark.At-last.At < 0.5*marking.Seconds() {
			continue
		}
		in, n = append(in, mark.Inside-last.Inside), append(n, float64(mark.Transactions-last.Transactions))
		last = mark
	}
	var sumIn, sumN, ss float64
	for i := range in {
		sumIn, sumN = sumIn+in[i], sumN+n[i]
	}
	if k := float64(len(in)); k > 1 && sumIn > 0 && sumN > 0 {
		for i := range in {
			e := in[i]/sumIn - n[i]/sumN
			ss += e * e
		}
		a.spread = math.Sqrt(ss * k / (k - 1))
	}
	return a
}

// gain is what taking the cause away gave.
func (a account) gain(without account, rec *record, l *load) *gain {
	ratio := without.each / a.each
	e := 1.96 * math.Hypot(a.spread, without.spread) * ratio
	g := &gain{Value: 1 - ratio, Low: 1 - ratio - e, High: 1 - ratio + e, Cycle: 1 - a.rate/without.rate}
	said := rec.Lever[cmp.Or(l.Bound, l.Lever)]
	g.AtMost, g.Likely, g.Estimate = said.AtMost, said.Likely, said.Estimate
	return g
}

// shareOf is a part as a share of active time.
func shareOf(r *explain.Report, e result.Estimate) part {
	f := 1.0
	if r.Busy > 0 {
		f = r.Elapsed / r.Busy
	}
	return part{e.Value * f, e.Low * f, e.High * f}
}

func (rec *record) fill(m *assess.Minute, a account) {
	r := &m.Report
	rec.Wall, rec.Busy, rec.Rate, rec.Host = r.Wall, r.Busy, a.rate, m.Host
	rec.Cycle = r.Busy / max(r.Elapsed, 1e-9)
	rec.Parts, rec.Lever, rec.Notes = map[string]part{}, map[string]answer{}, r.Warnings
	for _, p := range r.Parts {
		rec.Parts[string(p.Name)] = shareOf(r, p.Share)
	}
	for i, v := range m.Levers() {
		if i == 0 {
			rec.First = v.Name
		}
		a := answer{v.Estimate, v.Low, v.AtMost, v.Verdict, 0}
		switch {
		case v.Name == lever.Log || v.Name == lever.Data:
			a.Estimate = estimate(r, map[string]explain.PartName{lever.Log: explain.LogWait, lever.Data: explain.DataReads}[v.Name])
		case v.Name == lever.Network && v.AtMost != nil:
			a.Estimate = *v.AtMost // counted
		case v.Share != nil:
			a.Estimate = *v.Share
		}
		rec.Lever[v.Name] = a
	}
	application := r.Saving(explain.Application, nil)
	rec.Lever[string(explain.Application)] = answer{Likely: &application.Likely, AtMost: &application.AtMost,
		Estimate: estimate(r, explain.Application)}
}

// estimate is what could be gained at most if a part took no time, and all parts were certain.
func estimate(r *explain.Report, part explain.PartName) float64 {
	sure := *r
	sure.Parts = slices.Clone(r.Parts)
	for i := range sure.Parts {
		p := &sure.Parts[i]
		p.Share.Low, p.Share.High = 0, (p.Seconds+p.Within)/r.Elapsed
	}
	return sure.Saving(part, nil).AtMost
}
