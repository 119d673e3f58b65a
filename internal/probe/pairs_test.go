package probe

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
	"hostlab/internal/testkit/schemas"
)

// made is an outcome on four CPUs, of which the system may report 0 and 2, 1 and 3 as
// siblings, with the relations of the pairs 0-1, 0-2, 0-3, 1-2, 1-3, 2-3.
func made(reported, known bool, relations ...Relation) PairsReport {
	topo := &host.Topology{}
	for c := range 4 {
		x := host.CPU{ID: c}
		if known {
			x.Siblings = host.Known([]int{c}, "", "made")
		}
		if known && reported {
			x.Siblings = host.Known([]int{c % 2, c%2 + 2}, "", "made")
		}
		topo.CPUs = append(topo.CPUs, x)
	}
	out := Outcome{Method: "how", Seconds: 2}
	for i, p := range [][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}} {
		out.Pairs = append(out.Pairs, PairResult{A: p[0], B: p[1], Reported: reported && p[1]-p[0] == 2,
			Relation: relations[i], Reason: "because"})
		pair := &out.Pairs[i]
		switch i {
		case 0: // unknown
		case 1:
			pair.PingPong = result.Estimate{Value: 1.5e-8, Low: math.NaN(), High: math.NaN(), N: 3, Unit: "s"}
			pair.SlowDown = result.Estimate{Value: 1.9, Low: math.NaN(), High: math.NaN(), N: 3, Unit: "ratio"}
		default:
			pair.PingPong = result.Estimate{Value: 1.04e-7, Low: 1.001e-7, High: 1.2e-7, N: 8, Unit: "s"}
			pair.SlowDown = result.Estimate{Value: 1.02, Low: 1.001, High: 1.04, N: 8, Unit: "ratio"}
		}
	}
	r := NewPairsReport(out, topo, []int{0, 1, 2, 3})
	r.Tool, r.Host, r.Started = "hostlab", "made", time.Unix(0, 0).UTC()
	return r
}

const (
	sib = Siblings
	sep = Separate
	sha = TimeShared
	unk = UnknownPair
)

func reports() map[string]PairsReport {
	return map[string]PairsReport{
		"no decided pair shares a core":                                   made(false, true, sep, sep, sep, sep, sep, sep),
		"agrees with the system: 2 pairs of CPUs share":                   made(true, true, sep, sib, sep, sep, sib, sep),
		"2 pairs of CPUs share a core, and the system does not say so":    made(false, true, sep, sib, sep, sep, sib, sep),
		"2 pairs of CPUs are reported as siblings, but behave like":       made(true, true, sep, sep, sep, sep, sep, sep),
		"1 pair of CPUs take turns on one CPU":                            made(false, true, sha, sep, sep, sep, sep, sep),
		"does not report what CPUs share; by measurement no decided pair": made(false, false, sep, sep, sep, sep, sep, sep),
		"6 pairs of CPUs stay undecided; repeat on a quieter":             made(false, true, unk, unk, unk, unk, unk, unk),
		"shares a core. 1 pair of CPUs stay undecided":                    made(false, true, unk, sep, sep, sep, sep, sep),
		"Not measured: one CPU.": NewPairsReport(Outcome{Skipped: "one CPU",
			Method: "how"}, &host.Topology{}, []int{0}),
		"6 pairs of CPUs share a core, and the system does not say so. W": made(false, false, sib, sib, sib, sib, sib, sib),
	}
}

func TestPairsVerdicts(t *testing.T) {
	for want, r := range reports() {
		want = strings.TrimSuffix(want, " W")
		testkit.Has(t, r.Verdict, want)
		var b bytes.Buffer
		testkit.OK(t, document.WriteText(&b, r.Document(), document.TextOptions{}))
		testkit.Fits(t, b.String(), 80, nil)
		testkit.Has(t, b.String(), "no positive control")
	}
}

func TestPairsReport(t *testing.T) {
	r := made(true, true, sep, sep, unk, sep, sib, sha)
	var got []string
	for _, p := range r.Pairs {
		agree := "?"
		if p.Agree != nil {
			agree = fmt.Sprint(*p.Agree)
		}
		got = append(got, fmt.Sprintf("%d-%d %s %s %s", p.A, p.B, p.Reported, p.Measured, agree))
	}
	// What disagrees comes first, then what is close.
	want := "2-3 separate time-shared false; 0-2 siblings separate false; 1-3 siblings siblings true; 0-3 separate unknown ?; 0-1 separate separate true; 1-2 separate separate true"
	testkit.Is(t, want, strings.Join(got, "; "))
	var b bytes.Buffer
	testkit.OK(t, document.WriteText(&b, r.Document(), document.TextOptions{}))
	for _, want := range []string{"1 and 3  siblings  siblings     1.02x [1.00, 1.04]  104 ns [100, 120]  8", "unknown",
		" 15.0 ns ", "Undecided: CPUs 0 and 3: because"} {
		testkit.Has(t, b.String(), want)
	}
}

func TestManyPairs(t *testing.T) {
	r := made(false, true, sep, sep, sep, sep, sep, sep)
	for range 100 {
		r.Pairs = append(r.Pairs, r.Pairs[5])
	}
	var b bytes.Buffer
	if err := document.WriteText(&b, r.Document(), document.TextOptions{}); err != nil ||
		strings.Count(b.String(), "\n") > 40 || !strings.Contains(b.String(), "and 82 more rows") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// docs/schema/relation.schema.json describes the document.
func TestPairsSchema(t *testing.T) {
	type plainEstimate result.Estimate // without its own JSON, which is null where it is unknown
	schemas.Schema{Title: "Measured pairs of CPUs", Description: "What CPUs share, as the system reports it and as measured. What is not known is null.",
		Forms: []any{PairsReport{Kind: "pairs", Schema: 1}}, Unknown: true,
		Words:  map[reflect.Type][]any{reflect.TypeFor[Relation](): {Siblings, Separate, TimeShared, UnknownPair}, reflect.TypeFor[result.Evidence](): {result.Measured, ""}},
		Shapes: map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}},
	}.Equal(t, "relation.schema.json")
	for name, r := range reports() {
		conform.To(t, "relation.schema.json", testkit.Must(result.JSON(r))(t), name)
	}
}

// One line says whether the CPUs of a run share a core.
func TestBetween(t *testing.T) {
	r := PairsReport{Pairs: []ReportedPair{
		{A: 0, B: 3, Measured: Separate, Reported: Siblings},
		{A: 1, B: 2, Measured: Siblings, Reported: Separate},
		{A: 0, B: 1, Measured: UnknownPair, Reason: "too noisy"},
	}}
	for _, c := range []struct {
		some, others []int
		want         string
	}{{[]int{0, 2}, []int{1, 3}, "Shared core: yes. CPUs 1 and 2"}, {[]int{3}, []int{0}, "Shared core: no. CPUs 0 and 3"},
		{[]int{0}, []int{1}, "Shared core: undecided (too noisy)"},
		{[]int{0}, []int{1, 3}, "Shared core: undecided"}, {[]int{0}, []int{3, 4}, "Shared core: no on the 1 of 2 pairs that were tried."}, {[]int{7}, []int{1}, "not measured on any"}} {
		if got := r.Between(c.some, c.others); !strings.Contains(got, c.want) {
			t.Errorf("%v beside %v: %s", c.some, c.others, got)
		}
	}
	testkit.Is(t, "Shared core: not measured, one CPU.", (PairsReport{Skipped: "one CPU"}).Between(nil, nil))
}

// span is an interval of eight rounds.
func span(est, low, high float64) result.Estimate {
	return result.Estimate{Value: est, Low: low, High: high, N: 8}
}

// around is a narrow interval.
func around(est float64) result.Estimate { return span(est, est-0.03, est+0.03) }

func same(iv result.Estimate) [2]result.Estimate { return [2]result.Estimate{iv, iv} }

func signal(alu, fma, control, wall float64, near Near) PairSignal {
	return PairSignal{ALU: same(around(alu)), FMA: same(around(fma)), Control: same(around(control)),
		Wall: around(wall), PingPong: 30e-9, Near: near}
}

func TestClassify(t *testing.T) {
	nan := math.NaN()
	with := func(s PairSignal, change func(*PairSignal)) PairSignal { change(&s); return s }
	for name, c := range map[string]struct {
		s    PairSignal
		want Relation
	}{
		// Seen on a guest with separate cores: 1.000 [.93, 1.04].
		"separate cores as seen": {PairSignal{ALU: same(span(1, 0.93, 1.04)), FMA: same(span(1, 0.93, 1.04)),
			Control: same(span(1, 0.93, 1.04)), Wall: around(1)}, Separate},
		// Seen with both threads on one CPU: wall 2.65, chunks 1.01.
		"both on one CPU as seen": {signal(1.01, 1.01, 1.01, 2.65, NearUnknown), TimeShared},
		// Up to 30 % more from both threads of a core: each 2/1.3 times slower.
		"a core's published gain": {signal(1.54, 1.54, 1.02, 1.02, NearYes), Siblings},
		"only integer ports":      {signal(1.54, 1.05, 1.02, 1.02, NearYes), Siblings},
		"only floating point":     {signal(1.05, 1.9, 1.02, 1.02, NearYes), Siblings},
		"at the thresholds":       {signal(1.30, 1.0, 1.10, 1.0, NearYes), Siblings},

		"below siblings":               {signal(1.29, 1.29, 1.02, 1.02, NearYes), UnknownPair},
		"above separate":               {signal(1.16, 1.0, 1.0, 1.0, NearNo), UnknownPair},
		"ping-pong far":                {signal(1.54, 1.54, 1.02, 1.02, NearNo), UnknownPair},
		"ping-pong unknown":            {signal(1.54, 1.54, 1.02, 1.02, NearUnknown), UnknownPair},
		"control slowed too":           {signal(1.54, 1.54, 1.30, 1.30, NearYes), UnknownPair},
		"separate, but control slowed": {signal(1.0, 1.0, 1.20, 1.20, NearNo), UnknownPair},
		"one direction only": {with(signal(1.54, 1.0, 1, 1, NearYes), func(s *PairSignal) {
			s.ALU[1] = around(1.05)
		}), UnknownPair},
		"wide interval, siblings": {with(signal(1.54, 1.54, 1, 1, NearYes), func(s *PairSignal) {
			s.ALU, s.FMA = same(span(1.54, 0.9, 2)), same(span(1.54, 0.9, 2))
		}), UnknownPair},
		"wide interval, separate": {with(signal(1, 1, 1, 1, NearNo), func(s *PairSignal) {
			s.ALU[0] = span(1, 0.8, 1.4)
		}), UnknownPair},
		// Means under load came out between 0.03 and 37.
		"useless under load": {with(signal(1, 1, 1, 1, NearNo), func(s *PairSignal) {
			s.ALU, s.FMA = same(span(1.1, 0.03, 37)), same(span(1.1, 0.03, 37))
		}), UnknownPair},
		"no intervals": {with(signal(1, 1, 1, 1, NearNo), func(s *PairSignal) {
			s.ALU = same(span(1, nan, nan))
		}), UnknownPair},
		"time-shared without intervals": {with(signal(1, 1, 1, 2, NearNo), func(s *PairSignal) {
			s.Wall = span(2, nan, nan)
		}), UnknownPair},
		"slow clock time, waiting not known": {with(signal(1, 1, 1, 2, NearNo), func(s *PairSignal) {
			s.WallRaw = true
		}), UnknownPair},
		"separate, reported and far": {with(signal(1, 1, 1, 1, NearNo), func(s *PairSignal) { s.Reported = true }),
			Separate},
		"separate, reported, and near": {with(signal(1, 1, 1, 1, NearYes), func(s *PairSignal) { s.Reported = true }),
			UnknownPair},
		"separate beside others": {with(signal(1, 1, 1, 1, NearNo),
			func(s *PairSignal) { s.Foreign, s.Most = 0.5, 1.1 }), Separate},
		"separate beside many others": {with(signal(1, 1, 1, 1, NearNo),
			func(s *PairSignal) { s.Foreign, s.Most = 0.8, 1.1 }), UnknownPair},
		"slow alone in most rounds": {with(signal(1, 1, 1, 1, NearNo),
			func(s *PairSignal) { s.Foreign, s.Most = 0.5, 1.5 }), UnknownPair},
		"siblings beside others": {with(signal(1.54, 1.54, 1.02, 1.02, NearYes),
			func(s *PairSignal) { s.Foreign = 0.5 }), Siblings},
		"turns beside others": {with(signal(1, 1, 1, 2, NearNo), func(s *PairSignal) { s.Foreign = 0.5 }),
			UnknownPair},
		"turns and shares": {signal(1.54, 1.54, 1, 2, NearYes), UnknownPair},
		"nothing measured": {PairSignal{}, UnknownPair},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Is(t, c.want, Classify(c.s), c.s.describe())
		})
	}
}

// No interval that reaches into the other answer's zone may be decided, whatever
// the estimates are.
func TestClassifyNeverGuesses(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		iv := func(name string) result.Estimate {
			est := rapid.Float64Range(0.5, 3).Draw(t, name)
			return span(est, est-rapid.Float64Range(0, 1).Draw(t, name+" below"),
				est+rapid.Float64Range(0, 1).Draw(t, name+" above"))
		}
		two := func(name string) [2]result.Estimate { return [2]result.Estimate{iv(name + " a"), iv(name + " b")} }
		s := PairSignal{ALU: two("alu"), FMA: two("fma"), Control: two("control"), Wall: iv("wall"),
			Near: rapid.SampledFrom([]Near{NearUnknown, NearYes, NearNo}).Draw(t, "near")}
		all := append(append(s.ALU[:], s.FMA[:]...), s.Control[:]...)
		switch Classify(s) {
		case Separate:
			for _, iv := range all {
				if iv.High >= siblingSlowdown || iv.Value > separateSlowdown {
					t.Fatalf("separate, though %+v", iv)
				}
			}
		case Siblings:
			if s.Near != NearYes || max(s.ALU[0].Low, s.FMA[0].Low) <= separateSlowdown ||
				max(s.ALU[1].Low, s.FMA[1].Low) <= separateSlowdown {
				t.Fatalf("siblings, though %+v", s)
			}
		case TimeShared:
			if s.Wall.Value < sharedWall || s.Wall.Low <= separateSlowdown {
				t.Fatalf("time-shared, though %+v", s.Wall)
			}
		}
	})
}

func TestNearness(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		ns   []float64
		want []Near
	}{
		{[]float64{12}, []Near{NearYes}},
		{[]float64{35}, []Near{NearUnknown}}, // one pair, and no telling a slow clock from another core
		{[]float64{225, 285}, []Near{NearUnknown, NearUnknown}},
		{[]float64{12, 50, 60, 13}, []Near{NearYes, NearNo, NearNo, NearYes}},
		{[]float64{30, 90, nan}, []Near{NearYes, NearNo, NearUnknown}}, // a slow clock stretches all
		{[]float64{nan, 0}, []Near{NearUnknown, NearUnknown}},
	} {
		for i := range c.ns {
			c.ns[i] *= 1e-9
		}
		testkit.Same(t, c.want, nearness(c.ns), c.ns)
	}
}
