package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// TestMetrics adds up stretches, and keeps the number of labels small however many programs run and however they are called.
func TestMetrics(t *testing.T) {
	m := NewMetrics("0.2.0")
	for i := range 100 {
		x := &assess.Minute{Unseen: map[string]string{}, Host: assess.Host{CPUs: 2}, Connected: true,
			Readings: []service.Reading{{At: 10, CPU: 3}},
			Takers:   []assess.Taker{{Taker: proc.Taker{Name: fmt.Sprintf("p%d\x1b[31m", i), Seconds: 2}}},
			Report: explain.Report{Wall: 10, Busy: 8, Elapsed: 10, Transactions: 50,
				Events: []explain.Event{{Name: "x", Part: explain.LogWait, Seconds: 6, Count: 50}}, Parts: []explain.Part{
					{Name: explain.LogWait, Seconds: 6, Source: "x", Share: result.Estimate{Value: 0.6, Low: 0.5, High: 0.7, N: 9}},
					{Name: explain.Idle, Seconds: 2, Source: "x"}, {Name: explain.DatabaseCPU, Seconds: 2, Source: "x"}}}}
		m.add("db", midnight, x, standing{})
	}
	m.add("db", midnight, &assess.Minute{Unseen: map[string]string{}, Report: explain.Report{Transactions: -1}}, standing{&Rise{Ratio: 1.25}, true, 0.004, 0.005})
	var b bytes.Buffer
	testkit.Must(m.WriteTo(&b))(t)
	text := b.String()
	for _, want := range []string{`hostlab_service_active_seconds_total{part="log",service="db"} 600`, `hostlab_service_transactions_total{service="db"} 5000`,
		`hostlab_service_cpu_seconds_total{service="db"} 300`, `hostlab_service_rise_ratio{service="db"} 1.25`, `program="others"`,
		`hostlab_service_usual_transaction_seconds{limit="high",service="db"} 0.005`,
		`hostlab_build_info{version="0.2.0"} 1`, `hostlab_service_lever_at_most_ratio{lever="log",service="db"}`} {
		testkit.Has(t, text, want)
	}
	if n := strings.Count(text, "others_cpu_seconds_total{"); n != mostPrograms+1 || strings.Contains(text, "\x1b") || strings.Contains(text, `part="idle"`) {
		t.Errorf("%d programs:\n%s", n, text)
	}
	for range goneAfter {
		m.add("db", midnight, &assess.Minute{Unseen: map[string]string{}, Report: explain.Report{Wall: 10},
			Takers: []assess.Taker{{Taker: proc.Taker{Name: "backup", Seconds: 1}}}}, standing{low: math.NaN(), high: math.NaN()})
	}
	var later bytes.Buffer
	testkit.Must(m.WriteTo(&later))(t)
	if text := later.String(); strings.Contains(text, `program="p0`) || !strings.Contains(text, `program="backup"`) ||
		!strings.Contains(text, `program="others"`) {
		t.Errorf("programs that have gone keep their labels:\n%s", text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := parser.TextToMetricFamilies(&b); err != nil {
		t.Error(err)
	}
}
