package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet/web"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/ring"
	"hostlab/internal/testkit"
)

// The line that hostlab-day@.service types sends yesterday of a ring, whatever its service is called. Without a ring it
// fails.
func TestDayService(t *testing.T) {
	const service = "unit:my-app"
	dir := t.TempDir()
	token, hash := web.NewToken()
	host := testkit.Must(os.Hostname())(t)
	files := map[string]string{"fleet.token": token + "\n",
		"tokens.toml": fmt.Sprintf("[[token]]\nname = \"x\"\nhosts = [%q]\nsha256 = %q\n", host, hash)}
	for name, text := range files {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	store := "sqlite:" + filepath.Join(dir, "fleet.db")
	at, end := startServe(t, "--listen", "127.0.0.1:0", "--tokens", filepath.Join(dir, "tokens.toml"), "--store", store)

	unit := string(testkit.Must(os.ReadFile("../../deploy/systemd/hostlab-day@.service"))(t))
	_, line, _ := strings.Cut(strings.ReplaceAll(unit, "\\\n", " "), "\nExecStart=/bin/sh -c '")
	line, _, ok := strings.Cut(line, "' day %I\n")
	if !ok {
		t.Fatal("the unit starts another program")
	}
	// As systemd.service(5) says.
	line = strings.NewReplacer("$$", "$", "%%", "%", "/usr/bin/", "", "/etc/hostlab", dir).Replace(line)
	send := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line, "day", service) //nolint:gosec // the unit's own line
		cmd.Env = append(os.Environ(), "HOSTLAB_FLEET="+strings.TrimSuffix(at, "/"), "XDG_STATE_HOME="+dir)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	if said, err := send(); err == nil || !strings.Contains(said, "is kept in no ring") {
		t.Errorf("without a ring: %v, %s", err, said)
	}
	w := testkit.Must(ring.Open(filepath.Join(dir, "hostlab", "ring", url.QueryEscape(service)), 48*time.Hour))(t)
	defer w.Close()
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	for i := range 60 {
		m := stretchOf(1000, 0.001*float64(1+i%2))
		text := testkit.Must(result.RecordJSON(report.Kept{Schema: report.Schema, Host: "db7", Minute: m}))(t)
		testkit.OK(t, w.Append(noon.Add(time.Duration(i)*report.KeptFor), text))
	}
	if said, err := send(); err != nil || !strings.Contains(said, "new ") {
		t.Errorf("%v, %s", err, said)
	}
	testkit.Is(t, 0, end(), "exit status")
	testkit.Has(t, fleetRun(t, store, "hosts"), host, "the store has")
}
