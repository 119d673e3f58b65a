//go:build system

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// night is a record of watch: a quiet time, then a load that two of four CPUs take alone at first.
func night() string {
	var b strings.Builder
	b.WriteString(`{"kind":"hostlab-watch","schema":1,"host":"db7","started":"2026-11-26T22:00:00Z","interval":10,` +
		`"cpus":[0,1,2,3],"states":{},"unknown":[{"what":"frequency","why":"no driver sets it"}],"deep_above":0.00005}` + "\n")
	for i := range 720 {
		user := "1 1 1 1"
		switch {
		case i > 420:
			user = fmt.Sprintf("%d %d %d %d", 50+i%7, 50-i%5, 50+i%3, 50-i%4)
		case i > 360:
			user = fmt.Sprintf("%d %d 1 1", 80+i%7, 80-i%5)
		}
		fmt.Fprintf(&b, `{"t":%d,"dt":10,"user":%q,"sys":"0*4","iow":"0*4","steal":"0*4","psi":[0.2,0.2,0]}`+"\n",
			1795730410+10*i, user)
	}
	return b.String()
}

// TestPagesInBrowser holds the page of each command that prints one, beside those with tests of their own, to the same
// rules as all pages.
func TestPagesInBrowser(t *testing.T) {
	machine := testkit.Must(filepath.Abs("../../internal/host/testdata/intel-core.txtar"))(t)
	root, _ := recordedTree(t, "intel-core-cst")
	t.Chdir(t.TempDir())
	t.Setenv(storeVariable, "sqlite:"+filepath.Join(t.TempDir(), "fleet.db"))
	testkit.OK(t, os.WriteFile("night.jsonl", []byte(night()), 0o600))
	for _, line := range []string{"fleet demo --hosts 12 --seed 1 --out spool", "fleet ingest spool",
		"fleet rollout plan --set swappiness=10 --waves 2 --seed 1 --out plan.json"} {
		if status, _, errs := printed(t, line); status != exitOK {
			t.Fatalf("%s: %s", line, errs)
		}
	}
	browser := pages.Start(t)
	for _, line := range []string{"check --all --root " + machine, "check --explain PWR-001", "check --explain list",
		"facts --root " + machine, "settings --root " + root, "set thp=always --dry-run --root " + root,
		"watch --from night.jsonl",
		"fleet status", "fleet hosts", "fleet report", "fleet changes", "fleet diff db001 db002",
		"fleet rollout gate plan.json --wave 1",
		"fleet rollout status plan.json", "workload show dialog"} {
		name := strings.ReplaceAll(strings.Join(strings.Fields(strings.SplitN(line, " --root", 2)[0]), "_"), ".", "_")
		t.Run(name, func(t *testing.T) {
			status, page, errs := printed(t, line+" --format html")
			if status != exitOK {
				t.Fatalf("status %d, %s", status, errs)
			}
			pages.Inspect(t, pages.Open(t, browser, page, "", 1200), "page-"+name)
		})
	}
}
