package observe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/workload"
	"hostlab/internal/workload/command"
)

// answer is the response that a command gives.
const answer = "latency"

// commandConfig is a command that prints one number and nothing else.
func commandConfig(cfg workload.Config, words []workload.Word) workload.Config {
	cfg.Params = &command.Params{Run: words}
	cfg.Picks = []workload.Pick{{Name: answer, From: `regex:^\s*(\S+)\s*$`, Unit: "s", Scale: 1}}
	return cfg
}

func validateCommand(cfg workload.Config, words []workload.Word) error {
	err := command.Workload{}.Validate(commandConfig(cfg, words))
	if p, ok := errors.AsType[*workload.ParamError](err); ok {
		return workload.Wrong("latency", p.Text, p.Hint)
	}
	return err
}

// teller is a command that tells the latency.
type teller struct {
	run    workload.Session
	params workload.Params
	limit  time.Duration
}

func newTeller(ctx context.Context, cfg workload.Config, words []workload.Word, limit time.Duration) (*teller, error) {
	cfg = commandConfig(cfg, words)
	run, err := command.Workload{}.Open(ctx, cfg)
	return &teller{run, cfg.Params, limit}, err
}

// read asks for the latency now, s.
func (t *teller) read(ctx context.Context, r workload.Request) (float64, error) {
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	r.Params, r.Look = t.params, nil
	out, err := t.run.Run(limited, r)
	v, there := out.Values[answer]
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case limited.Err() != nil:
		return 0, fmt.Errorf("the latency command took longer than its limit, %s", result.Format(t.limit.Seconds(), "s"))
	case err != nil:
		return 0, fmt.Errorf("the latency command: %w", err)
	case !there:
		return 0, fmt.Errorf("the latency command: %s", out.Missing[answer])
	case !(v >= 0) || math.IsInf(v, 0):
		return 0, fmt.Errorf("the latency command printed %v, which is no time in seconds", v)
	}
	return v, nil
}
