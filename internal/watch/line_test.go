package watch_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

// Names that a machine chooses reach no terminal raw, neither in a sample's JSON nor in a record, and
// what is unknown is null.
func TestHostileNamesInJSON(t *testing.T) {
	const hostile = "C1\u009b31m\u202e"
	info := watch.Info{Hostname: hostile, States: map[int][]watch.IdleState{0: {{Name: hostile}}}}
	s := watch.Sample{Seconds: 1, CPUs: []watch.CPU{{Effective: math.NaN(), States: []float64{0.5}}}, Disks: []watch.Disk{{Name: hostile, PerFlush: math.Inf(1)}}}
	object := testkit.Must(result.JSON(s.Object(info)))(t)
	head := watch.HeadLine(watch.NewHead(info, watch.Reading{CPUs: []watch.CPUReading{{}}}, time.Second))
	for _, text := range [][]byte{object, head} {
		if bytes.ContainsAny(text, "\u009b\u202e") {
			t.Errorf("raw: %q", text)
		}
		if !json.Valid(text) || !bytes.Contains(text, []byte(`C1\u009b31m\u202e`)) {
			t.Errorf("%s", text)
		}
	}
	for _, want := range []string{`"effective_hertz":null`, `"flush_seconds":null`, `"commits":[]`, `"idle_states":{`} {
		if !bytes.Contains(object, []byte(want)) {
			t.Errorf("%s is not in %s", want, object)
		}
	}
}
