package logcommit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/workload"
)

type Workload struct{ workload.Usual }

// Params are the workload's parameters.
type Params struct {
	// directory of the log; none: the experiment's own
	Dir string `toml:"dir"`
	// what a commit meets: a new file, a growing one, or a recycled one
	Layout Layout `toml:"layout" jsonschema:"enum=allocated,enum=extending,enum=overwritten"`
	// of the file, before it starts again
	Size workload.Bytes `toml:"size" limits:"512,67108864"`
	// of one commit, a multiple of 512
	Block workload.Bytes `toml:"block" limits:"512,65536"`
	// how it is made durable: write and fdatasync (FlushFileBuffers on Windows), O_DSYNC, O_DIRECT with O_DSYNC, or a
	// store to persistent memory (DAX)
	Sync Sync `toml:"sync" jsonschema:"enum=fdatasync,enum=dsync,enum=direct-dsync,enum=mapped"`
	// that commit at the same time
	Writers int `toml:"writers" jsonschema:"minimum=1,maximum=256"`
	// writers who wait share one write; false: each makes its own
	Group bool `toml:"group"`
	// additions that a writer computes before each commit; not with a rate
	Work int `toml:"work" jsonschema:"minimum=0,maximum=100000000"`
	// commits of a run, at most
	Count int `toml:"count" jsonschema:"minimum=1,maximum=1000000"`
	// a run ends after it even if fewer were made; 0: never
	Duration workload.Span `toml:"duration" limits:"0,3600"`
	// commits that arrive a second; 0: one after the other
	Rate float64 `toml:"rate" unit:"1/s" jsonschema:"minimum=0,maximum=1000000"`
	// how they arrive with a rate
	Arrivals string `toml:"arrivals" jsonschema:"enum=random,enum=even"`
	// commits before the timed ones, in which the pause is forgotten
	Lead int `toml:"lead" jsonschema:"minimum=0,maximum=1000"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "logcommit",
		Title: "commits as a database's log writer does",
		About: "Writers append blocks to a log file, make them durable and repeat. What is timed is what a session waits for at " +
			"commit. Several writers commit together: one makes durable what all who wait have written. With a rate, commits arrive as " +
			"sessions would send them, and each is timed from the moment that it was due, so that one which waits for the one before " +
			"counts its wait, and its wake-up. With work, each writer computes before it commits, as an application does, so that a run " +
			"tells which share of its time is the log's. It says nothing about reads.",
		Params: &Params{Layout: Allocated, Size: 16 << 20, Block: CommitBytes, Sync: DataSync, Writers: 1, Group: true,
			Count: 1000, Arrivals: "random", Lead: 5},
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

func (Workload) Validate(cfg workload.Config) error {
	p := cfg.Params.(*Params)
	wrong := func(name, format string, a ...any) error { return workload.Wrong(name, fmt.Sprintf(format, a...), "") }
	block, size := int64(p.Block), int64(p.Size)
	switch {
	case block%sector != 0:
		return wrong("block", "%d is not a multiple of %d", block, sector)
	case size%block != 0:
		return wrong("size", "%d is not a multiple of %d, the block", size, block)
	case size < block*int64(p.Writers):
		return wrong("size", "%d has no room for a block of each of %d writers", size, p.Writers)
	case p.Sync == Mapped && p.Layout == Extending:
		return wrong("layout", "a mapped log cannot grow with each commit; take allocated or overwritten")
	case p.Work > 0 && p.Rate > 0:
		return wrong("work", "commits that arrive at a rate wait for nobody's computing; take one of work and rate")
	}
	return nil
}

func (Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{base: cfg.Dir, work: cfg.Work}
	if err := s.open(cfg.Params.(*Params)); err != nil {
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
func (s *session) open(p *Params) error {
	dir := s.work
	if p.Dir != "" {
		dir = workload.Under(s.base, p.Dir)
	}
	if err := (Workload{}).Validate(workload.Config{Params: p}); err != nil {
		return err
	}
	cfg := Config{Dir: dir, Bytes: int64(p.Size), Block: int64(p.Block), Layout: p.Layout, Sync: p.Sync, Seed: 1}
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
	p := r.Params.(*Params)
	if err := s.open(p); err != nil {
		return out, err
	}
	s.log.fill(r.Seed)
	for range p.Lead {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if _, err := s.log.Commit(); err != nil {
			return out, AsParam(err, "dir")
		}
	}
	c := newCrew(newGroup(s.log, newClock(), p.Writers, p.Group), r)
	c.delay = s.delay
	if err := c.run(ctx, p.Writers); err != nil {
		return out, AsParam(err, "dir")
	}
	wall := c.clock.now().Seconds()
	workload.FillLatency(&out, "commit", c.times)
	wait, writes := c.wait.Seconds()/float64(p.Writers), float64(c.group.writes)
	maps.Copy(out.Values, map[string]float64{"wall": wall, "commits_per_s": float64(len(c.times)) / wall,
		"log_writes": writes,
		"log_wait":   wait, "log_share": wait / wall})
	out.Give("log_write", c.group.took.Seconds()/writes, out.Missing["p50"])
	if p.Work > 0 {
		out.Set("application", c.app.Seconds()/float64(p.Writers))
	} else {
		out.Lack("the writers compute nothing; set work", "application")
	}
	if got, asked := s.log.Layout(), p.Layout; got != asked {
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
