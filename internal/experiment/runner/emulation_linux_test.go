//go:build system

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// emulated is the beginning of a study at full speed and at a slower level; more is of
// its factor.
func emulated(level, more string) string {
	return head(6, "evidence = \"emulated\"") + `
[[factor]]
name = "policy"
emulate = "policy"
levels = ["high-performance", "` + level + `"]
` + more + "\n"
}

// computing is a program that does. What a busy host keeps a run from is tried again, but
// not until it happens to fit: it counts then.
const computing = `
[guard]
exhausted = "mark"
[workload]
name = "command"
run = ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
warmup = 0
retries = 5
`

// A program that computes takes longer at 30 % of its speed, and is billed for it.
func TestEmulatedFactor(t *testing.T) {
	b := newBench(t, emulated("fixed:30", "floor = 0.05")+computing+`
[[response]]
name = "emulated_cpu_s"
primary = true
[[response]]
name = "cpu"
`)
	testkit.OK(t, b.run())
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

// What is too short to be slowed down gives no figures, and says why in one line.
func TestEmulatedTooShort(t *testing.T) {
	b := newBench(t, emulated("fixed:50", "")+`
[workload]
name = "command"
run = ["true"]
retries = 1
[[response]]
name = "wall"
primary = true
`)
	err := b.run()
	if err == nil || !strings.Contains(err.Error(), "to emulate a clock") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	// It would be no longer when it is made again, or when it is resumed.
	failed := 0 // others may have been disturbed, and a warm-up run is none
	for _, run := range b.record().Runs {
		if run.Status == result.Failed {
			failed++
		}
	}
	if failed > 1 || err != nil && strings.Contains(err.Error(), "--resume") {
		t.Errorf("%d runs failed, and then %v", failed, err)
	}
	for _, run := range b.record().Runs {
		if run.Status == result.OK {
			t.Errorf("a run of %g s counts", run.Values["wall"])
		}
	}
}

// A governor that is killed ends its run at once, and the next run has a new one.
func TestGovernorLost(t *testing.T) {
	b := newBench(t, emulated("fixed:95", "")+computing+`
[[response]]
name = "wall"
primary = true
`)
	watch, started := b.cfg.Watch, 0
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if p.Stage == "running" && p.Cell != nil {
			if started++; started == 3 {
				time.AfterFunc(60*time.Millisecond, killGovernor)
			}
		}
	}
	testkit.OK(t, b.run())
	b.complete()
	if failed := b.failed(); len(failed) != 1 || !strings.Contains(failed[0], errLost.Error()) {
		t.Errorf("failed runs: %q, want that one", failed)
	}
}

// killGovernor kills the worker that this process has started.
func killGovernor() {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		line, _ := os.ReadFile(file)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if strings.HasPrefix(string(line), "hostlab-worker") &&
			strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func TestTooFine(t *testing.T) {
	const ms = time.Millisecond
	seen := func(s float64) emulate.Totals { return emulate.Totals{Used: s} }
	slowed := func(asked, kept float64) emulate.Totals {
		return emulate.Totals{Used: 1, Asked: asked, Kept: kept}
	}
	for _, c := range []struct {
		took       time.Duration
		did        emulate.Totals
		ended      float64
		doubt, err string
	}{
		{5 * ms, seen(0.005), 0, "",
			"took 5ms, too short to emulate a clock: processes are looked at every 8ms, and a run at full speed has to last 40ms"},
		{39 * ms, seen(0.039), 0.039, "", "too short"},
		{40 * ms, seen(0.04), 0, "", ""}, // a worker that lives on
		{159 * ms, slowed(0.08, 0.08), 0, "", "a run that is slowed down has to last 160ms"},
		{160 * ms, slowed(0.08, 0.08), 0, "", ""},
		{160 * ms, slowed(0.08, 0.057), 0, "", ""}, // a look at each end is what it may miss
		{160 * ms, slowed(0.08, 0.055), 0, "kept from their CPUs for 55ms, and the policy asked for 80ms", ""},
		{time.Second, slowed(0.5, 0.44), 0, "", ""},
		{time.Second, slowed(0.5, 0.43), 0, "kept from their CPUs", ""},
		{time.Second, slowed(0.5, 0.57), 0, "kept from their CPUs", ""},
		{time.Second, seen(0.99), 1, "", ""},
		{time.Second, seen(0.1), 1, "", "saw 10 % of the CPU time"},
		{time.Second, seen(0), 1, "", "saw 0 % of the CPU time"},
		{time.Second, seen(0.7), 1, "saw only 70 % of the CPU time", ""},
		{time.Second, seen(0), 0.0005, "", ""}, // it slept
		{time.Second, seen(5), 1, "", ""},
	} {
		doubt, err := tooFine(c.took, c.did, c.ended)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: error %v", c, err)
		}
		if (doubt != "") != (c.doubt != "") || !strings.Contains(doubt, c.doubt) {
			t.Errorf("%+v: doubt %q", c, doubt)
		}
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
		_, err := experiment.Parse("s.toml", t.TempDir(), []byte(study), experiment.Overrides{}, Known())
		testkit.Fails(t, err, want, text)
	}
}
