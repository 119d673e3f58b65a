package report

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// full are metrics of which none is absent.
func full() *Metrics {
	m := NewMetrics("0.2.0")
	x := &assess.Minute{Unseen: map[string]string{}, Host: assess.Host{CPUs: 2}, Connected: true, Ends: chain.New(false),
		Readings: []service.Reading{{At: 10, CPU: 3}}, Takers: []assess.Taker{{Taker: proc.Taker{Name: "backup", Seconds: 2}}},
		Report: explain.Report{Wall: 10, Busy: 6, Elapsed: 6, Transactions: 50, Parts: []explain.Part{
			{Name: explain.LogWait, Seconds: 3, Source: "x", Share: result.Estimate{Value: 0.5, Low: 0.4, High: 0.6, N: 9}},
			{Name: explain.DatabaseCPU, Seconds: 3, Source: "x", Share: result.Estimate{Value: 0.5, Low: 0.4, High: 0.6, N: 9}}}}}
	for range 3 {
		x.Ends.Windows = append(x.Ends.Windows, chain.Shares{explain.LogWait: {{Kind: chain.Log, PID: 1}: 0.1}})
		x.Ends.Lengths = append(x.Ends.Lengths, 0.1)
	}
	m.add("db", midnight, x, standing{nil, true, 0.1, 0.2})
	return m
}

// TestDeploy: the dashboard and the alerts ask for metrics that a watch has, by labels that they have, and the dashboard shows all of them.
func TestDeploy(t *testing.T) {
	var b bytes.Buffer
	testkit.Must(full().WriteTo(&b))(t)
	asked := map[string]bool{}
	for _, file := range []string{"grafana/service.json", "prometheus/alerts.yaml"} {
		text := testkit.Must(os.ReadFile("../../deploy/" + file))(t)
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		for _, name := range regexp.MustCompile(`hostlab_(service|build)_[a-z_]+`).FindAllString(string(text), -1) {
			if asked[name] = true; !strings.Contains(b.String(), "# TYPE "+name+" ") {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
		for _, m := range regexp.MustCompile(`by \(([a-z_, ]+)\)`).FindAllStringSubmatch(string(text), -1) {
			for _, label := range strings.Split(m[1], ", ") {
				if strings.HasSuffix(file, ".json") && label != "instance" && !strings.Contains(b.String(), label+`="`) {
					t.Errorf("%s asks for the label %s, which there is not", file, label)
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+)`).FindAllStringSubmatch(b.String(), -1) {
		if !asked[m[1]] {
			t.Errorf("nothing shows %s", m[1])
		}
	}
}
