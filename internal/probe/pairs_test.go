package probe

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// One line says whether the CPUs of a run share a core.
func TestBetween(t *testing.T) {
	topo := &host.Topology{}
	for c := range 5 {
		x := host.CPU{ID: c}
		if c < 4 {
			x.Siblings = host.Known([]int{c}, "", "made")
		}
		topo.CPUs = append(topo.CPUs, x)
	}
	out := Outcome{Pairs: []PairResult{
		{A: 0, B: 3, Relation: Separate, Reported: true},
		{A: 1, B: 2, Relation: Siblings},
		{A: 0, B: 1, Relation: UnknownPair, Reason: "too noisy"},
		{A: 2, B: 4, Relation: TimeShared},
	}}
	for _, c := range []struct {
		some, others []int
		want         []string
	}{
		{[]int{0, 2}, []int{1, 3}, []string{"Shared core: yes. CPUs 1 and 2", "reports: separate."}},
		{[]int{3}, []int{0}, []string{"Shared core: no. CPUs 0 and 3", "reports: siblings."}},
		{[]int{2}, []int{4}, []string{"one CPU of the host below runs both in turn", "reports: unknown."}},
		{[]int{0}, []int{1}, []string{"Shared core: undecided (too noisy)"}},
		{[]int{0}, []int{1, 3}, []string{"Shared core: undecided"}},
		{[]int{0}, []int{3, 4}, []string{"Shared core: no on the 1 of 2 pairs that were tried."}},
		{[]int{7}, []int{1}, []string{"not measured on any"}},
	} {
		for _, part := range c.want {
			testkit.Has(t, Between(out, topo, c.some, c.others), part)
		}
	}
	testkit.Is(t, "Shared core: not measured, one CPU.", Between(Outcome{Skipped: "one CPU"}, topo, nil, nil))
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
