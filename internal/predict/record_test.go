package predict_test

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// The interval of a prediction holds how sure its record is: one whose bursts come in two phases is less so than one
// that
// has the same bursts in turn.
func TestIntervalHoldsTheRecord(t *testing.T) {
	width := map[bool]float64{}
	for _, phases := range []bool{false, true} {
		var b bytes.Buffer
		w, err := burstlog.NewWriter(&b, burstlog.Head{CPUs: []int{0}, Length: 300, Seen: 0.2, Load: 0.2, Service: "pid:1",
			Source: "scheduler events"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			busy := 0.005
			if phases && i >= 500 || !phases && i%2 == 1 {
				busy = 0.080
			}
			testkit.OK(t, w.Write(burstlog.Burst{At: 0.3 * float64(i), Busy: busy, Idle: 0.170, Service: 0.5}))
		}
		testkit.OK(t, w.Flush())
		q := question(t, "sap", "sap-dialog", []string{"balanced-rs1"}, nil)
		q.Options = model.Options{Seed: 1, Replications: 10, Steps: 2000}
		q.Workload = testkit.Must(predict.ReadWorkload("bursts.jsonl", &b, true))(t)
		if len(q.Workload.Warnings) > 0 {
			t.Errorf("%q", q.Workload.Warnings)
		}
		a := testkit.Must(predict.Ask(t.Context(), q, nil))(t)
		for _, c := range a.Document().Data.(predict.Data).Cells {
			if c.Policy == "balanced-rs1" && c.Response == model.CPUSeconds {
				width[phases] = c.Ratio.High - c.Ratio.Low
			}
		}
		if said := render(t, a); !strings.Contains(said, "20 % of 300 s") ||
			!strings.Contains(said, "pid:1 ran for that share") {
			t.Error("the page does not say that the record is a sample, or whose it is")
		}
	}
	t.Log(width)
	if !(width[true] > 2*width[false]) {
		t.Errorf("widths %v", width)
	}
}
