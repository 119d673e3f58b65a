package burstlog_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hostlab/internal/model/burstlog"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

const sampled = `{"schema":2,"kind":"hostlab-bursts","started":"2026-11-21T09:00:00Z","interval":0,"cpus":[0,1],"source":"test","length":60,"seen":0.1,"load":0.3,"lost":1,"service":"pid:1"}` + "\n"

// Between the windows of a sample are no holes, and its load is what was counted.
func TestSample(t *testing.T) {
	r, err := burstlog.Read(strings.NewReader(sampled + `{"cpu":0,"at":1,"busy":0.06,"idle":0.04,"service":0.5}` + "\n" + many(100)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 0 || r.Load() != 0.3 || r.Span != 60 {
		t.Errorf("warnings %q, load %v, span %v", r.Warnings, r.Load(), r.Span)
	}
	if got, want := r.ServiceShare(), 0.03/(0.06+100*0.01); math.Abs(got-want) > 1e-9 {
		t.Errorf("the service has %v, expected %v", got, want)
	}
	if s := r.Open("x").Source; !strings.Contains(s, "in 10 % of 60 s") {
		t.Errorf("source %q", s)
	}
}

// many are bursts of 10 ms on CPU 1, half a second apart.
func many(n int) string {
	var b bytes.Buffer
	w, err := burstlog.NewWriter(&b, burstlog.Head{CPUs: []int{1}, Length: 60, Seen: 1})
	if err != nil {
		panic(err)
	}
	for i := range n {
		if err := w.Write(burstlog.Burst{CPU: 1, At: float64(i) / 2, Busy: 0.01, Idle: 0.2}); err != nil {
			panic(err)
		}
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	_, lines, _ := strings.Cut(b.String(), "\n")
	return lines
}

func TestSampleRefuses(t *testing.T) {
	one := `{"cpu":0,"at":1,"busy":0.06,"idle":0.04}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"lost", sampled + one, "1 bursts were lost, 50 % of all"},
		{"schema 1", strings.Replace(sampled, `"schema":2`, `"schema":1`, 1) + one, "a record of schema 1 has none of them"},
		{"no seen", strings.Replace(sampled, `"seen":0.1,`, "", 1) + one, "one of schema 2 has seen"},
		{"seen", strings.Replace(sampled, `"seen":0.1`, `"seen":1.1`, 1) + one, "they are shares"},
		{"length", strings.Replace(sampled, `"length":60`, `"length":-1`, 1) + one, "length is -1 s"},
		{"service", strings.Replace(sampled, `"lost":1`, `"lost":0`, 1) + strings.Replace(one, "}", `,"service":2}`, 1), "service is 2; it is a share"},
		{"overlap", strings.Replace(sampled, `"lost":1`, `"lost":0`, 1) + one + `{"cpu":0,"at":1.05,"busy":0.06,"idle":0.04}`, "overlap or are out of order"},
	} {
		testkit.Refused(burstlog.Read(strings.NewReader(c.text)))(t, c.want, c.name)
	}
}

// Stretches that differ make samples that differ: what comes in phases is less sure.
func TestResample(t *testing.T) {
	spread := map[bool]float64{}
	for _, phases := range []bool{false, true} {
		var b bytes.Buffer
		w := testkit.Must(burstlog.NewWriter(&b, burstlog.Head{CPUs: []int{0}}))(t)
		at := 0.0
		for i := range 1000 {
			busy := 0.01
			if phases && i >= 500 || !phases && i%2 == 1 {
				busy = 0.03
			}
			testkit.OK(t, w.Write(burstlog.Burst{At: at, Busy: busy, Idle: 0.06 - busy}))
			at += 0.06
		}
		testkit.OK(t, w.Flush())
		r := testkit.Must(burstlog.Read(&b))(t)
		var means []float64
		for i := range 200 {
			w := r.Resample(rand.New(rand.NewPCG(1, uint64(i)))).Replay("x")
			busy, idle := w.Slice.Values, w.Think.Values
			means = append(means, stats.Mean(busy))
			if math.Abs(float64(len(busy))/1000-1) > 0.1 || len(idle) != len(busy) {
				t.Fatalf("%d bursts, %d idle", len(busy), len(idle))
			}
		}
		if m := stats.Mean(means); math.Abs(m/0.02-1) > 0.02 {
			t.Errorf("phases %v: mean %v", phases, m)
		}
		spread[phases] = math.Sqrt(stats.Variance(means))
	}
	// Of 30 stretches, each short or long: 0.01 / sqrt(30).
	if want := 0.01 / math.Sqrt(30); math.Abs(spread[true]/want-1) > 0.2 || spread[false] > want/10 {
		t.Errorf("spread %v, expected %v with phases and little without", spread, want)
	}
}
