//go:build linux

package main

import (
	"slices"
	"testing"

	"hostlab/internal/lever"
)

// In a null run a lever that is called worthwhile is wrong, but for more CPUs where the kernel
// counted that these threads waited for one.
func TestWrong(t *testing.T) {
	worth := answer{Verdict: lever.Worthwhile}
	r := &record{
		Lever: map[string]answer{lever.Log: worth, lever.CPUs: worth, lever.Data: {Verdict: lever.Possible}},
		Truth: []truth{{Part: "run_queue", Low: 0.2, High: 0.2}},
	}
	if got := r.wrong(); !slices.Equal(got, []string{lever.Log}) {
		t.Errorf("wrong: %v", got)
	}
	r.Truth[0].High = 0.01
	if got := r.wrong(); len(got) != 2 {
		t.Errorf("nobody waited for a CPU; wrong: %v", got)
	}
	r.First = lever.Log
	if r.right(&load{}) || r.right(&load{Lever: lever.Data}) || !r.right(&load{Lever: lever.Log}) {
		t.Error("the first lever is log, and is wrong where nothing is to gain")
	}
}

// A transaction that takes a quarter of the time without the cause gained three quarters of it.
func TestGain(t *testing.T) {
	most := 0.8
	rec := &record{Lever: map[string]answer{lever.Log: {AtMost: &most, Likely: &most}}}
	g := account{each: 0.004, rate: 100, spread: 0.01}.gain(account{each: 0.001, rate: 200}, rec, &load{Lever: lever.Log})
	if g.Value != 0.75 || g.Cycle != 0.5 || g.Low >= g.Value || g.High <= g.Value || *g.AtMost != most {
		t.Errorf("%+v", g)
	}
}

// Each load has a name of its own, and one that is to lack its cause differs from the other.
func TestLoads(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range allLoads() {
		if seen[l.Name] {
			t.Errorf("%s is there twice", l.Name)
		}
		seen[l.Name] = true
		if w := l.Without; w != nil && w.At == l.At && w.Others == l.Others && w.Clients.Together == l.Clients.Together &&
			slices.Equal(w.Clients.Steps, l.Clients.Steps) {
			t.Errorf("%s without its cause is the same", l.Name)
		}
		if (l.Lever != "" || l.Bound != "") && l.Without == nil {
			t.Errorf("%s has a cause that is not taken away", l.Name)
		}
	}
}
