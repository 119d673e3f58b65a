//go:build linux && amd64 && system

package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPods: pods and containers are found by their names where control groups are of version 2, too.
func TestPods(t *testing.T) {
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./guest-run.sh", filepath.Join(dir, "service.test"), "-test.v", "-test.timeout=100s",
		"-test.run=^TestPod$")
	cmd.Env = append(os.Environ(), "TOOLS=1", "MODULES=", "TIMEOUT=200",
		"PRE=mkdir -p /var/log /tmp; ln -s /tools/crun /bin/crun; "+
			"echo '+cpu +memory' > /sys/fs/cgroup/cgroup.subtree_control")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestProcRoot: a privileged container sees the host by --proc-root, with its disks and control groups. Others are
// told what is missing.
func TestProcRoot(t *testing.T) {
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rights, root, says string }{
		{"all", "/host/proc", "hostname    (none)"}, // the container's is debug
		{"none", "/host/proc", "start it privileged"},
		{"all", "/host/tmp", "/host/tmp is no /proc"},
	} {
		cmd := exec.Command("./guest-run.sh", "guest/debugpod.sh", c.rights, "/job/hostlab", "facts", "--proc-root", c.root)
		cmd.Env = append(os.Environ(), "TOOLS=1", "MODULES=", "TIMEOUT=200", "PRE=mkdir -p /tmp",
			"FILES="+filepath.Join(dir, "hostlab"))
		out, err := cmd.CombinedOutput()
		if (err == nil) != (c.says == "hostname    (none)") || !strings.Contains(string(out), c.says) {
			t.Errorf("%+v: %v: %s", c, err, out)
		}
	}
}
