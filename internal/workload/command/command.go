// Package command is the workload that runs any benchmark: a program with its
// arguments, never through a shell. It measures the process and picks further
// responses from what it prints.
package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"hostlab/internal/workload"
)

type Workload struct{ workload.Usual }

// Params are the workload's parameters.
type Params struct {
	// the program and its arguments: ["gzip", "-{level}", "--keep", "big.log"]
	Run []workload.Word `toml:"run" jsonschema:"required"`
	// environment variables, added to those of hostlab
	Env map[string]workload.Word `toml:"env"`
	// file that the program reads as its input; none: nothing to read
	Stdin string `toml:"stdin"`
	// directory to run in; none: the study file's
	Dir string `toml:"dir"`
	// run the program again and again for so long before the first run of a session; it counts into the timeout, not into
	// the responses
	Ramp workload.Span `toml:"ramp" limits:"0,86400"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "command",
		Title: "runs any benchmark and measures it, or reads its results",
		About: "A program is started with its arguments, without a shell, and timed until it ends. In arguments, environment and stdin, " +
			"{name} stands for the level of a factor or for a parameter, {seed} for the block's seed, {out} for an empty directory that " +
			"is removed after the run, and {{ for a brace. Times and memory are those of the program and of the children that it waited " +
			"for: what servers did on its behalf, or processes that it left running, is not in them. What it leaves running, daemons " +
			"too, is ended after it, and the run is marked as contaminated: start servers by the commands of a factor. Responses can be " +
			"picked from what it prints: json:PATH (RFC 9535) from stdout, or regex:EXPR with one group, also from stderr where " +
			"stdout has no match. A group that has only a part of a number is refused.",
		Params: &Params{},
		Responses: []workload.Response{
			{Name: "wall", Title: "Elapsed time", Unit: "s", Better: "lower"},
			{Name: "user", Title: "CPU time in user mode", Unit: "s", Better: "lower"},
			{Name: "system", Title: "CPU time in the kernel", Unit: "s", Better: "lower"},
			{Name: "cpu", Title: "CPU time", Unit: "s", Better: "lower"},
			{Name: "max_rss", Title: "Peak memory of the largest process", Unit: "B", Better: "lower"},
		},
		Picks: true,
	}
}

func (w Workload) Validate(cfg workload.Config) error {
	_, err := w.check(cfg)
	return err
}

// Needs looks for a program that PATH has to hold. One of levels, and one by its path, is looked for at each run.
func (Workload) Needs(_ context.Context, params workload.Params) error {
	p := params.(*Params)
	if len(p.Run) == 0 || strings.ContainsAny(string(p.Run[0]), `/\{`) {
		return nil
	}
	_, err := find(string(p.Run[0]), "")
	return err
}

func (w Workload) check(cfg workload.Config) ([]picker, error) {
	var errs []error
	p := cfg.Params.(*Params)
	if len(p.Run) == 0 || p.Run[0] == "" {
		errs = append(errs, workload.Wrong("run", "names no program", `write ["program", "argument", ...]`))
	}
	var known known
	if cfg.Factors != nil {
		known.factors = map[string]bool{}
		for _, f := range cfg.Factors {
			known.factors[f] = true
		}
	}
	for _, t := range templates(p) {
		if err := known.check(t.param, t.text); err != nil {
			errs = append(errs, err)
		}
	}
	var picks []picker
	for _, p := range cfg.Picks {
		pick, err := newPicker(p)
		if err != nil {
			errs = append(errs, workload.Wrong(p.Name, err.Error(), ""))
			continue
		}
		picks = append(picks, pick)
	}
	return picks, errors.Join(errs...)
}

func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	picks, err := w.check(cfg)
	if err != nil {
		return nil, err
	}
	return &session{cfg: cfg, picks: picks}, nil
}

type session struct {
	cfg    workload.Config
	picks  []picker
	ramped bool
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if ramp := r.Params.(*Params).Ramp.Duration; ramp > 0 && !s.ramped {
		for end := time.Now().Add(ramp); time.Now().Before(end); {
			if _, err := s.once(ctx, r); err != nil {
				return out, err
			}
		}
		s.ramped = true
	}
	done, err := s.once(ctx, r)
	if err != nil {
		return out, err
	}
	return s.sample(done), nil
}

// once runs the program and reports what came of it. The error is a *Failure once
// the program has been started.
func (s *session) once(ctx context.Context, r workload.Request) (done ended, err error) {
	p, fill := r.Params.(*Params), filler{request: r}
	if fill.uses(p, "out") {
		if fill.out, err = os.MkdirTemp(s.cfg.Work, "out-"); err != nil {
			return done, fmt.Errorf("cannot make the run's {out} directory: %w", err)
		}
		defer func() {
			if rerr := os.RemoveAll(fill.out); rerr != nil && err == nil {
				err = fmt.Errorf("cannot remove the run's {out} directory: %w", rerr)
			}
		}()
	}
	c, err := fill.call(p, s.cfg.Dir)
	if err != nil {
		return done, err
	}
	c.work = s.cfg.Work
	return start(ctx, c)
}

// splitHint is for times that are 0. Linux knows a process's CPU time to the
// nanosecond, but divides it into user and system by what the timer ticks met
// (cputime_adjust in kernel/sched/cputime.c).
const splitHint = "user and system of a short program are often 0, as the kernel separates them at timer ticks only: take cpu, " +
	"the sum of the two"

// sample turns a run that succeeded into its responses.
func (s *session) sample(done ended) workload.Sample {
	u := done.usage
	out := workload.Sample{Operations: 1, Warnings: done.warnings, Contaminated: done.left,
		Values: map[string]float64{"wall": done.wall.Seconds(), "user": u.user.Seconds(), "system": u.system.Seconds(),
			"cpu": (u.user + u.system).Seconds()}}
	out.Give("max_rss", float64(u.maxRSS), u.noMaxRSS)
	out.Zero = map[string]string{"user": splitHint, "system": splitHint}
	if done.left != "" {
		out.Warnings = append(out.Warnings, done.left)
	}
	for _, p := range s.picks {
		if hint := out.Zero[p.measured]; hint != "" {
			out.Zero[p.Name] = hint
		}
		v, warning, err := p.pick(done, out.Values)
		v *= p.Scale
		switch {
		case err != nil && out.Missing[p.measured] != "":
			out.Lack(out.Missing[p.measured], p.Name)
		case err != nil:
			out.Lack(fmt.Sprintf("%s: %v", p.From, err), p.Name)
		case math.IsInf(v, 0):
			out.Lack(p.From+": beyond what a float holds", p.Name)
		default:
			out.Set(p.Name, v)
		}
		if warning != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s", p.Name, warning))
		}
	}
	return out
}

func (*session) Close() error { return nil }
