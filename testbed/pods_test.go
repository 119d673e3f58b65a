//go:build linux && amd64 && system

package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPods: pods and containers are found by their names where control groups are of version 2, too.
func TestPods(t *testing.T) {
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./guest-run.sh", filepath.Join(dir, "service.test"), "-test.v", "-test.timeout=100s", "-test.run=^TestPod$")
	cmd.Env = append(os.Environ(), "TOOLS=1", "MODULES=", "TIMEOUT=200", "PRE=mkdir -p /var/log /tmp; ln -s /tools/crun /bin/crun; "+
		"echo '+cpu +memory' > /sys/fs/cgroup/cgroup.subtree_control")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
