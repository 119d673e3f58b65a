package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

const swappinessFactor = `
[[factor]]
name = "swap"
setting = "swappiness"
levels = ["60", "10"]
`

const governorFactor = `
[[factor]]
name = "power"
setting = "governor"
levels = ["performance", "powersave", "ondemand"]
`

// machine writes files of the tree; it makes one that is there read only.
func (b *bench) machine(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := filepath.Join(b.tree, name)
		testkit.OK(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(b.t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
}

func (b *bench) has(name string) string {
	b.t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(b.tree, name)))(b.t)
	return strings.TrimSpace(string(text))
}

const (
	swappinessFile = "proc/sys/vm/swappiness"
	policyDir      = "sys/devices/system/cpu/cpufreq/"
)

func (b *bench) governors(values ...string) {
	b.t.Helper()
	for i, v := range values {
		dir := policyDir + "policy" + string(rune('0'+i)) + "/"
		b.machine(map[string]string{dir + "scaling_governor": v, dir + "scaling_available_governors": "performance powersave",
			dir + "affected_cpus": string(rune('0' + i)),
			dir + "related_cpus":  string(rune('0' + i))})
	}
}

// Every object gets each level, and its own value back.
func TestSettingFactor(t *testing.T) {
	b := newBench(t, head(8, "")+governorFactor+swappinessFactor+nullWorkload)
	b.machine(map[string]string{swappinessFile: "35"})
	b.governors("powersave", "performance")
	seen := map[string]bool{}
	b.under = func(int) conditions {
		a, c := b.has(policyDir+"policy0/scaling_governor"), b.has(policyDir+"policy1/scaling_governor")
		testkit.Is(t, c, a, "policies run at")
		seen[a+" "+b.has(swappinessFile)] = true
		return conditions{known: true, throttles: -1}
	}
	testkit.OK(t, b.run())
	b.complete()
	testkit.Is(t, 4, len(seen), "runs saw", seen, "want 4 combinations")
	if got := []string{b.has(policyDir + "policy0/scaling_governor"), b.has(policyDir + "policy1/scaling_governor"),
		b.has(swappinessFile)}; got[0] != "powersave" || got[1] != "performance" || got[2] != "35" {
		t.Errorf("afterwards the host has %v", got)
	}
	r := b.record()
	if a := r.Experiment.Absent; len(a) != 1 || a[0].Level != "ondemand" || !strings.Contains(a[0].Reason, "performance") {
		t.Errorf("absent: %+v", a)
	}
	for _, run := range r.Runs {
		cell := r.Experiment.Cells[run.Cell].Levels
		if run.Status == result.OK && (run.Before["power"] != cell["power"] || run.After["swap"] != cell["swap"]) {
			t.Fatalf("run %d of %v read %v and %v", run.Seq, cell, run.Before, run.After)
		}
	}
	if v, err := setting.Look(b.cfg.sys.settings, b.cfg.sys.journal); err != nil || len(v.Entries()) > 0 {
		t.Errorf("left in the journal: %+v, %v", v, err)
	}
}

// What there was of one setting is brought back without the other's level.
func TestSettingsInTurnWithWhatThereIs(t *testing.T) {
	const zone = "proc/sys/vm/zone_reclaim_mode"
	b := newBench(t, head(8, "")+swappinessFactor+strings.NewReplacer("swap\"", "zone\"", "swappiness",
		"zone_reclaim_mode", `"60", "10"`, `"current", "1"`).Replace(swappinessFactor)+nullWorkload)
	b.machine(map[string]string{swappinessFile: "35", zone: "0"})
	seen := map[string]bool{}
	b.under = func(int) conditions {
		seen[b.has(swappinessFile)+" "+b.has(zone)] = true
		return conditions{known: true, throttles: -1}
	}
	testkit.OK(t, b.run())
	b.complete()
	if len(seen) != 4 || b.has(swappinessFile) != "35" || b.has(zone) != "0" {
		t.Errorf("runs saw %v, and then %s and %s", seen, b.has(swappinessFile), b.has(zone))
	}
	for _, run := range b.record().Runs {
		if run.Status == result.Failed {
			t.Fatal(run.Reason)
		}
	}
}

// What somebody changes during a run voids it; what they change before the end is left.
func TestSettingForeign(t *testing.T) {
	b := newBench(t, head(6, "")+swappinessFactor+nullWorkload)
	b.machine(map[string]string{swappinessFile: "35"})
	b.under = func(n int) conditions {
		if n == 4 {
			b.machine(map[string]string{swappinessFile: "77"})
		}
		return conditions{known: true, throttles: -1}
	}
	testkit.OK(t, b.run())
	void := 0
	for _, run := range b.record().Runs {
		if run.Status == result.Void {
			void++
			testkit.Has(t, run.Reason, `"77" after it`)
		}
	}
	testkit.Is(t, 1, void, "runs are void")
	// It was written over by the next run's level, as by commands; what was there then is
	// what is put back.
	testkit.Is(t, "77", b.has(swappinessFile), "afterwards the host has")
}

// What 'hostlab set' has changed is no level: the experiment ends before its first run.
func TestSettingOfAnotherOwner(t *testing.T) {
	b := newBench(t, head(6, "")+swappinessFactor+nullWorkload)
	b.machine(map[string]string{swappinessFile: "35"})
	p := testkit.Must(setting.NewPlan(b.cfg.sys.settings, []setting.Assignment{{Name: "swappiness", Value: "40"}}))(t)
	j, err := setting.OpenJournal(b.cfg.sys.settings, b.cfg.sys.journal)
	if err == nil {
		_, err = setting.Apply(context.Background(), b.cfg.sys.settings, j, setting.OwnerSet, p, false)
	}
	testkit.OK(t, errors.Join(err, j.Close()))
	if err := b.run(); !errors.As(err, new(*setting.Owned)) || b.has(swappinessFile) != "40" {
		t.Errorf("%v, swappiness %s", err, b.has(swappinessFile))
	}
}

// After a kill, 'run --restore', a resume and 'hostlab revert' all find what is open.
func TestSettingKilled(t *testing.T) {
	for _, way := range []string{"restore", "resume", "revert"} {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, head(6, "")+swappinessFactor+nullWorkload)
			b.machine(map[string]string{swappinessFile: "35"})
			killed := false
			b.under = func(n int) conditions {
				if n == 3 && !killed {
					killed = true
					panic("killed")
				}
				return conditions{known: true, throttles: -1}
			}
			b.keepOnPanic()
			switch way {
			case "restore":
				cfg := b.cfg
				var err error
				if cfg.Study, err = Recorded(b.cfg.Dir, nil); err != nil { // as the command does
					t.Fatal(err)
				}
				testkit.OK(t, Restore(context.Background(), cfg))
			case "resume":
				var err error
				if b.study, err = Recorded(b.cfg.Dir, nil); err != nil { // as the command does
					t.Fatal(err)
				}
				if len(b.study.Factors) == 0 || b.study.Factors[0].Setting != "swappiness" {
					t.Fatalf("the record's study has the factors %+v", b.study.Factors)
				}
				testkit.OK(t, b.run())
				b.complete()
			case "revert":
				j := testkit.Must(setting.OpenJournal(b.cfg.sys.settings, b.cfg.sys.journal))(t)
				testkit.Must(setting.Revert(context.Background(), b.cfg.sys.settings, j, "", setting.ReachOurs))(t)
				testkit.OK(t, j.Close())
				cfg := b.cfg
				cfg.Study = b.study
				testkit.OK(t, Restore(context.Background(), cfg))
			}
			testkit.Is(t, "35", b.has(swappinessFile), "afterwards the host has")
			if open := b.record().Changed(); len(open) > 0 {
				t.Errorf("still changed: %+v", open)
			}
		})
	}
}

// keepOnPanic runs until a panic and leaves all as a kill would: what the session
// puts back on its way out is undone from a copy.
func (b *bench) keepOnPanic() {
	b.t.Helper()
	under := b.under
	copyTo := b.t.TempDir()
	b.under = func(n int) (c conditions) {
		defer func() {
			if p := recover(); p != nil {
				for _, dir := range []string{b.tree, b.cfg.Dir} {
					testkit.OK(b.t, os.CopyFS(filepath.Join(copyTo, filepath.Base(dir)), os.DirFS(dir)))
				}
				panic(p)
			}
		}()
		return under(n)
	}
	func() {
		defer func() {
			if recover() == nil {
				b.t.Fatal("it did not panic")
			}
		}()
		_ = b.run()
	}()
	for _, dir := range []string{b.tree, b.cfg.Dir} {
		testkit.OK(b.t, os.RemoveAll(dir))
		testkit.OK(b.t, os.CopyFS(dir, os.DirFS(filepath.Join(copyTo, filepath.Base(dir)))))
	}
	b.cfg.sys.settings = b.settings()
	if got := b.has(swappinessFile); got == "35" {
		b.t.Fatal("nothing was left changed, so that there is nothing to find")
	}
}

// What there is can be in turn with a level that is there only while it is held.
func TestHeldSettingAndCurrent(t *testing.T) {
	b := newBench(t, head(8, "")+`
[[factor]]
name = "latency"
setting = "cpu_dma_latency"
levels = ["current", "10us"]
`+nullWorkload)
	b.machine(map[string]string{"dev/cpu_dma_latency": ""})
	// no limit
	testkit.OK(t, os.WriteFile(filepath.Join(b.tree, "dev/cpu_dma_latency"), []byte{0x00, 0x94, 0x35, 0x77},
		0o600))
	testkit.OK(t, b.run())
	testkit.Is(t, 0, len(b.record().Changed()), "are changed still")
}
