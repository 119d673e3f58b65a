package probe

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
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
		for l := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(l, "\n"))); n > 80 {
				t.Errorf("%d columns: %s", n, l)
			}
		}
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
	testkit.Schema{Title: "Measured pairs of CPUs", Description: "What CPUs share, as the system reports it and as measured. What is not known is null.",
		Forms: []any{PairsReport{Kind: "pairs", Schema: 1}}, Unknown: true,
		Words:  map[reflect.Type][]any{reflect.TypeFor[Relation](): {Siblings, Separate, TimeShared, UnknownPair}, reflect.TypeFor[result.Evidence](): {result.Measured, ""}},
		Shapes: map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}},
	}.Equal(t, "relation.schema.json")
	schema := testkit.Must(jsonschema.NewCompiler().Compile("../../docs/schema/relation.schema.json"))(t)
	valid := func(r PairsReport) error {
		b := testkit.Must(result.JSON(r))(t)
		v := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(b)))(t)
		return schema.Validate(v)
	}
	for name, r := range reports() {
		if err := valid(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := made(false, true, sep, sep, sep, sep, sep, sep)
	bad.Pairs[0].Measured = "cousins"
	if valid(bad) == nil {
		t.Error("an unknown relation is not refused")
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
