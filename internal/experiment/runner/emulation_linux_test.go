package runner

import (
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
)

// A program that computes takes longer at 30 % of its speed, and is billed for it.
func TestEmulatedFactor(t *testing.T) {
	b := newBench(t, head(6, "evidence = \"emulated\"")+`
[[factor]]
name = "policy"
emulate = "policy"
levels = ["high-performance", "fixed:30"]
floor = 0.05
method = "stop"
[workload]
name = "command"
run = ["sh", "-c", "i=0; while [ $i -lt 80000 ]; do i=$((i+1)); done"]
warmup = 1
[[response]]
name = "emulated_cpu_s"
primary = true
[[response]]
name = "cpu"
`)
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
	r := b.record()
	sum := map[string]float64{}
	for _, run := range r.Runs {
		if run.Status == result.OK {
			level := r.Experiment.Cells[run.Cell].Levels["policy"]
			sum[level+" emulated"] += run.Values[experiment.EmulatedCPU]
			sum[level+" cpu"] += run.Values["cpu"]
		}
	}
	// What the governor has not seen of so short a program is not billed; the signals
	// cost it something beside.
	if ratio := sum["fixed:30 emulated"] / sum["high-performance emulated"]; ratio < 2 || ratio > 5 {
		t.Errorf("at 30 %% it was billed %.2f times as many CPU seconds: %v", ratio, sum)
	}
	if ratio := sum["high-performance emulated"] / sum["high-performance cpu"]; ratio < 0.6 || ratio > 1.1 {
		t.Errorf("at full speed %.2f of the CPU time was seen: %v", ratio, sum)
	}
}

func TestEmulatedProblems(t *testing.T) {
	for text, want := range map[string]string{
		"levels = [\"fixed:30\", \"no-such\"]\nemulate = \"policy\"":                      `level "no-such"`,
		"levels = [\"fixed:30\", \"ondemand\"]\nemulate = \"policy\"":                     `evidence = "emulated"`,
		"levels = [\"fixed:30\", \"ondemand\"]\nemulate = \"clock\"":                      "policy",
		"levels = [\"fixed:30\", \"ondemand\"]\nparameter = \"seconds\"\nfloor = \"30%\"": "floor belongs to emulate",
		"levels = [\"10\", \"60\"]\nsetting = \"swappiness\"\nchange = \"reboot\"":        "changes a setting at once",
		"levels = [\"10\", \"60\"]\nsetting = \"swapiness\"":                              "swappiness",
	} {
		study := head(6, "") + "[[factor]]\nname = \"f\"\n" + text + "\n" + nullWorkload
		_, err := experiment.Parse("s.toml", t.TempDir(), []byte(study), experiment.Overrides{}, known())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}
