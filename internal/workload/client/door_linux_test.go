//go:build system

package client

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/systemtest"
	"hostlab/internal/workload"
)

// Root has the log in a directory of another user, who plants one of her own in place of
// the server's, with a link to where somebody else's process works: it lives on.
func TestLogInDirectoryOfAnother(t *testing.T) {
	systemtest.Root(t)
	const eve = 54321
	for _, engine := range []string{embedded, inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			home, hers := t.TempDir(), t.TempDir()
			if err := errors.Join(os.Chown(hers, eve, eve), os.Chmod(filepath.Dir(hers), 0o755)); err != nil { //nolint:gosec // she has to get there
				t.Fatal(err)
			}
			victim := exec.Command("sleep", "300")
			victim.Dir = home
			attack := exec.Command("sh", "-c", fmt.Sprintf("while :; do for d in hostlab-*-*; do mv $d moved && mkdir $d && ln -s %s $d/data && exit; done; sleep 0.01; done 2>/dev/null", home))
			attack.Dir = hers
			attack.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}}
			for _, cmd := range []*exec.Cmd{victim, attack} {
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			}
			s, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{}, map[string]any{"engine": engine, "log_dir": hers}), Work: t.TempDir(), Dir: t.TempDir()})
			if err == nil {
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if links, _ := filepath.Glob(filepath.Join(hers, "hostlab-*", "data")); len(links) > 0 {
						break
					}
				}
				err = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), hers+" belongs to uid 54321, who could replace what root writes there; name a directory of root's") || strings.Contains(err.Error(), "\n") {
				t.Errorf("not refused: %v", err)
			}
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", victim.Process.Pid)); err != nil || strings.Contains(string(b), ") Z ") {
				t.Error("root killed another's process")
			}
		})
	}
}
