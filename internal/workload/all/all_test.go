package all

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
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
