//go:build linux && amd64

package main

import (
	"slices"
	"testing"

	"hostlab/internal/setting"
)

// never are settings that no guest has, or that need a program of their own to be tried.
var never = []string{"platform_profile", "epb", "min_perf_pct", "max_perf_pct", "uncore_max_freq", "cpu_dma_latency",
	"irq_affinity"} // which trial nodes sets

// Every setting is tried once: by values of its own, or by a trial here.
func TestEverySettingHasATrial(t *testing.T) {
	for _, s := range setting.All() {
		n := 0
		for _, tr := range trials {
			if tr.setting == s.Name {
				n++
				if len(tr.files) == 0 {
					t.Errorf("%s: the trial names no files", s.Name)
				}
			}
		}
		if want := slices.Contains(never, s.Name); (n == 0) != want || n > 1 {
			t.Errorf("%s has %d trials", s.Name, n)
		}
	}
	for _, tr := range trials {
		if _, ok := setting.Find(tr.setting); !ok {
			t.Errorf("there is a trial of %s, and no such setting", tr.setting)
		}
	}
}
