package all

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// TestWorkloadStopped stops hostlab within the second of three runs: that run is left out, and named.
func TestWorkloadStopped(t *testing.T) {
	if dir := os.Getenv("WORKLOAD_STOPPED"); dir != "" {
		w, _ := Find("command")
		o := Trial{Runs: 3, Seed: 1}
		testkit.OK(t, o.Parse(w, []string{`run=["sh", "-c", "echo >> ` + filepath.Join(dir, "begun") + `; sleep 0.5"]`},
			nil))
		rep := testkit.Must(o.Do(context.Background(), w, dir))(t)
		b, err := json.Marshal(rep)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "report"), b, 0o600)
		}
		testkit.OK(t, err)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWorkloadStopped$")
	cmd.Env = append(os.Environ(), "WORKLOAD_STOPPED="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	testkit.OK(t, cmd.Start())
	for i, begun := 0, 0; begun < 2; i++ {
		if time.Sleep(10 * time.Millisecond); i > 2000 {
			_ = cmd.Process.Kill()
			t.Fatal("the second run does not begin: ", out.String())
		}
		b, _ := os.ReadFile(filepath.Join(dir, "begun"))
		begun = strings.Count(string(b), "\n")
	}
	for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
		testkit.OK(t, cmd.Process.Signal(s))
		if s == unix.SIGSTOP {
			time.Sleep(2 * time.Second)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	b := testkit.Must(os.ReadFile(filepath.Join(dir, "report")))(t)
	var rep Report
	testkit.OK(t, json.Unmarshal(b, &rep))
	if rep.LeftOut != 1 || !strings.Contains(strings.Join(rep.Warnings, "\n"), "is left out: hostlab did not run for ") {
		t.Errorf("%d left out: %q", rep.LeftOut, rep.Warnings)
	}
	for _, r := range rep.Responses {
		if r.Name == "wall" && (r.N != 2 || *r.Most > 1.5) {
			t.Errorf("wall: n = %d, most %g s", r.N, *r.Most)
		}
	}
}
