package burstlog_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

const head = `{"schema":2,"kind":"hostlab-bursts","started":"2026-11-21T09:00:00Z","interval":0,"cpus":[0,1],"source":"test","length":0.12,"seen":1}` + "\n"

func TestRead(t *testing.T) {
	r := testkit.Must(burstlog.Read(strings.NewReader(head + `{"cpu":0,"at":0,"busy":0.06,"idle":0.04}
{"cpu":1,"at":0.02,"busy":0.03,"idle":0.05}
{"cpu":0,"at":0.1,"busy":0.02,"idle":0}
`)))(t)
	testkit.Same(t, []float64{0.06, 0.03, 0.02}, r.Busy)
	if math.Abs(r.Span-0.12) > 1e-12 || r.Active != 2 {
		t.Errorf("span %v, active %d", r.Span, r.Active)
	}
	if got, want := r.Load(), 0.11/0.24; math.Abs(got-want) > 1e-12 {
		t.Errorf("load %v, expected %v", got, want)
	}
	open, closed := r.Open("x"), r.Replay("x")
	for _, w := range []model.Workload{open, closed} {
		if err := w.Validate(); err != nil {
			t.Errorf("%v", err)
		}
		if math.Abs(w.Slice.Mean-0.11/3) > 1e-12 {
			t.Errorf("mean slice %v", w.Slice.Mean)
		}
	}
	if !open.Open() || closed.Open() || closed.Users != 2 || math.Abs(closed.Think.Mean-0.045) > 1e-12 {
		t.Errorf("open %+v\nclosed %+v", open, closed)
	}
}

func TestReadRefuses(t *testing.T) {
	burst := `{"cpu":0,"at":0,"busy":0.06,"idle":0.04}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"no head", burst, "line 1: not a record of bursts"},
		{"binary", "\x00\x01\x02", "line 1: not a record of bursts"},
		{"other kind", `{"schema":2,"kind":"x","cpus":[0]}`, `line 1: kind is "x"`},
		{"schema", strings.Replace(head, `"schema":2`, `"schema":9`, 1), "line 1: schema is 9; this version reads 2"},
		{"no CPUs", strings.Replace(head, `[0,1]`, `[]`, 1), "line 1: cpus is empty"},
		{"CPU twice", strings.Replace(head, `[0,1]`, `[1,1]`, 1), "line 1: cpus: 1 is negative or there twice"},
		{"only a head", head, "no burst"},
		{"unknown CPU", head + `{"cpu":7,"at":0,"busy":1,"idle":1}`, "line 2: cpu 7 is not among the CPUs of the head"},
		{"busy zero", head + `{"cpu":0,"at":0,"busy":0,"idle":1}`, "line 2: cpu 0: busy is 0 s; it must be above 0"},
		{"busy negative", head + `{"cpu":0,"at":0,"busy":-1,"idle":1}`, "line 2: cpu 0: busy is -1 s"},
		{"idle negative", head + `{"cpu":0,"at":0,"busy":1,"idle":-1}`, "line 2: cpu 0: idle is -1 s"},
		{"at negative", head + `{"cpu":0,"at":-1,"busy":1,"idle":1}`, "line 2: cpu 0: at is -1 s"},
		{"NaN", head + `{"cpu":0,"at":0,"busy":NaN,"idle":1}`, "line 2: expected JSON"},
		{"too large", head + `{"cpu":0,"at":0,"busy":1e999,"idle":1}`, "line 2: expected JSON"},
		{"key missing", head + `{"cpu":0,"at":0,"busy":1}`, "line 2: a burst has the keys"},
		{"key unknown", head + `{"cpu":0,"at":0,"busy":1,"idle":1,"freq":2}`, `line 2: expected JSON: unknown key "freq"`},
		{"text", head + `{"cpu":"a","at":0,"busy":1,"idle":1}`, "line 2: expected JSON: cpu takes a whole number, not a text"},
		{"fraction", head + `{"cpu":0.5,"at":0,"busy":1,"idle":1}`, "line 2: expected JSON: cpu takes a whole number, not 0.5"},
		{"list", head + `[1]`, "line 2: expected JSON: the line has a list where it takes keys in braces"},
		{"time", strings.Replace(head, "2026-", "yesterday-", 1), "started takes a time as 2026-11-21T09:00:00Z, not "},
		{"cut off", head + `{"cpu":0,"at":0,"bu`, "line 2: the line is cut off"},
		{"two values", head + `{"cpu":0,"at":0,"busy":1,"idle":1} {}`, "line 2: more than one JSON value"},
		{"overlap", head + burst + `{"cpu":0,"at":0.08,"busy":0.01,"idle":0.01}`, "line 3: cpu 0: a burst at 80 ms begins before the one before it, with its idle time, ends at 100 ms"},
		{"out of order", head + `{"cpu":0,"at":5,"busy":0.06,"idle":0.04}` + "\n" + burst, "line 3: cpu 0: a burst at 0 s begins before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Refused(burstlog.Read(strings.NewReader(c.text)))(t, c.want)
		})
	}
}

// TestRoundTrip writes bursts that follow each other and reads the same back.
func TestRoundTrip(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		h := burstlog.Head{Started: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "started"), 0).UTC(), CPUs: []int{0, 3}, Source: "rapid", Length: 1, Seen: 1}
		var file bytes.Buffer
		w := testkit.Must(burstlog.NewWriter(&file, h))(t)
		length := rapid.Float64Range(1e-6, 100)
		end := map[int]float64{}
		var busy []float64
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			b := burstlog.Burst{CPU: rapid.SampledFrom(h.CPUs).Draw(t, "cpu"), Busy: length.Draw(t, "busy"), Idle: length.Draw(t, "idle")}
			b.At = end[b.CPU]
			end[b.CPU] += b.Busy + b.Idle
			busy = append(busy, b.Busy)
			testkit.OK(t, w.Write(b))
		}
		testkit.OK(t, w.Flush())
		r := testkit.Must(burstlog.Read(&file))(t)
		if diff := cmp.Diff(busy, r.Busy); diff != "" {
			t.Fatal(diff)
		}
		if l := r.Load(); !(l > 0 && l <= 1) {
			t.Fatalf("load %v", l)
		}
		testkit.OK(t, r.Replay("r").Validate())
	})
}

func TestWriterRefuses(t *testing.T) {
	testkit.Refused(burstlog.NewWriter(&bytes.Buffer{}, burstlog.Head{}))(t, "", "a head without CPUs was taken")
	w := testkit.Must(burstlog.NewWriter(&bytes.Buffer{}, burstlog.Head{CPUs: []int{0}, Length: 1, Seen: 1}))(t)
	for _, b := range []burstlog.Burst{{CPU: 1, Busy: 1}, {Busy: math.NaN(), Idle: 1}, {Busy: 1, Idle: math.Inf(1)}, {At: -1, Busy: 1}} {
		testkit.Fails(t, w.Write(b), "", b, "was taken")
	}
	testkit.OK(t, w.Write(burstlog.Burst{At: 1, Busy: 1, Idle: 1}))
	testkit.Fails(t, w.Write(burstlog.Burst{At: 2, Busy: 1, Idle: 1}), "", "an overlap was taken")
}

// TestManyBursts holds that joining values keeps the mean.
func TestManyBursts(t *testing.T) {
	var bursts []burstlog.Burst
	sum, at := 0.0, 0.0
	for i := range 54321 {
		b := burstlog.Burst{At: at, Busy: 1e-3 * float64(i%977+1), Idle: 1e-3}
		bursts = append(bursts, b)
		sum, at = sum+b.Busy, at+b.Busy+b.Idle
	}
	r := testkit.Must(burstlog.New(burstlog.Head{CPUs: []int{0}, Length: 1, Seen: 1}, bursts))(t)
	d := r.Open("many").Slice
	if mean := sum / 54321; len(d.Values) != 5000 || !cmp.Equal(d.Mean, mean, cmpopts.EquateApprox(1e-3, 0)) {
		t.Errorf("%d values, mean %v, expected %v", len(d.Values), d.Mean, mean)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(head + `{"cpu":0,"at":0,"busy":0.06,"idle":0.04}`)
	f.Add(head + `{"cpu":0,"at":0,"busy":1,"idle":1}` + "\n" + `{"cpu":1,"at":0,"busy":1,"idle":1}` + "\n\n")
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := burstlog.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if l := r.Load(); !(l > 0 && l <= 1) {
			t.Errorf("load %v", l)
		}
		for _, b := range r.Busy {
			if !(b > 0) {
				t.Errorf("a length of %v", b)
			}
		}
	})
}

const sampled = `{"schema":2,"kind":"hostlab-bursts","started":"2026-11-21T09:00:00Z","interval":0,"cpus":[0,1],"source":"test","length":60,"seen":0.1,"load":0.3,"lost":1,"service":"pid:1"}` + "\n"

// Between the windows of a sample are no holes, and its load is what was counted.
func TestSample(t *testing.T) {
	r := testkit.Must(burstlog.Read(strings.NewReader(sampled + `{"cpu":0,"at":1,"busy":0.06,"idle":0.04,"service":0.5}` + "\n" + many(100))))(t)
	if r.Load() != 0.3 || r.Span != 60 {
		t.Errorf("load %v, span %v", r.Load(), r.Span)
	}
	if got, want := r.ServiceShare(), 0.03/(0.06+100*0.01); math.Abs(got-want) > 1e-9 {
		t.Errorf("the service has %v, expected %v", got, want)
	}
	testkit.Has(t, r.Open("x").Source, "in 10 % of 60 s", "source")
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
		{"no seen", strings.Replace(sampled, `"seen":0.1,`, "", 1) + one, "seen is above 0"},
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
		w := testkit.Must(burstlog.NewWriter(&b, burstlog.Head{CPUs: []int{0}, Length: 60, Seen: 1}))(t)
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
