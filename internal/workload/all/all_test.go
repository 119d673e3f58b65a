package all

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Every workload holds the contract, in its own package's tests.
func TestContracts(t *testing.T) {
	for _, w := range Workloads() {
		of := reflect.TypeOf(w)
		tests, err := filepath.Glob("../" + filepath.Base(of.PkgPath()) + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		held := false
		for _, file := range tests {
			text, err := os.ReadFile(file)
			held = held || err == nil && strings.Contains(string(text), "workloadtest.Contract") && strings.Contains(string(text), of.Name()+"{")
		}
		if !held {
			t.Errorf("%s: no test of its package gives %s{} to workloadtest.Contract", w.Describe().Name, of.Name())
		}
	}
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
		for _, p := range w.Describe().Params {
			for _, reserved := range []string{"name", "warmup", "settle", "timeout", "expect", "retries"} { // of a study's [workload]
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
