package all

import (
	"context"
	"fmt"
	"math"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Null{}, workloadtest.Config{
		Params:     map[string]any{"noise": 0.02, "jitter": 0.01, "operations": int64(17)},
		Long:       map[string]any{"sleep": "5s"},
		Operations: 17,
		Work:       workloadtest.Responses("seconds"),
	})
}

func open(t *testing.T, given map[string]any) (workload.Session, workload.Params) {
	t.Helper()
	v := testkit.Must(workload.Check(Null{}.Describe(), given))(t)
	s := testkit.Must(Null{}.Open(t.Context(), workload.Config{Params: v}))(t)
	return s, v
}

func TestScript(t *testing.T) {
	s, v := open(t, map[string]any{"script": []any{1.5, "missing", "fail", int64(-2), "0"}, "effect": 2.0})
	var got []string
	for i := range uint64(7) {
		sample, err := s.Run(t.Context(), workload.Request{Params: v, Seed: 3, Run: i})
		switch {
		case err != nil:
			got = append(got, "failed")
		case sample.Missing["seconds"] != "":
			got = append(got, "missing")
		default:
			got = append(got, fmt.Sprint(sample.Values["seconds"]))
		}
	}
	want := []string{"3", "missing", "failed", "-4", "0", "3", "missing"}
	testkit.Same(t, want, got)
}

func TestScriptIsChecked(t *testing.T) {
	for _, word := range []string{"quick", "NaN", "inf", ""} {
		v := testkit.Must(workload.Check(Null{}.Describe(), map[string]any{"script": []string{"1", word}}))(t)
		testkit.Refused((Null{}).Open(context.Background(), workload.Config{Params: v}))(t, "entry 2", word)
	}
}

func TestEveryNthFails(t *testing.T) {
	s, v := open(t, map[string]any{"fail": int64(3)})
	for i := range 9 {
		if _, err := s.Run(t.Context(), workload.Request{Params: v, Run: uint64(i)}); (err != nil) != (i%3 == 2) {
			t.Errorf("run %d: %v", i, err)
		}
	}
}

// Noise is that of the block, jitter that of the run, and both have the size that
// was asked for.
func TestNoise(t *testing.T) {
	spread := func(given map[string]any, sameSeed bool) float64 {
		s, v := open(t, given)
		var sum, squares float64
		const n = 4000
		for i := range n {
			seed := uint64(i)
			if sameSeed {
				seed = 5
			}
			sample := testkit.Must(s.Run(t.Context(), workload.Request{Params: v, Seed: seed, Run: uint64(i)}))(t)
			x := math.Log(sample.Values["seconds"])
			sum += x
			squares += x * x
		}
		return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
	}
	for name, c := range map[string]struct {
		given map[string]any
		same  bool
		want  float64
	}{
		"noise over blocks":    {map[string]any{"noise": 0.02}, false, 0.02},
		"noise within a block": {map[string]any{"noise": 0.02}, true, 0},
		"jitter within":        {map[string]any{"jitter": 0.02}, true, 0.02},
	} {
		if got := spread(c.given, c.same); math.Abs(got-c.want) > 0.0015 {
			t.Errorf("%s: %.4f, want %.4f", name, got, c.want)
		}
	}
}
