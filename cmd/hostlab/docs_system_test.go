//go:build system

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// notRun are commands of the documents that no test runs as they stand there, by how their lines begin, and why.
var notRun = []struct{ begins, why string }{
	{"assess --service unit:", "names a service of the reader's"}, {"assess --service pod:", "the same"},
	{"assess --service container:", "the same"}, {"assess --service service:", "the same, on Windows"},
	{"assess --service sqlservr", "the same"}, {"workload observe service=", "the same"},
	{"assess --only service --service unit:", "the same"}, {"watch --service", "stays until it is ended"},
	{"assess --service postgresql --at", "a time of a ring that was kept for days"},
	{"assess --service postgresql --worst", "the same"}, {"assess --from /mnt/ring", "the same"}, {"assess --from /var/lib/hostlab/ring", "the same"}, {"assess --dsn", "names a server of the reader's"},
	{"assess --only service --dsn", "the same"}, {"workload clientcopy dsn=", "the same"},
	{"fleet ingest --store postgres:", "the same"}, {"check --format json | curl", "the same"},
	{"run log-device", "40 minutes"}, {"run power-query-bios", "a reboot, and a person in the firmware's menu"},
	{"run live", "hours, on a service that others use"},
	{"watch --interval 10s --save night.jsonl --duration 24h", "a day"},
	{"workload clientdelete engine=mariadb log_dir=/mnt", "a device of the reader's"},
	{"fleet token --host 'db*' databases >>/etc", "writes to /etc"}, {"fleet serve", "stays until it is ended"},
	{"set ", "changes this host, or needs what guests lack"}, {"revert", "changes this host"},
	{"assess\n", "a minute, as with --save"}, {"assess --service demo", "the same: make demo"},
	{"assess --quiet", "the same"}, {"assess --out spool/db7/", "the same"},
}

// fixtures are what a page takes as given, in commands.
var fixtures = map[string]string{
	"experiments.md": "seq 1 150000 > big.log",
	"history.md":     `printf 'slice = "60ms"\n' > day.jsonl; mkdir -p spool/db7; hostlab facts --format json > spool/db7/facts.json`,
	"explain.md":     `printf 'slice = "60ms"\n' > bursts.jsonl`,
	"fleet.md": `mkdir -p spool/db7 spool/db8; for h in db7 db8; do hostlab facts --format json > spool/$h/facts.json; done
		hostlab check --format json > spool/db7/check.json`,
	"rollout.md": "hostlab fleet demo --hosts 40 --out spool && hostlab fleet ingest spool",
	"ansible.md": `hostlab fleet demo --hosts 40 --out spool && hostlab fleet ingest --store sqlite:fleet.db spool
		ls spool | grep db > hosts.txt`,
	"watch.md": "hostlab watch --interval 100ms --count 20 --save night.jsonl > /dev/null",
}

// TestDocumentsRun: each command that stands in a block of README or docs runs as it stands there, in the order of its
// page, and ends well.
func TestDocumentsRun(t *testing.T) {
	testkit.Root(t) // some pages say what only root may
	pages := testkit.Must(filepath.Glob("../../docs/*.md"))(t)
	var mu sync.Mutex
	used, n := map[string]bool{}, 0
	t.Run("pages", func(t *testing.T) { // ends when all pages have, which run side by side
		for _, page := range append(pages, "../../README.md") {
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				run, left := runPage(t, page)
				mu.Lock()
				defer mu.Unlock()
				n += run
				for _, why := range left {
					used[why] = true
				}
			})
		}
	})
	for _, r := range notRun {
		if !used[r.begins] {
			t.Errorf("no page has %q", r.begins)
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were run", n)
	}
}

// runPage runs the commands of a page, and says how many, and what those that it left out begin with.
func runPage(t *testing.T, page string) (n int, left []string) {
	dir := t.TempDir()
	sh := func(line string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		out, err := c.CombinedOutput()
		verdict, is := errors.AsType[*exec.ExitError](err)
		if is && strings.Contains(line, "--exit-status") && (verdict.ExitCode() == exitFound || verdict.ExitCode() == exitUndecided) {
			err = nil
		}
		if strings.HasPrefix(line, "hostlab assess") && strings.Contains(string(out), "the service ended") { // the busiest database was another test's
			return
		}
		if err != nil || strings.Contains(string(out), "failed") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	lines := typed(string(testkit.Must(os.ReadFile(page))(t)))
	if len(lines) > 0 {
		sh(cmp.Or(fixtures[filepath.Base(page)], "true"))
	}
	for _, line := range lines {
		if why := reason(line); why != "" {
			left = append(left, why)
			continue
		}
		n++
		sh(line)
	}
	return n, left
}

// block is a line of a block, and the lines that it goes on in.
var block = regexp.MustCompile(`(?m)^    (?:sudo )?((?:hostlab|seq) (?:.*(?:\\|&&)\n)*.*)$`)

// typed are the commands of a page.
func typed(page string) (lines []string) {
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "hostlab watch  ") { // a picture of its screen
			lines = append(lines, m[1])
		}
	}
	return lines
}

// reason is the beginning of a line that is not run; "": it is.
func reason(line string) string {
	line = regexp.MustCompile(` +(#.*)?$`).ReplaceAllString(strings.TrimPrefix(line, "hostlab "), "") + "\n"
	for _, r := range notRun {
		if strings.HasPrefix(line, r.begins) {
			return r.begins
		}
	}
	return ""
}

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

func TestSystemScripts(t *testing.T) { scripts(t, "testdata/system") }
