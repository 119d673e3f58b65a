package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	io_prometheus_client "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hostlab/internal/result"
	"hostlab/internal/screen"
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

func (Workload) Takes(params workload.Params, block int) time.Duration {
	p := params.(*Params)
	long, short := p.For.Duration, p.Short.Duration
	if block < first && short > 0 {
		return min(short, long)
	}
	return long
}

// series is one of a histogram: its values by bucket, and their sum.
type series struct {
	bounds, counts []float64
	sum, count     float64
}

// readHistogram finds a histogram on a page of Prometheus' text format. It reads the whole page, which has to be of the
// format.
func readHistogram(r io.Reader, name string) ([]*series, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("not Prometheus' text format: %s", screen.Clean(err.Error())) // it quotes the page
	}
	f := families[name]
	switch {
	case f == nil:
		return nil, fmt.Errorf("there is no metric %s", name)
	case f.GetType() == io_prometheus_client.MetricType_UNTYPED:
		return nil, fmt.Errorf("%s: it is a metric without a type, not a histogram", name)
	case f.GetType() != io_prometheus_client.MetricType_HISTOGRAM:
		return nil, fmt.Errorf("%s: it is a %s, not a histogram", name, strings.ToLower(f.GetType().String()))
	}
	var out []*series
	for _, m := range f.GetMetric() {
		h := m.GetHistogram()
		s := &series{sum: h.GetSampleSum(), count: float64(h.GetSampleCount())}
		for _, b := range h.GetBucket() {
			s.bounds, s.counts = append(s.bounds, b.GetUpperBound()), append(s.counts, float64(b.GetCumulativeCount()))
		}
		if len(s.bounds) == 0 || !math.IsInf(s.bounds[len(s.bounds)-1], 1) {
			s.bounds, s.counts = append(s.bounds, math.Inf(1)), append(s.counts, s.count)
		}
		out = append(out, s)
	}
	return out, nil
}
