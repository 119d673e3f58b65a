//go:build system

package client

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// Root has the log in a directory of another user, who plants one of her own in place of
// the server's, with a link to where somebody else's process works: it lives on.
func TestLogInDirectoryOfAnother(t *testing.T) {
	for _, engine := range []string{embedded, inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			home, hers := testkit.Victim(t), testkit.EvesDir(t)
			attack := exec.Command("sh", "-c",
				fmt.Sprintf("while :; do for d in hostlab-*-*; do mv $d moved && mkdir $d && ln -s %s $d/data && exit; done; sleep 0.01; done 2>/dev/null", home))
			attack.Dir = hers
			attack.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testkit.Eve, Gid: testkit.Eve}}
			testkit.Start(t, attack)
			s, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{},
				map[string]any{"engine": engine, "log_dir": hers}), Work: t.TempDir(), Dir: t.TempDir()})
			if err == nil {
				for end := testkit.End(t); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if links, _ := filepath.Glob(filepath.Join(hers, "hostlab-*", "data")); len(links) > 0 {
						break
					}
				}
				err = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), hers+
				" belongs to uid 54321, who could replace what root writes there; name a directory of root's") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("not refused: %v", err)
			}
		})
	}
}
