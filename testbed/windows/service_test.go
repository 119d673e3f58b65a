//go:build linux && amd64 && system

package windows

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/lever"
)

// assessed is what these tests read of 'hostlab assess --format json'.
type assessed struct {
	Service struct {
		Kind, Name string
		PID        int
	}
	Time struct {
		Wall, Active float64
		Parts        []struct{ Name string }
		Host         struct{ Busy, Steal *float64 }
	}
	Levers []lever.Lever
}

var burning = regexp.MustCompile(`burn\.exe`)

// service watches a service of Wine's, which wine/burn.c is. Windows' own calls list processes, count their time and name
// the service's; Wine 8 shows every thread in the same state, so that waits for a CPU are unknown there, and say so.
func (w *wine) service(t *testing.T) {
	w.begin(t)
	w.setCounters(t, watched)
	program := filepath.Join(w.dir, "burn.exe")
	if out, err := exec.Command("x86_64-w64-mingw32-gcc", "-O2", "-Wall", "-Werror", "-o", program, "../wine/burn.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sc := func(args ...string) { _ = w.command(wine64, append([]string{"sc"}, args...)...).Run() }
	sc("create", "burn", "binPath=", `Z:`+w32(program))
	// Two managers may run after Wine has set itself up, each with its own list. Begun anew, there is one.
	w.boot(t)
	w.try(t, 2, `service burn does not run: it is stopped`, "", "assess", "--service", "service:burn", "--out", "-")
	w.try(t, 2, `no service none is installed here`, "", "assess", "--service", "service:none", "--out", "-")
	w.try(t, 2, `no database, Windows service or program "nosuch" runs here; name it by pid:N or service:NAME`, "", "assess", "--service", "nosuch", "--out", "-")
	t.Cleanup(func() { sc("stop", "burn") })

	w.within(t, "the service does not start", func() bool { // Wine waits 10 s for one, which may be short on a busy machine
		sc("start", "burn")
		return len(w.ours(burning)) > 0
	})
	w.try(t, 0, `Service burn computes for 100 %.*how long they waited for a CPU is not known.*on CPU 100 % counted .* process times.*No thread shows as running`, "", "assess", "--all", "--service", "service:burn", "--for", "6s", "--quick", "--out", "-", "--out", "seen.json")
	b, err := os.ReadFile(filepath.Join(w.dir, "seen.json"))
	var a assessed
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	if err != nil || a.Service.Kind != "service" || a.Service.Name != "burn" || a.Service.PID == 0 || len(a.Time.Parts) == 0 || a.Time.Parts[0].Name != "cpu" {
		t.Errorf("%v: %+v, %+v", err, a.Service, a.Time)
	}
	// Two threads ask for half a CPU each; a busy machine gives them less.
	if share := a.Time.Active / a.Time.Wall; share < 0.02 || share > 1.2 {
		t.Errorf("it used %.2f of a CPU", share)
	}
	if h := a.Time.Host; h.Busy == nil || *h.Busy <= 0 || h.Steal != nil {
		t.Errorf("the CPUs' use, and what a hypervisor took, which Windows does not tell: %+v", h)
	}
	for name, reason := range map[string]string{"cpus": "no thread shows as running", "idle": "Linux", "network": "Linux", "log": "it is not a database", "clock": "% Processor Performance of the CPUs"} {
		found := false
		for _, l := range a.Levers {
			found = found || l.Name == name && strings.Contains(strings.ToLower(l.Why()), strings.ToLower(reason)) && (l.AtMost != nil) == (name == "clock")
		}
		if !found {
			t.Errorf("lever %s has not the reason %q: %+v", name, reason, a.Levers)
		}
	}
	w.try(t, 0, `(?s)burn`, "", "assess", "--service", "burn.exe", "--for", "3s", "--quick", "--out", "-")
	w.try(t, 0, `seen on Linux alone`, "", "assess", "--all", "--only", "service", "--out", "-", "--service", "service:burn", "--for", "1s")
	w.try(t, 0, `cpu_s [0-9.]+ m?s .*queue_s, busy_s: no thread shows as running`, "", "workload", "observe", "service=service:burn", "for=3s", "--runs", "1")
}

// instance has the service manager run what looks like an instance of SQL Server: it is found, and watched without a session.
func (w *wine) instance(t *testing.T) {
	w.begin(t)
	w.setCounters(t, watched)
	program, err := os.ReadFile(filepath.Join(w.dir, "burn.exe"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(w.dir, "prefix/drive_c/sqlservr.exe"), program, 0o700)); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	running := regexp.MustCompile(`sqlservr\.exe`)
	t.Cleanup(func() { _ = w.command(wine64, "sc", "stop", "MSSQLSERVER").Run() })
	w.within(t, "the instance does not start", func() bool {
		_ = w.command(wine64, "sc", "start", "MSSQLSERVER").Run()
		return len(w.ours(running)) > 0
	})
	w.try(t, 0, `MSSQLSERVER MSSQLSERVER running [0-9]+ 16.0.4135.4`, "", "facts")
	w.try(t, 0, `SQL Server computes for 100 %.*sqlserver://`, "", "assess", "--all", "--for", "6s", "--quick", "--out", "-", "--out", "mssql.json")
	b, err := os.ReadFile(filepath.Join(w.dir, "mssql.json"))
	var a assessed
	if err := json.Unmarshal(b, &a); err != nil || a.Service.Kind != "database" || a.Service.Name != "SQL Server" || a.Service.PID == 0 {
		t.Errorf("%v: %+v", err, a.Service)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.try(t, 0, `SQL Server computes`, "", "assess", "--service", "sqlservr", "--for", "3s", "--quick", "--out", "-")
}

// demo watches hostlab's own shop, as who tries hostlab does first.
func (w *wine) demo(t *testing.T) {
	w.begin(t)
	w.setCounters(t, watched)
	w.try(t, 0, `The demo shop .*of its active time`, "", "assess", "--service", "demo", "--for", "6s", "--quick", "--out", "-", "--out", "demo.html", "--out", "demo.json")
	b, err := os.ReadFile(filepath.Join(w.dir, "demo.json"))
	var a assessed
	if err := json.Unmarshal(b, &a); err != nil || len(a.Time.Parts) < 3 || a.Time.Active <= 0 {
		t.Errorf("%v: %+v", err, a)
	}
	if page, readErr := os.ReadFile(filepath.Join(w.dir, "demo.html")); err != nil || readErr != nil || !strings.Contains(string(page), "<svg") {
		t.Errorf("the page: %v, %v", err, readErr)
	}
}
