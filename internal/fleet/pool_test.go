package fleet

import (
	"strings"
	"testing"
)

func ran(host, study string, effect, half float64) Ran {
	return Ran{Host: host, Stratum: "s", Hash: "abc",
		Effect: Effect{Study: "live-governor", StudyHash: study, Contrast: "governor: performance against powersave",
			Response: "cpu",
			Compare:  "ratio", Better: "lower", Value: ptr(effect), Low: ptr(effect - half), High: ptr(effect + half),
			Alpha: ptr(0.05), N: 20, Margin: ptr(0.01), Noise: ptr(0.005)}}
}

// A mean that is sure is no promise for the next host: only its own interval is.
func TestPoolStudies(t *testing.T) {
	var alike, apart []Ran
	for i, v := range []float64{-0.05, -0.051, -0.049, -0.052, -0.05, -0.048} {
		host := string(rune('a' + i))
		alike = append(alike, ran(host, "1", v, 0.004))
		apart = append(apart, ran(host, "1", v+0.03*float64(i%3)-0.03, 0.004))
	}
	p := PoolStudies(alike)
	if len(p) != 1 || p[0].Verdict != "worthwhile" || p[0].K != 6 || *p[0].NextHigh >= -0.01 {
		t.Errorf("%+v", p[0])
	}
	if s := p[0].sentence(); !strings.Contains(s,
		"On 6 of 6 it is beyond the margin; so it may be on up to 100 % of hosts like these.") {
		t.Error(s)
	}
	var none []Ran
	for i := range 8 {
		none = append(none, ran(string(rune('a'+i)), "1", 0.0001*float64(i%3), 0.002))
	}
	if p := PoolStudies(none)[0]; p.Verdict != "no_effect" ||
		!strings.Contains(p.sentence(), "On 0 of 8 it is beyond the margin; so it may be on up to 37 %") {
		t.Errorf("%s: %s", p.Verdict, p.sentence())
	}
	if p := PoolStudies(apart); p[0].Verdict != "undecided" || *p[0].High >= -0.01 {
		t.Errorf("hosts that differ: %s, mean at most %v", p[0].Verdict, *p[0].High)
	}
	if p := PoolStudies(alike[:2]); p[0].Verdict != "too_few" || p[0].Mean != nil {
		t.Errorf("%+v", p[0])
	}
}

// An effect without an interval is listed and does not count; a later experiment of a host takes the place of an
// earlier one; another version of the study, and other hardware, are pooled apart.
func TestPoolKeepsApart(t *testing.T) {
	list := []Ran{ran("a", "1", -0.05, 0.01), ran("b", "1", -0.05, 0.01), ran("c", "1", -0.05, 0.01),
		ran("d", "2", -0.05, 0.01)}
	bare := ran("e", "1", -0.5, 0.01)
	bare.Low, bare.High = nil, nil
	other := ran("f", "1", 0.5, 0.01)
	other.Stratum = "t"
	again := ran("a", "1", -0.06, 0.01)
	p := PoolStudies(append(list, bare, other, again))
	if len(p) != 3 || p[0].K != 3 || len(p[0].Void) != 1 || p[0].Void[0].Why == "" {
		t.Fatalf("%d pools, %+v", len(p), p[0])
	}
	for _, h := range p[0].Hosts {
		if h.Host == "a" && *h.Effect != -0.06 {
			t.Errorf("the earlier experiment of a counts: %v", *h.Effect)
		}
	}
}
