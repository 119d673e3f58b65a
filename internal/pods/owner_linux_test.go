package pods

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// TestOwner: a tree that lacks the group does not say whose it is.
func TestOwner(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(with, "of/web"), filepath.Join(without, "of")} {
		testkit.OK(t, os.MkdirAll(dir, 0o755))
	}
	testkit.Is(t, -1, ownerIn([]proc.Hierarchy{{Mount: without}}, "/of/web"), "of a tree without the group")
	testkit.Is(t, os.Getuid(), ownerIn([]proc.Hierarchy{{Mount: without}, {Mount: with}}, "/of/web"))
}

// TestHostname: a process tells its name, and one with an environment longer than is read tells none.
func TestHostname(t *testing.T) {
	long := "A=" + strings.Repeat("x", 100<<10)
	for want, env := range map[string][]string{"db-0": {"HOSTNAME=db-0"}, "": {"HOSTNAME=db-0", long, "B" + long}} {
		cmd := exec.Command("sh", "-c", "echo; read line")
		cmd.Env = append(env, "PATH=/usr/bin:/bin")
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		testkit.OK(t, errors.Join(err1, err2, cmd.Start()))
		if _, err := out.Read(make([]byte, 1)); err != nil { // else it may not have its environment yet
			t.Fatal(err)
		}
		testkit.Is(t, want, hostname(cmd.Process.Pid), len(env), "variables")
		_ = in.Close()
		_ = cmd.Wait()
	}
	testkit.Is(t, "", hostname(0), "of no process")
}
