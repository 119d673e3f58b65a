//go:build system && linux

package demo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// TestPostgres: the shop on a private PostgreSQL commits, runs as no root, and leaves nothing,
// neither when it is closed nor when the process that started it is killed.
func TestPostgres(t *testing.T) {
	dir := t.TempDir()
	s := testkit.Must(Start(context.Background(), dir, "postgres"))(t)
	defer s.Close()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/status")
	if err != nil || os.Geteuid() == 0 && strings.Contains(string(status), "\nUid:\t0\t") {
		t.Errorf("the server runs as root: %v", err)
	}
	dsn := testkit.Must(connect.Parse(s.DSN()))(t)
	source := testkit.Must(connect.Open(t.Context(), dsn))(t)
	rep, err := explain.Record(t.Context(), source, explain.Options{For: 3 * time.Second})
	if err != nil || rep.Transactions < 20 || rep.Log.Writes < 5 {
		t.Errorf("%d transactions, %d log writes: %v", rep.Transactions, rep.Log.Writes, err)
	}
	source.Close()
	server := s.PID()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	nothing(t, dir, server)
}

// TestKilled: a parent that is killed takes the server and its files with it.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMain$")
	cmd.Env = append(os.Environ(), "DEMO_IN="+dir)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	b := make([]byte, 16)
	n, _ := out.Read(b)
	server, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		t.Fatalf("%q: %v", b[:n], err)
	}
	nothing(t, dir, server)
}

// nothing wants no file and no process, soon.
func nothing(t *testing.T, dir string, server int) {
	t.Helper()
	for end := testkit.End(t); ; time.Sleep(50 * time.Millisecond) {
		left, _ := filepath.Glob(dir + "/*")
		p, err := proc.Read(server)
		if len(left) == 0 && (err != nil || p.Ended()) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v, process %+v", left, p)
		}
	}
}
