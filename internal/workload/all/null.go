package all

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"hostlab/internal/workload"
)

// Null is the workload that does nothing and answers what it was asked for: it tests the runner and the statistics, and
// shows what a run costs by itself.
type Null struct{ workload.Usual }

// NullParams are its parameters.
type NullParams struct {
	// the response
	Value float64 `toml:"value" unit:"s"`
	// responses of an experiment's runs, in turn (those that fail count, those that warm up do not): numbers, or the words
	// fail and missing
	Script []workload.Word `toml:"script"`
	// the response is multiplied by it: a factor with a known effect
	Effect float64 `toml:"effect" jsonschema:"minimum=-1000000,maximum=1000000"`
	// standard deviation of the logarithm, the same for all runs of a block
	Noise float64 `toml:"noise" jsonschema:"minimum=0,maximum=10"`
	// standard deviation of the logarithm, drawn anew for every run from the block's seed and the run's number
	Jitter float64 `toml:"jitter" jsonschema:"minimum=0,maximum=10"`
	// how long a run takes in truth
	Sleep workload.Span `toml:"sleep" limits:"0,86400"`
	// the last of every so many runs fails; 0: none does
	Fail int `toml:"fail" jsonschema:"minimum=0,maximum=1000000000"`
	// operations that a run claims
	Operations int64 `toml:"operations" jsonschema:"minimum=0,maximum=1000000000000000"`
}

func (Null) Describe() workload.Description {
	return workload.Description{
		Name:  "null",
		Title: "does nothing and answers what it was asked for",
		About: "Responses are a number that is given, or numbers from a list in turn, times noise of a known size that depends on " +
			"seeds alone. It shows what the runner adds to a run, rehearses a study without its benchmark, and lets verdicts be tested " +
			"where the truth is known. It says nothing about the host.",
		Params: &NullParams{Value: 1, Effect: 1, Operations: 1},
		Responses: []workload.Response{
			{Name: "seconds", Title: "Scripted response", Unit: "s", Better: "lower"},
			{Name: "operations", Title: "Operations claimed", Unit: "", Better: "higher"},
		},
	}
}

// The words that a script may have in place of a number.
const (
	wordFail    = "fail"
	wordMissing = "missing"
)

func (Null) Validate(cfg workload.Config) error { return checkScript(cfg.Params.(*NullParams).Script) }

func checkScript(script []workload.Word) error {
	var errs []error
	for i, word := range script {
		if word == wordFail || word == wordMissing {
			continue
		}
		if f, err := strconv.ParseFloat(string(word), 64); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			errs = append(errs, workload.Wrong("script", fmt.Sprintf("entry %d, %q, is not a number", i+1, word),
				"write numbers, fail or missing"))
		}
	}
	return errors.Join(errs...)
}

func (w Null) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nullSession{}, w.Validate(cfg)
}

// nullSession counts nothing: a run's number is in its request, so that sessions may
// begin and end between runs.
type nullSession struct{}

func (nullSession) Run(ctx context.Context, r workload.Request) (workload.Sample, error) {
	if err := ctx.Err(); err != nil {
		return workload.Sample{}, err
	}
	p := r.Params.(*NullParams)
	if d := p.Sleep.Duration; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return workload.Sample{}, ctx.Err()
		}
	}
	word := workload.Word("")
	if n := uint64(len(p.Script)); n > 0 {
		word = p.Script[r.Run%n]
	}
	if word == wordFail || p.Fail > 0 && (r.Run+1)%uint64(p.Fail) == 0 {
		return workload.Sample{}, fmt.Errorf("run %d fails, as the workload null was asked to", r.Run+1)
	}
	value := p.Value
	if word != "" && word != wordMissing {
		var err error
		if value, err = strconv.ParseFloat(string(word), 64); err != nil {
			return workload.Sample{}, checkScript([]workload.Word{word}) // a level that no Validate saw
		}
	}
	block := rand.New(rand.NewPCG(r.Seed, 0x6e6f697365))
	run := rand.New(rand.NewPCG(r.Seed, r.Run))
	value *= p.Effect * math.Exp(p.Noise*block.NormFloat64()+p.Jitter*run.NormFloat64())
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return workload.Sample{},
			errors.New("the scripted response is beyond what a float holds; make value, effect, noise or " +
				"jitter smaller")
	}
	out := workload.Sample{Operations: p.Operations, Values: map[string]float64{"operations": float64(p.Operations)}}
	if word == wordMissing {
		out.Missing = map[string]string{"seconds": "left out, as the workload null was asked to"}
	} else {
		out.Values["seconds"] = value
	}
	return out, nil
}

func (nullSession) Close() error { return nil }
