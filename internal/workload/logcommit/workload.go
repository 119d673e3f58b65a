package logcommit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/latency"
	"hostlab/internal/workload/thread"
)

// Workload implements workload.Workload.
type Workload struct{}

// Describe implements workload.Workload.
func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "logcommit",
		Title: "commits as a database's log writer does",
		About: "One writer appends 4 KiB to a file, makes it durable with fdatasync (FlushFileBuffers on Windows) and repeats. What is timed is " +
			"what a session waits for at commit. With a rate, commits arrive as sessions would send them, and each is timed from the moment " +
			"that it was due, so that one which waits for the one before counts its wait, and its wake-up. It does not group commits, and " +
			"says nothing about reads, other block sizes or several writers.",
		Params: []workload.Param{
			{Name: "dir", Kind: workload.String, Default: "", Help: "directory of the log; none: the experiment's own"},
			{Name: "layout", Kind: workload.String, Default: string(Allocated), Choices: []string{string(Allocated), string(Extending), string(Overwritten)},
				Help: "what a commit meets: a new file, a growing one, or a recycled one"},
			{Name: "size", Kind: workload.Bytes, Default: int64(16 << 20), Min: CommitBytes, Max: MaxFileBytes, Help: "of the file, before it starts again"},
			{Name: "count", Kind: workload.Int, Default: int64(1000), Min: 1, Max: 1e6, Help: "commits of a run, at most"},
			{Name: "duration", Kind: workload.Duration, Default: time.Duration(0), Max: 3600, Help: "a run ends after it even if fewer were made; 0: never"},
			{Name: "rate", Kind: workload.Float, Default: 0.0, Unit: "1/s", Max: 1e6, Help: "commits that arrive a second; 0: one after the other"},
			{Name: "arrivals", Kind: workload.String, Default: "random", Choices: []string{"random", "even"}, Help: "how they arrive with a rate"},
			{Name: "lead", Kind: workload.Int, Default: int64(5), Max: 1000, Help: "commits before the timed ones, in which the pause is forgotten"},
		},
		Responses: append(latency.Responses("commit"),
			workload.Response{Name: "commits_per_s", Title: "Commits per second", Unit: "1/s", Better: "higher"},
			workload.Response{Name: "wall", Title: "Elapsed time of a run", Unit: "s", Better: "lower"}),
	}
}

// Open implements workload.Workload.
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
	dir := p.String("dir")
	switch {
	case dir == "":
		dir = s.work
	case !filepath.IsAbs(dir):
		dir = filepath.Join(s.base, dir)
	}
	cfg := Config{Dir: dir, Bytes: p.Int("size"), Layout: Layout(p.String("layout")), Seed: 1}
	if s.log != nil && cfg == s.made {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	if cfg.Bytes%CommitBytes != 0 {
		return &workload.ParamError{Name: "size", Text: fmt.Sprintf("%d is not a multiple of %d", cfg.Bytes, CommitBytes)}
	}
	err := Preflight(host.Storage{}, dir, cfg.Bytes+1<<20)
	if err == nil {
		s.log, err = Open(cfg)
	}
	if err != nil {
		return asParam(err)
	}
	s.made = cfg
	return nil
}

// asParam puts what is wrong with the directory in a study's words.
func asParam(err error) error {
	d, ok := errors.AsType[*DirError](err)
	if !ok {
		return err
	}
	return &workload.ParamError{Name: "dir", Text: d.Dir + ": " + d.Problem,
		Hint: strings.ReplaceAll(d.Remedy, "--log-dir", "the parameter dir")}
}

// Run implements workload.Session.
func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	p := r.Params
	if err := s.open(p); err != nil {
		return out, err
	}
	for range p.Int("lead") {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if _, err := s.log.Commit(); err != nil {
			return out, asParam(err)
		}
	}
	times := make([]float64, 0, p.Int("count"))
	begin := time.Now()
	aside, err := s.commits(ctx, r, begin, &times)
	if err != nil {
		return out, asParam(err)
	}
	wall := (time.Since(begin) - aside).Seconds()
	latency.Fill(&out, "commit", times)
	out.Values["wall"] = wall
	out.Values["commits_per_s"] = float64(len(times)) / wall
	if got, asked := s.log.Layout(), Layout(p.String("layout")); got != asked {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the file system cannot allocate ahead: layout %s was used instead of %s", got, asked))
	}
	return out, nil
}

// commits makes the commits of a run. It returns how long it laid out the file
// anew in between, which is no part of them.
func (s *session) commits(ctx context.Context, r workload.Request, begin time.Time, times *[]float64) (aside time.Duration, err error) {
	p := r.Params
	var arrivals *latency.Arrivals
	if rate := p.Float("rate"); rate > 0 {
		arrivals = latency.Even(begin, rate)
		if p.String("arrivals") == "random" {
			arrivals = latency.Poisson(begin, rate, r.Seed)
		}
		// The thread sleeps itself: the runtime would have another one wake it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	limit := p.Duration("duration")
	for n := range cap(*times) {
		if err := ctx.Err(); err != nil {
			return aside, err
		}
		if limit > 0 && time.Since(begin)-aside >= limit {
			break
		}
		if s.log.full() {
			was := time.Now()
			if err := s.log.prepare(); err != nil {
				return aside, err
			}
			d := time.Since(was)
			aside += d
			if arrivals != nil {
				arrivals.Shift(d)
			}
		}
		due := time.Now()
		if arrivals != nil {
			due = arrivals.Next()
			if limit > 0 && due.Sub(begin)-aside >= limit {
				break
			}
			if err := sleepUntil(ctx, due); err != nil {
				return aside, err
			}
		}
		if s.delay != nil {
			s.delay(n)
		}
		if _, err := s.log.Commit(); err != nil {
			return aside, err
		}
		*times = append(*times, time.Since(due).Seconds())
	}
	return aside, nil
}

// sleepUntil sleeps in parts, so that it can be cancelled.
func sleepUntil(ctx context.Context, due time.Time) error {
	const part = 50 * time.Millisecond
	for left := time.Until(due); left > 0; left = time.Until(due) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if left > part {
			left = part
		}
		thread.Sleep(left)
	}
	return nil
}

// Close implements workload.Session.
func (s *session) Close() error {
	if s.log == nil {
		return nil
	}
	err := s.log.Close()
	s.log = nil
	return err
}
