package all

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// Every workload holds the contract, in its own package's tests.
func TestContracts(t *testing.T) {
	for _, w := range Workloads() {
		of := reflect.TypeOf(w)
		held := false
		for _, text := range sources(t, of, "/*_test.go") {
			held = held || strings.Contains(text, "workloadtest.Contract") && strings.Contains(text, of.Name()+"{")
		}
		if !held {
			t.Errorf("%s: no test of its package gives %s{} to workloadtest.Contract", w.Describe().Name, of.Name())
		}
	}
}

// Jobs of a workload's package stand in the list, without which its worker process finds no job.
func TestJobsAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, each := range list {
		pkg := reflect.TypeOf(each.workload).PkgPath()
		listed[pkg] = listed[pkg] || len(each.jobs) > 0
	}
	for _, each := range list {
		if each.workload == (Null{}) { // it has no processes, and its package's Jobs are those of all
			continue
		}
		of := reflect.TypeOf(each.workload)
		has := slices.ContainsFunc(sources(t, of, "/*.go"),
			func(text string) bool { return strings.Contains(text, "\nfunc Jobs() ") })
		testkit.Is(t, listed[of.PkgPath()], has, of.PkgPath(), "has Jobs", "list has them", !has)
	}
}

// sources are the files of a workload's package.
func sources(t *testing.T, of reflect.Type, pattern string) (texts []string) {
	t.Helper()
	files := testkit.Must(filepath.Glob("../" + filepath.Base(of.PkgPath()) + pattern))(t)
	for _, file := range files {
		text := testkit.Must(os.ReadFile(file))(t)
		texts = append(texts, string(text))
	}
	return texts
}

// Names of workloads and of worker jobs are unique, and every workload is found.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Workloads() {
		name := w.Describe().Name
		if found, ok := Find(name); seen[name] || !ok || found.Describe().Name != name {
			t.Errorf("workload %q is there twice, or not found", name)
		}
		seen[name] = true
		for _, p := range w.Describe().List() {
			// of a study's [workload]
			for _, reserved := range []string{"name", "warmup", "settle", "timeout", "expect", "retries"} {
				if p.Name == reserved {
					t.Errorf("workload %s: parameter %s means something else in a study", name, p.Name)
				}
			}
		}
	}
	if _, ok := Find("none"); ok {
		t.Error("found what is not there")
	}
	jobs := map[string]bool{}
	for _, j := range Jobs() {
		if jobs[j.Name] {
			t.Errorf("job %s is there twice", j.Name)
		}
		jobs[j.Name] = true
	}
}

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
