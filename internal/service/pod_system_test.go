//go:build linux && system

package service

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// runContainer runs a command in a container of crun until the test ends.
func runContainer(t *testing.T, id, group, script string) {
	t.Helper()
	bundle := t.TempDir()
	mounts := []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"},
		map[string]any{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}}
	program, err := exec.LookPath("busybox")
	if err == nil {
		err = os.Mkdir(filepath.Join(bundle, "rootfs"), 0o755)
	}
	if err == nil {
		err = exec.Command("cp", program, filepath.Join(bundle, "rootfs", "busybox")).Run()
	}
	testkit.OK(t, err)
	spec := map[string]any{
		"ociVersion": "1.0.2", "hostname": "db-0", "root": map[string]any{"path": "rootfs"}, "mounts": mounts,
		"process": map[string]any{"args": []string{"/busybox", "sh", "-c", script}, "cwd": "/",
			"env": []string{"HOSTNAME=db-0"}},
		"linux": map[string]any{
			"cgroupsPath": group,
			"namespaces": []any{map[string]any{"type": "pid"}, map[string]any{"type": "mount"}, map[string]any{"type": "uts"},
				map[string]any{"type": "ipc"}},
			"resources": map[string]any{"cpu": map[string]any{"shares": 512, "quota": 20000, "period": 100000},
				"memory": map[string]any{"limit": 64 << 20}},
		},
	}
	b, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o600)
	}
	testkit.OK(t, err)
	crun := func(args ...string) *exec.Cmd { // which takes no control groups of both versions beside each other (1.8.1)
		const alone = `umount /sys/fs/cgroup/unified 2>/dev/null; exec crun "$@"`
		return exec.Command("unshare", append([]string{"-m", "sh", "-c", alone, "sh", "--root",
			filepath.Join(bundle, "state"),
			"--cgroup-manager=cgroupfs"}, args...)...)
	}
	run := crun("run", "--no-pivot", "--detach", "--bundle", bundle, id)
	log := testkit.Must(os.Create(filepath.Join(bundle, "log")))(t)
	defer log.Close()
	run.Stdout, run.Stderr = log, log
	if err := run.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("crun: %v: %s", err, text)
	}
	t.Cleanup(func() { _ = crun("delete", "--force", id).Run() })
}

// link is the log's link that the kubelet makes. The directory is root's, as everywhere.
func link(t *testing.T, pod, namespace, container, id string) {
	t.Helper()
	const logs = "/var/log/containers"
	if err := os.Mkdir(logs, 0o755); err == nil {
		t.Cleanup(func() { _ = os.Remove(logs) })
	}
	at := fmt.Sprintf("%s/%s_%s_%s-%s.log", logs, pod, namespace, container, id)
	testkit.OK(t, os.Symlink("/var/log/pods/nowhere", at))
	t.Cleanup(func() { _ = os.Remove(at) })
}

// TestPod: a pod and its container are found by the names that people have for them, with limits, request and what the
// quota stopped, in the version of control groups that this kernel has.
func TestPod(t *testing.T) {
	testkit.Root(t)
	const uid = "81e09ae0-12ec-4ec5-94b8-51cda7906370"
	whole, id, other := "/kubepods-hostlab/burstable/pod"+uid, strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	t.Cleanup(func() {
		for _, h := range proc.Hierarchies() {
			for dir := filepath.Join(h.Mount, whole); dir != h.Mount; dir = filepath.Dir(dir) {
				_ = os.Remove(dir)
			}
		}
	})
	runContainer(t, id, whole+"/"+id, "while :; do :; done")
	runContainer(t, other, whole+"/"+other, "exec /busybox sleep 1000")
	link(t, "db-0", "hostlab-test", "postgres", id)
	link(t, "db-0", "hostlab-test", "backup", other)
	for text, group := range map[string]string{
		"pod:hostlab-test/db-0": whole, "pod:hostlab-test/db-0/postgres": whole + "/" + id,
		"container:" + id[:12]: whole + "/" + id, "container:" + id: whole + "/" + id,
	} {
		spec := testkit.Must(Parse(text))(t)
		s, err := spec.Find(nil, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s.group.path != group || s.PID == 0 {
			t.Errorf("%s: group %s, process %d; want %s", text, s.group.path, s.PID, group)
		}
		m := testkit.Must(s.NewMeter())(t)
		r := Reading{}
		for end := testkit.End(t); (r.Throttled == nil || *r.Throttled == 0) &&
			time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			r = testkit.Must(m.Read())(t)
		}
		if q := s.Quota(); q == nil || q.CPUs != 0.2 || r.Throttled == nil || *r.Throttled <= 0 {
			t.Errorf("%s: quota %+v, throttled %v", text, q, r.Throttled)
		}
		c := host.ReadClaims(host.Tree{}, s.Containers[0].PID, "", s.Containers[0].Group, true)
		if request, _ := c.Request.Get(); request.CPUs < 0.48 || request.CPUs > 0.52 || c.Limits.CPUQuota.Or(0) != 0.2 ||
			c.Limits.MemoryMax.Or(0) != 64<<20 {
			t.Errorf("%s: request %+v, quota %+v, memory %+v", text, c.Request, c.Limits.CPUQuota, c.Limits.MemoryMax)
		}
	}
	testkit.Refused((Spec{Pod, "hostlab-test/db-1"}).Find(nil, nil))(t, "pod:hostlab-test/db-0/postgres", "another pod")
	testkit.Has(t, strings.Join(Pods(), " "), "pod:hostlab-test/db-0 pod:hostlab-test/db-0/backup pod:hostlab-test/db-0/postgres", "for completion")
}
