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

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/systemtest"
)

// restless is a process that computes and sleeps by turns until the test ends.
func restless(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; sleep 0.02; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func recorded(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), append([]string{"record"}, args...), streams{in: &bytes.Buffer{}, out: &stdout, err: &stderr})
	return status, stdout.String(), stderr.String()
}

// A record of a process is a workload for predict; its JSON keeps to the schema.
func TestRecord(t *testing.T) {
	systemtest.Root(t)
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	service := fmt.Sprintf("pid:%d", restless(t).Process.Pid)
	file := filepath.Join(t.TempDir(), "bursts.jsonl")
	status, out, errs := recorded(t, "--service", service, "--for", "3s", "--out", file)
	if status != 0 || !strings.Contains(out, "hostlab predict --workload") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	var predicted, stderr bytes.Buffer
	if status := run(t.Context(), []string{"predict", "--workload", file, "--policy", "schedutil", "--replications", "2"},
		streams{in: &bytes.Buffer{}, out: &predicted, err: &stderr}); status != 0 || !strings.Contains(predicted.String(), "schedutil") {
		t.Errorf("predict: status %d: %s%s", status, predicted.String(), stderr.String())
	}
	status, out, errs = recorded(t, "--service", service, "--for", "2s", "--format", "json")
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	if err == nil {
		err = schema.Validate(v)
	}
	if status != 0 || err != nil || v.(map[string]any)["recorded"] != true {
		t.Errorf("status %d: %v\n%s%s", status, err, out, errs)
	}
}

// Another user gets bounds, with the reason.
func TestRecordUnprivileged(t *testing.T) {
	systemtest.Root(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "record-") // below a directory that another user may search
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "hostlab")
	if out, err := exec.Command("cp", exe, bin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "record", "--service", fmt.Sprintf("pid:%d", restless(t).Process.Pid), "--for", "2s", "--format", "json")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := v.(map[string]any)
	if reason, _ := d["reason"].(string); d["recorded"] != false || !strings.Contains(reason, "needs root") {
		t.Errorf("%s", out)
	}
	if run := d["bounds"].([]any)[0].(map[string]any); run["name"] != "run" || run["at_most"] == nil {
		t.Errorf("%v", run)
	}
}

// A service that ends leaves what was seen, and status 1; an interruption too, and 130.
func TestRecordEndsEarly(t *testing.T) {
	systemtest.Root(t)
	service := restless(t)
	time.AfterFunc(2*time.Second, func() { _ = service.Process.Kill() })
	go func() { _ = service.Wait() }()
	status, out, errs := recorded(t, "--service", fmt.Sprintf("pid:%d", service.Process.Pid), "--for", "30s")
	if status != exitFailed || !strings.Contains(out, "the service ended after") || !strings.Contains(errs, "ended after") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	interrupted, stop := context.WithCancel(context.Background())
	defer stop()
	context.AfterFunc(ctx, stop)
	var stdout, stderr bytes.Buffer
	status = run(interrupted, []string{"record", "--service", fmt.Sprintf("pid:%d", restless(t).Process.Pid), "--for", "30s"}, streams{in: &bytes.Buffer{}, out: &stdout, err: &stderr})
	if status != exitInterrupted || !strings.Contains(stdout.String(), "interrupted after") {
		t.Errorf("status %d: %s%s", status, stdout.String(), stderr.String())
	}
}
