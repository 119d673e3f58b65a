package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/workload"
)

// session keeps the connection over runs. After a run that failed it begins anew.
type session struct {
	cfg  workload.Config
	on   *service.Reached // nil: not yet, or no more
	page *page
}

func (s *session) connect(ctx context.Context, p *Params) error {
	if s.on != nil {
		return nil
	}
	a, err := asks(p)
	if err != nil {
		return err
	}
	s.page = a.page
	s.on, err = a.find(ctx)
	return err
}

// drop ends the connection, so that the next run makes a new one.
func (s *session) drop() {
	if s.on != nil {
		s.on.Close()
	}
	if s.page != nil {
		s.page.close()
	}
	s.on, s.page = nil, nil
}

func (s *session) Close() error {
	s.drop()
	return nil
}

// period is for how long a run watches.
func (s *session) period(r workload.Request) time.Duration {
	if s.cfg.Evidence == "" { // no study: one period
		return r.Params.(*Params).For.Duration
	}
	return Workload{}.Takes(r.Params, r.Block)
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	p := r.Params.(*Params)
	if err := s.connect(ctx, p); err != nil {
		return out, err
	}
	w := &watch{ctx: ctx, on: s.on, page: s.page, request: r, every: p.Every.Duration}
	defer func() {
		if err != nil && !w.intact {
			s.drop()
		}
	}()
	err = w.open()
	if w.meter != nil {
		defer w.meter.Close()
	}
	if err != nil {
		return out, err
	}
	var whole seen
	if s.on.Source != nil {
		whole, err = w.sessions(s.period(r))
	} else {
		whole, err = w.processes(s.period(r))
	}
	if err != nil {
		return out, err
	}
	out = whole.sample()
	if s.on.Why != "" && s.on.Of.Kind == service.Database {
		out.Warnings = append(out.Warnings, s.on.Why)
	}
	if s.on.Doubt != "" {
		out.Warnings = append(out.Warnings, s.on.Doubt)
	}
	if w.harm != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("ended early, after %s: %v", result.Format(whole.wall, "s"), w.harm))
	}
	return out, nil
}

// sessions watches a database, which says when to look.
func (w *watch) sessions(lasts time.Duration) (whole seen, err error) {
	rep, err := explain.Record(w.ctx, w.on.Source, explain.Options{For: lasts, Look: w.look, Every: w.every})
	switch {
	case w.ctx.Err() != nil:
		w.intact = w.failed == nil && (rep.Ended == explain.Interrupted || errors.Is(err, context.Canceled) &&
			!w.first.at.IsZero())
		return whole, w.ctx.Err()
	case w.failed != nil:
		return whole, w.failed
	case err != nil:
		return whole, w.lost(err)
	case rep.Ended != "" && w.harm == nil:
		return whole, w.lost(errors.New(rep.Ended))
	}
	whole = w.between(w.first, w.last)
	whole.wall = rep.Wall
	w.tell(&whole, ofReport(&rep))
	return whole, nil
}

// processes watches a service that tells no sessions.
func (w *watch) processes(lasts time.Duration) (whole seen, err error) {
	if err := w.look(nil); err != nil {
		return whole, w.failed
	}
	end := w.first.at.Add(lasts)
	for due := w.first.at.Add(w.every); w.harm == nil && w.last.at.Before(end); due = due.Add(w.every) {
		if due.Before(time.Now()) {
			continue
		}
		if end.Before(due) {
			due = end
		}
		select {
		case <-w.ctx.Done():
			w.intact = true
			return whole, w.ctx.Err()
		case <-time.After(time.Until(due)):
		}
		if err := w.look(&explain.Stretch{Transactions: -1}); err != nil && w.harm == nil {
			return whole, err
		}
	}
	return w.between(w.first, w.last), nil
}
