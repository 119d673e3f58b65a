package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/worker"
)

// Service is a demo that runs. It is an explain.Source.
type Service struct {
	session *worker.Session
	dir     string
	threads explain.Threads
	last    look
}

// Start opens a shop on an engine, "" for SQLite, in a directory and lets its clients in. Close
// ends it and removes what it wrote.
func Start(ctx context.Context, in, engine string) (*Service, error) {
	dir, err := os.MkdirTemp(in, "hostlab-demo-*")
	if err != nil {
		return nil, err
	}
	s := &Service{dir: dir, threads: explain.Threads{Read: explain.SchedStat}}
	if s.session, err = worker.Start(ctx, "demo", 1); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.session.Call(request{Dir: dir, Engine: engine}, &s.last); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// PID is the number of its process: the server's, where it has one.
func (s *Service) PID() int { return cmp.Or(s.last.Server, s.session.PID()) }

// DSN names its server; "" where it has none: then it tells its sessions itself.
func (s *Service) DSN() string {
	if s.last.Server == 0 {
		return ""
	}
	return fmt.Sprintf("host='%s' user=%s dbname=%s", s.last.Socket, privatedb.Role, privatedb.Postgres)
}

// Close ends the shop and removes its files. It may be called again.
func (s *Service) Close() error {
	_ = s.session.Call(request{Close: true}, nil) // it may be gone
	return errors.Join(s.session.Close(), os.RemoveAll(s.dir))
}

// Server says what it is.
func (s *Service) Server() explain.Server {
	return explain.Server{Vendor: "demo shop", Version: "SQLite", Target: "hostlab's own process"}
}

// shown are the states in the words of explain.
var shown = map[state]struct {
	part  explain.PartName
	event string
}{
	idle: {explain.Idle, "think"}, running: {explain.DatabaseCPU, explain.OnCPU}, locked: {explain.Locks, "writer"},
	commit: {explain.LogWait, "commit"}, between: {explain.Application, "client"},
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

// Count reads its counters, and what its clients' threads have used.
func (s *Service) Count(context.Context) (explain.Counters, error) {
	if err := s.session.Call(request{}, &s.last); err != nil {
		return explain.Counters{}, err
	}
	var ids []int64
	for _, c := range s.last.Clients {
		ids = append(ids, c.Thread)
	}
	s.threads.Watch(ids, nil)
	c := s.last.Counters
	values := map[string]int64{"transactions": c.Transactions, "commits": c.Commits, "commit_wait": c.CommitWait,
		"lock_wait": c.LockWait}
	s.threads.Count(values)
	return explain.Counters{Epoch: "demo", Values: values}, nil
}

// Account is what they mean. Waits were timed around each, so nothing of them is sampled.
func (s *Service) Account(g explain.Growth) explain.Account {
	a := explain.Account{
		Transactions: int64(g.Get("transactions")), CPU: s.threads.Account(g),
		Log: explain.Log{Writes: int64(g.Get("commits")), Syncs: int64(g.Get("commits")), Bytes: -1,
			Source: "clocks around each commit"},
		Counted: []explain.Counted{
			{Part: explain.LogWait, Events: []string{"commit"}, Seconds: g.Get("commit_wait") * 1e-9,
				Count: int64(g.Get("commits")), Source: "clocks around each commit", Whole: true},
			{Part: explain.Locks, Events: []string{"writer"}, Seconds: g.Get("lock_wait") * 1e-9, Count: -1,
				Source: "clocks around each wait", Whole: true},
		},
	}
	a.Log.Timed(g.Get("commit_wait")*1e-9, g.Get("commits"))
	return a
}

// Meaning says its events.
func (s *Service) Meaning(event string) string {
	return map[string]string{
		"think": "the client thinks", explain.OnCPU: "the client's thread runs", "writer": "another client writes",
		"commit": "the commit reaches the disk",
	}[event]
}
