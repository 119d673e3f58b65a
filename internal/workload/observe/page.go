package observe

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	io_prometheus_client "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

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
