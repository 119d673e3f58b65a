package burstlog

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"hostlab/internal/testkit"
)

// recorded is ten seconds of four CPUs: exponential bursts and idle times, of which a tenth of the time was seen.
func recorded(started time.Time, mean float64, rng *rand.Rand) (Head, []Burst) {
	head := Head{Started: started, CPUs: []int{0, 1, 2, 3}, Source: "test", Length: 10, Seen: 0.1, Load: 0.25, Service: "x"}
	var list []Burst
	for cpu := range 4 {
		for at := 0.0; ; {
			busy, idle := rng.ExpFloat64()*mean+1e-6, rng.ExpFloat64()*3*mean
			if at+busy+idle > 10 {
				break
			}
			if rng.Float64() < head.Seen {
				list = append(list, Burst{CPU: cpu, At: at, Busy: busy, Idle: idle, Service: 0.5})
			}
			at += busy + idle
		}
	}
	return head.numbered(), list
}

// TestJoin: what a ring keeps of a day's bursts has their lengths, their load and their service, in a room that a ring has.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var list []*Sample
	began, sum, n := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 0.0, 0
	packed := 0
	for i := range 24 * 60 {
		mean := 0.002
		if i > 480 && i < 1200 { // by day they are shorter
			mean = 0.001
		}
		head, bursts := recorded(began.Add(time.Duration(i)*time.Minute), mean, rng)
		for _, b := range bursts {
			sum, n = sum+b.Busy, n+1
		}
		list = append(list, NewSample(head, bursts, 60, rng))
	}
	text := testkit.Must(json.Marshal(list))(t)
	z := testkit.Must(zstd.NewWriter(nil))(t)
	if packed = len(z.EncodeAll(text, nil)); packed > 4e6 {
		t.Errorf("a day's bursts take %d B, %d B unpacked", packed, len(text))
	}
	t.Logf("a day's bursts take %d B, %d B unpacked", packed, len(text))
	var back []*Sample
	testkit.OK(t, json.Unmarshal(text, &back))
	for _, s := range back {
		if !s.Sound() || len(s.Bursts) != 60 {
			t.Fatalf("%+v", s)
		}
	}
	all := Join(back)
	var b bytes.Buffer
	testkit.OK(t, all.Write(&b))
	r := testkit.Must(Read(&b))(t)
	// There are twice as many bursts a minute by day, and so there are in the record.
	want := (0.002*721 + 0.001*719*2) / (721 + 719*2)
	if n := len(r.Busy); n < 50000 || math.Abs(r.MeanBurst()-want) > 4*1.1*want/math.Sqrt(float64(n)) || r.Load() != 0.25 || r.Drawn() != Stretches ||
		math.Abs(r.ServiceShare()-0.5) > 1e-9 || r.Span < 86300 || r.Seen > 0.1/6 {
		t.Errorf("%d bursts of %g s (whole: %g), load %g, %d stretches, %g s", len(r.Busy), r.MeanBurst(), sum/float64(n), r.Load(), r.Drawn(), r.Span)
	}
}

// TestJoinOddTimes: a clock that was set back leaves the later one out, and strangers' samples are refused.
func TestJoinOddTimes(t *testing.T) {
	at := func(s int, cpu int) *Sample {
		return &Sample{Head: Head{Started: time.Unix(int64(s), 0), CPUs: []int{cpu}, Source: "test", Length: 10, Seen: 0.5, Load: 0.1}.numbered(),
			Bursts: []Burst{{CPU: cpu, At: 1, Busy: 2, Idle: 1}}}
	}
	s := Join([]*Sample{at(60, 0), at(0, 1), at(65, 0), at(120, 0)})
	if len(s.Bursts) != 3 || s.Head.Length != 130 || math.Abs(s.Head.Seen-15.0/130) > 1e-12 || len(s.Head.CPUs) != 2 {
		t.Errorf("%+v", s)
	}
	if Join(nil) != nil {
		t.Error("of nothing there is something")
	}
	for name, spoil := range map[string]func(*Sample){
		"another CPU":   func(s *Sample) { s.Bursts[0].CPU = 7 },
		"a late burst":  func(s *Sample) { s.Bursts[0].At = 11 },
		"a long burst":  func(s *Sample) { s.Bursts[0].Busy = 1e300 },
		"a long sample": func(s *Sample) { s.Head.Length = 1e6 },
		"no sample":     func(s *Sample) { s.Head.Seen = 0 },
		"many bursts":   func(s *Sample) { s.Bursts = make([]Burst, 10001) },
	} {
		x := at(0, 0)
		if spoil(x); x.Sound() {
			t.Errorf("%s is sound", name)
		}
	}
}
