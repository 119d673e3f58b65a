//go:build linux && amd64 && system

package testbed

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"hostlab/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// TestSettings sets, reads back, verifies and puts back every setting that a guest has, and holds that
// the record behind docs/settings.md is what these guests show now.
func TestSettings(t *testing.T) {
	t.Parallel()
	record := readRecord(t)
	var mu sync.Mutex
	now := make([]tried, len(guests))    // those that have been tried without a failure
	t.Run("guests", func(t *testing.T) { // returns when all have ended
		for i, g := range guests {
			if i > 1 && !*full && !testkit.Update() {
				break
			}
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				args := []string{"each", "quick"}
				if *full && !testkit.Update() {
					args = args[:1]
				}
				b := g.run(t, nil, args...)
				got := b.tried(t, g.name)
				if len(got.Rows) < 20 {
					t.Errorf("only %d settings were tried", len(got.Rows))
				}
				if !testkit.Update() {
					compare(t, record, got)
				} else if !t.Failed() {
					mu.Lock()
					now[i] = got
					mu.Unlock()
				}
			})
		}
	})
	if testkit.Update() {
		writeRecord(t, record, now)
	}
}

// byMemory are settings whose first value the kernel computes from what is free at boot, which the size of the programs
// that are booted changes.
var byMemory = []string{"file_max", "tcp_rmem", "tcp_wmem"}

// tried reads the lines of trial.
func (b *boot) tried(t *testing.T, guest string) tried {
	t.Helper()
	out := tried{Guest: guest, Missing: map[string]string{}}
	for _, f := range b.lines(t, "row") {
		if len(f) != 8 {
			t.Fatalf("a row of %d fields: %q", len(f), f)
		}
		if slices.Contains(byMemory, f[0]) {
			f[2] = "by the memory's size"
		}
		out.Rows = append(out.Rows, row{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
		t.Log("| " + strings.Join(f, " | ") + " |")
	}
	for _, f := range b.lines(t, "missing") {
		out.Missing[f[0]] = f[1]
	}
	return out
}

// compare requires that a guest shows what the record has of it, and with all values at least that.
func compare(t *testing.T, record []tried, got tried) {
	t.Helper()
	i := slices.IndexFunc(record, func(r tried) bool { return r.Guest == got.Guest })
	if i < 0 {
		t.Fatalf("%s has nothing of this guest; run the test with -update", recorded)
	}
	if *full {
		had := record[i].Rows
		got.Rows = slices.DeleteFunc(got.Rows, func(r row) bool {
			return !slices.ContainsFunc(had, func(h row) bool { return h.Setting == r.Setting && h.Set == r.Set })
		})
	}
	order := func(a, b row) int { return strings.Compare(a.Setting+" "+a.Set, b.Setting+" "+b.Set) }
	slices.SortFunc(got.Rows, order)
	want := record[i]
	want.Rows = slices.SortedFunc(slices.Values(want.Rows), order)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s and docs/settings.md have it otherwise; run the test with -update if this is right:\n%s", recorded, diff)
	}
}

// writeRecord keeps what the record has of guests that were not tried.
func writeRecord(t *testing.T, had, record []tried) {
	t.Helper()
	for i, g := range guests {
		if k := slices.IndexFunc(had, func(r tried) bool { return r.Guest == g.name }); record[i].Guest == "" && k >= 0 {
			record[i] = had[k]
		}
	}
	record = slices.DeleteFunc(record, func(r tried) bool { return r.Guest == "" })
	for _, r := range record { // so that another setting is some lines more
		slices.SortStableFunc(r.Rows, func(a, b row) int { return strings.Compare(a.Setting, b.Setting) })
	}
	b := testkit.Must(json.MarshalIndent(record, "", " "))(t)
	testkit.OK(t, os.WriteFile(recorded, append(b, '\n'), 0o644))
	testkit.OK(t, os.WriteFile(settingsPage, []byte(written(record)), 0o644))
}

// TestCombinations sets several together, and lets the kernel refuse and others interfere.
func TestCombinations(t *testing.T) {
	t.Parallel()
	for i, g := range guests {
		if i > 1 && !*full {
			break
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			b := g.run(t, nil, "combine")
			good := b.lines(t, "ok")
			if len(good) < 8 {
				t.Errorf("only %d scenes were played", len(good))
			}
			for _, g := range good {
				t.Log(strings.Join(g, ": "))
			}
		})
	}
}
