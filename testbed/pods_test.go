//go:build linux && amd64 && system

package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// TestPods: pods and containers are found by their names where control groups are of version 2, too.
func TestPods(t *testing.T) {
	t.Parallel()
	dir := testkit.Must(binaries())(t)
	cmd := exec.Command("./guest-run.sh", filepath.Join(dir, "service.test"), "-test.v", "-test.timeout=100s",
		"-test.run=^TestPod$")
	cmd.Env = append(os.Environ(), "TOOLS=1", "MODULES=", "TIMEOUT=200",
		"PRE=mkdir -p /var/log /tmp; ln -s /tools/crun /bin/crun; "+
			"echo '+cpu +memory' > /sys/fs/cgroup/cgroup.subtree_control")
	said(t, cmd)
}

// TestProcRoot: a privileged container sees the host by --proc-root, with its disks and control groups. Others are
// told what is missing.
func TestProcRoot(t *testing.T) {
	t.Parallel()
	dir := testkit.Must(binaries())(t)
	script := filepath.Join(t.TempDir(), "script")
	testkit.OK(t, os.WriteFile(script, []byte(`#!/bin/sh
ask() { sh /job/debugpod.sh $1 /job/hostlab facts --proc-root $2 2>&1; echo "status $?"; echo ====; }
ask all /host/proc; ask none /host/proc; ask all /host/tmp
`), 0o600))
	cmd := exec.Command("./guest-run.sh", script)
	cmd.Env = append(os.Environ(), "TOOLS=1", "MODULES=", "TIMEOUT=200", "PRE=mkdir -p /tmp",
		"FILES=guest/debugpod.sh "+filepath.Join(dir, "hostlab"))
	out := strings.Split(string(testkit.Must(cmd.Output())(t)), "====")
	for i, c := range []struct{ status, says string }{
		{"status 0", "hostname    (none)"}, // the container's is debug
		{"status 2", "start it privileged"},
		{"status 2", "/host/tmp is no /proc"},
	} {
		testkit.Has(t, out[i], c.says)
		testkit.Has(t, out[i], c.status)
	}
}
