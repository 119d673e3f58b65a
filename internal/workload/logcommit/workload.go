package logcommit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/workload"
)

// Workload implements workload.Workload.
type Workload struct{}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "logcommit",
		Title: "commits as a database's log writer does",
		About: "Writers append blocks to a log file, make them durable and repeat. What is timed is what a session waits for at " +
			"commit. Several writers commit together: one makes durable what all who wait have written. With a rate, commits arrive as " +
			"sessions would send them, and each is timed from the moment that it was due, so that one which waits for the one before " +
			"counts its wait, and its wake-up. With work, each writer computes before it commits, as an application does, so that a run " +
			"tells which share of its time is the log's. It says nothing about reads.",
		Params: []workload.Param{
			{Name: "dir", Kind: workload.String, Default: "", Help: "directory of the log; none: the experiment's own"},
			{Name: "layout", Kind: workload.String, Default: string(Allocated),
				Choices: workload.Words(Allocated, Extending, Overwritten),
				Help:    "what a commit meets: a new file, a growing one, or a recycled one"},
			{Name: "size", Kind: workload.Bytes, Default: int64(16 << 20), Min: LeastBlock, Max: MaxFileBytes,
				Help: "of the file, before it starts again"},
			{Name: "block", Kind: workload.Bytes, Default: int64(CommitBytes), Min: LeastBlock, Max: MostBlock,
				Help: "of one commit, a multiple of 512"},
			{Name: "sync", Kind: workload.String, Default: string(DataSync), Choices: workload.Words(Syncs...),
				Help: "how it is made durable: write and fdatasync (FlushFileBuffers on Windows), O_DSYNC, O_DIRECT with O_DSYNC, or a " +
					"store to persistent memory (DAX)"},
			{Name: "writers", Kind: workload.Int, Default: int64(1), Min: 1, Max: mostWriters,
				Help: "that commit at the same time"},
			{Name: "group", Kind: workload.Bool, Default: true,
				Help: "writers who wait share one write; false: each makes its own"},
			{Name: "work", Kind: workload.Int, Default: int64(0), Max: 1e8,
				Help: "additions that a writer computes before each commit; not with a rate"},
			{Name: "count", Kind: workload.Int, Default: int64(1000), Min: 1, Max: 1e6, Help: "commits of a run, at most"},
			{Name: "duration", Kind: workload.Duration, Default: time.Duration(0), Max: 3600,
				Help: "a run ends after it even if fewer were made; 0: never"},
			{Name: "rate", Kind: workload.Float, Default: 0.0, Unit: "1/s", Max: 1e6,
				Help: "commits that arrive a second; 0: one after the other"},
			{Name: "arrivals", Kind: workload.String, Default: "random", Choices: []string{"random", "even"},
				Help: "how they arrive with a rate"},
			{Name: "lead", Kind: workload.Int, Default: int64(5), Max: 1000,
				Help: "commits before the timed ones, in which the pause is forgotten"},
		},
		Responses: append(workload.LatencyResponses("commit"),
			workload.Response{Name: "commits_per_s", Title: "Commits per second", Unit: "1/s", Better: "higher"},
			workload.Response{Name: "wall", Title: "Elapsed time of a run", Unit: "s", Better: "lower"},
			workload.Response{Name: "log_write", Title: "Average log write", Unit: "s", Better: "lower"},
			workload.Response{Name: "log_writes", Title: "Log writes of a run", Unit: "", Better: "lower"},
			workload.Response{Name: "log_wait", Title: "Waiting for commits, a writer", Unit: "s", Better: "lower"},
			workload.Response{Name: "log_share", Title: "Share of the time that waits for commits", Unit: "", Better: "lower"},
			workload.Response{Name: "application", Title: "Computing before commits, a writer", Unit: "s", Better: "lower"}),
	}
}

const mostWriters = 256

func (Workload) Validate(cfg workload.Config) error {
	p := cfg.Params
	wrong := func(name, format string, a ...any) error { return workload.Wrong(name, fmt.Sprintf(format, a...), "") }
	block, size := p.Int("block"), p.Int("size")
	switch {
	case block%sector != 0:
		return wrong("block", "%d is not a multiple of %d", block, sector)
	case size%block != 0:
		return wrong("size", "%d is not a multiple of %d, the block", size, block)
	case size < block*p.Int("writers"):
		return wrong("size", "%d has no room for a block of each of %d writers", size, p.Int("writers"))
	case Sync(p.String("sync")) == Mapped && Layout(p.String("layout")) == Extending:
		return wrong("layout", "a mapped log cannot grow with each commit; take allocated or overwritten")
	case p.Int("work") > 0 && p.Float("rate") > 0:
		return wrong("work", "commits that arrive at a rate wait for nobody's computing; take one of work and rate")
	}
	return nil
}

func (Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{base: cfg.Dir, work: cfg.Work}
	if err := s.open(cfg.Params); err != nil {
		return nil, err
	}
	return s, nil
}

// session has the file, and what it was made for.
type session struct {
	base, work string
	log        *Log
	made       Config
	delay      func(n int) // of the nth commit: a test's stall
}

// open makes the file, anew if parameters that concern it have changed.
func (s *session) open(p workload.Values) error {
	dir := s.work
	if named := p.String("dir"); named != "" {
		dir = workload.Under(s.base, named)
	}
	if err := (Workload{}).Validate(workload.Config{Params: p}); err != nil {
		return err
	}
	cfg := Config{Dir: dir, Bytes: p.Int("size"), Block: p.Int("block"), Layout: Layout(p.String("layout")),
		Sync: Sync(p.String("sync")), Seed: 1}
	if s.log != nil && cfg == s.made {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	err := Preflight(host.Storage{}, dir, cfg.Bytes+1<<20)
	if err == nil {
		s.log, err = Open(cfg)
	}
	if err != nil {
		return AsParam(err, "dir")
	}
	s.made = cfg
	return nil
}

// AsParam puts what is wrong with the directory that a parameter named in a study's words.
func AsParam(err error, param string) error {
	d, ok := errors.AsType[*DirError](err)
	if !ok {
		return err
	}
	return workload.Wrong(param, d.Dir+": "+d.Problem, strings.ReplaceAll(d.Remedy, "--log-dir", "the parameter "+param))
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	p := r.Params
	if err := s.open(p); err != nil {
		return out, err
	}
	s.log.fill(r.Seed)
	for range p.Int("lead") {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if _, err := s.log.Commit(); err != nil {
			return out, AsParam(err, "dir")
		}
	}
	writers := int(p.Int("writers"))
	c := newCrew(newGroup(s.log, newClock(), writers, p.Bool("group")), r)
	c.delay = s.delay
	if err := c.run(ctx, writers); err != nil {
		return out, AsParam(err, "dir")
	}
	wall := c.clock.now().Seconds()
	workload.FillLatency(&out, "commit", c.times)
	wait, writes := c.wait.Seconds()/float64(writers), float64(c.group.writes)
	maps.Copy(out.Values, map[string]float64{"wall": wall, "commits_per_s": float64(len(c.times)) / wall,
		"log_writes": writes,
		"log_wait":   wait, "log_share": wait / wall})
	out.Give("log_write", c.group.took.Seconds()/writes, out.Missing["p50"])
	if p.Int("work") > 0 {
		out.Set("application", c.app.Seconds()/float64(writers))
	} else {
		out.Lack("the writers compute nothing; set work", "application")
	}
	if got, asked := s.log.Layout(), Layout(p.String("layout")); got != asked {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("the file system cannot allocate ahead: layout %s was used instead of %s",
				got, asked))
	}
	return out, nil
}

func (s *session) Close() error {
	if s.log == nil {
		return nil
	}
	err := s.log.Close()
	s.log = nil
	return err
}
