//go:build linux && amd64 && system

package testbed

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"hostlab/internal/testkit"
)

// TestLogDevice measures commits in a guest: on a model of a SAN, on a disk of the hypervisor's memory and on
// persistent memory, by fdatasync(2) and by MAP_SYNC. On a busy machine only the delay of the SAN can be relied on,
// which is the kernel's; the whole order is required with -full.
func TestLogDevice(t *testing.T) {
	t.Parallel()
	dir := testkit.Must(binaries())(t)
	cmd := exec.CommandContext(t.Context(), "./logdevice.sh", filepath.Join(dir, "hostlab"))
	cmd.Env = append(os.Environ(), "TIMEOUT=400")
	out, err := cmd.Output()
	t.Logf("%s", out)
	exit, ended := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ended || exit.ExitCode() != 3 || *full) {
		t.Fatalf("%v: %s", err, stderrOf(exit))
	}
	var p50 []float64 // us
	for _, m := range regexp.MustCompile(`p50 +([0-9.]+) us .* n = [1-3] runs`).FindAllSubmatch(out, -1) {
		p50 = append(p50, testkit.Must(strconv.ParseFloat(string(m[1]), 64))(t))
	}
	if len(p50) != 4 {
		t.Fatalf("%d devices were measured, and there are 4", len(p50))
	}
	if p50[0] < 5000 || p50[0] < p50[2] || p50[0] < p50[3] {
		t.Errorf("the SAN, which delays each write by 5 ms, took %v us, and persistent memory %v and %v", p50[0], p50[2], p50[3])
	}
}

func stderrOf(e *exec.ExitError) string {
	if e == nil {
		return ""
	}
	return string(e.Stderr)
}
