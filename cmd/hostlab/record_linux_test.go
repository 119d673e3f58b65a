//go:build linux && system

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

// restless is a process that computes and sleeps by turns until the test ends.
func restless(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; sleep 0.02; done")
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// watched assesses a service alone, and returns its JSON and the other two.
func watched(ctx context.Context, t *testing.T, args ...string) (status int, v map[string]any, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(ctx, append([]string{"assess", "--only", "service", "--format", "json"}, args...),
		streams{in: &bytes.Buffer{}, out: &stdout, err: &stderr})
	return status, conform.To(t, "assess.schema.json", stdout.Bytes()), stderr.String()
}

// The bursts of a process are a workload for predict.
func TestBursts(t *testing.T) {
	testkit.Root(t)
	service := fmt.Sprintf("pid:%d", restless(t).Process.Pid)
	file := filepath.Join(t.TempDir(), "bursts.jsonl")
	status, v, errs := watched(t.Context(), t, "--service", service, "--for", "3s", "--bursts", file)
	if s, ok := v["scheduler"].(map[string]any); status != 0 || !ok || s["bursts"] == 0.0 || s["reason"] != nil {
		t.Fatalf("status %d: %v %s", status, v["scheduler"], errs)
	}
	var predicted, stderr bytes.Buffer
	if status := run(t.Context(), []string{"predict", "--workload", file, "--policy", "schedutil", "--replications", "2"},
		streams{in: &bytes.Buffer{}, out: &predicted, err: &stderr}); status != 0 ||
		!strings.Contains(predicted.String(), "schedutil") {
		t.Errorf("predict: status %d: %s%s", status, predicted.String(), stderr.String())
	}
}

// Another user gets bounds, with the reason, and no file of bursts.
func TestBurstsUnprivileged(t *testing.T) {
	testkit.Root(t)
	exe := testkit.Must(os.Executable())(t)
	dir := testkit.Must(os.MkdirTemp("", "record-"))(t) // below a directory that another user may search
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "hostlab")
	if out, err := exec.Command("cp", exe, bin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.OK(t, os.Chmod(dir, 0o777)) //nolint:gosec // so that another user may write there
	file := filepath.Join(dir, "bursts.jsonl")
	cmd := exec.Command(bin, "assess", "--only", "service", "--format", "json", "--service",
		fmt.Sprintf("pid:%d", restless(t).Process.Pid), "--for", "2s", "--bursts", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, there := os.Stat(file); err == nil || there == nil ||
		!strings.Contains(stderr.String(), "bursts are not written") {
		t.Errorf("%v: %s", err, stderr.String())
	}
	s, _ := conform.To(t, "assess.schema.json", out)["scheduler"].(map[string]any)
	if reason, _ := s["reason"].(string); !strings.Contains(reason, "needs root") {
		t.Errorf("%s", out)
	}
	if bound := s["bounds"].([]any)[0].(map[string]any); bound["name"] != "run" || bound["at_most"] == nil {
		t.Errorf("%v", bound)
	}
}

// A service that ends leaves what was seen, and status 1; an interruption too, and 130.
func TestWatchingEndsEarly(t *testing.T) {
	testkit.Root(t)
	service := restless(t)
	time.AfterFunc(2*time.Second, func() { _ = service.Process.Kill() })
	go func() { _ = service.Wait() }()
	status, v, errs := watched(t.Context(), t, "--service", fmt.Sprintf("pid:%d", service.Process.Pid), "--for", "30s")
	if status != exitFailed || v["scheduler"] == nil || !strings.Contains(errs, "the service ended") {
		t.Errorf("status %d: %s", status, errs)
	}
	interrupted, stop := context.WithCancel(context.Background())
	defer stop()
	time.AfterFunc(3*time.Second, stop)
	status, v, errs = watched(interrupted, t, "--service", fmt.Sprintf("pid:%d", restless(t).Process.Pid), "--for", "30s")
	if status != exitInterrupted || v["time"] == nil {
		t.Errorf("status %d: %s", status, errs)
	}
}
