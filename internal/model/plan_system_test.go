//go:build system

package model

import (
	"context"
	"testing"
)

// A policy that looks every 5 s climbs for 150 s, in which a load that its lowest
// frequency cannot carry queues: 2.9 times the step time, when the truth is 1.6.
func TestWarmUpOutlastsThePolicy(t *testing.T) {
	c := Case{Machine: must(FindMachine("sap")), Workload: must(FindWorkload("sap-dialog")), Load: 0.6}
	slow := testPolicy("balanced-rs1,PERFCHECK=5s")
	x := must(Compare(context.Background(), c, testPolicy("high-performance"), []Policy{slow}, Options{Seed: 1}))
	if e := x.Rows[0].Ratio[StepTime]; !(e.Value < 2 && e.High < 2.4) {
		t.Errorf("step time is %+v of the baseline's: it holds the climb", e)
	}
}
