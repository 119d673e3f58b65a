package demo

import (
	"context"
	"errors"
	"os"

	"hostlab/internal/explain"
	"hostlab/internal/worker"
)

// Service is a demo that runs. It is an explain.Source.
type Service struct {
	session *worker.Session
	dir     string
	last    look
}

// Start opens a shop in a directory and lets its clients in. Close ends it and removes what it wrote.
func Start(ctx context.Context, in string) (*Service, error) {
	dir, err := os.MkdirTemp(in, "hostlab-demo-*")
	if err != nil {
		return nil, err
	}
	s := &Service{dir: dir}
	if s.session, err = worker.Start(ctx, "demo", clients()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.session.Call(request{Dir: dir}, &s.last); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// PID is the number of its process.
func (s *Service) PID() int { return s.session.PID() }

// Close ends the shop and removes its files. It may be called again.
func (s *Service) Close() error {
	return errors.Join(s.session.Close(), os.RemoveAll(s.dir))
}

// Server says what it is.
func (s *Service) Server() explain.Server {
	return explain.Server{Vendor: "demo shop", Version: "in memory", Target: "hostlab's own process"}
}

// shown are the states in the words of explain.
var shown = map[state]struct {
	part  explain.PartName
	event string
}{
	idle: {explain.Idle, "think"}, running: {explain.DatabaseCPU, explain.OnCPU}, commit: {explain.LogWait, "commit"},
	between: {explain.Application, "client"},
}

// Sample is what the clients do now.
func (s *Service) Sample(context.Context) ([]explain.Snapshot, error) {
	if err := s.session.Call(request{}, &s.last); err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	for _, c := range s.last.Clients {
		what := shown[c.State]
		shot.Sessions = append(shot.Sessions, explain.Session{ID: c.Thread, Part: what.part, Event: what.event})
	}
	return []explain.Snapshot{shot}, nil
}

// Count reads its counters.
func (s *Service) Count(context.Context) (explain.Counters, error) {
	if err := s.session.Call(request{}, &s.last); err != nil {
		return explain.Counters{}, err
	}
	c := s.last.Counters
	values := map[string]int64{"transactions": c.Transactions, "commits": c.Commits}
	if c.Known {
		values["cpu"], values["queue"] = c.CPU, c.Queue
	}
	for state, what := range shown {
		values[what.event] = c.Waited[state]
	}
	return explain.Counters{Epoch: "demo", Values: values}, nil
}

// Account is what they mean. Each wait was timed, so none of them is sampled, and what is left over is unexplained.
func (s *Service) Account(g explain.Growth) explain.Account {
	const clocks = "clocks around each wait"
	seconds := func(name string) float64 { return g.Get(name) * 1e-9 }
	commits := g.Get("commits")
	a := explain.Account{Transactions: int64(g.Get("transactions")),
		Log: explain.Log{Writes: int64(commits), Syncs: int64(commits), Bytes: int64(commits) * record, Source: clocks}}
	if g.Has("cpu") {
		queue := seconds("queue")
		a.CPU = &explain.CPUTime{Run: seconds("cpu"), Queue: queue, QueueLow: queue, QueueHigh: queue, Source: "schedstat"}
	}
	for _, state := range []state{idle, between, commit} {
		of := shown[state]
		c := explain.Counted{Part: of.part, Events: []string{of.event}, Seconds: seconds(of.event), Count: -1, Source: clocks}
		if state == commit {
			c.Count, c.Whole = int64(commits), true
			a.Log.Timed(c.Seconds, commits)
		}
		a.Counted = append(a.Counted, c)
	}
	a.AtMost = map[explain.PartName]float64{}
	for part, why := range map[explain.PartName]string{explain.Locks: "locks nothing",
		explain.DataReads: "has its data in memory", explain.OtherWaits: "waits for nothing else"} {
		a.Counted = append(a.Counted, explain.Counted{Part: part, Events: []string{"none"},
			Source: "the shop's code, which " + why, Whole: true})
		a.AtMost[part] = 1e-6 // a share of nothing at all is none that is known (result.Estimate)
	}
	return a
}

// Meaning says its events.
func (s *Service) Meaning(event string) string {
	return map[string]string{
		"think": "the client thinks", explain.OnCPU: "the client's thread runs", "commit": "the commit reaches the disk",
		"client": "the client is at its own work",
	}[event]
}
