package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

const uid = "81e09ae0-12ec-4ec5-94b8-51cda7906370"

// id is a container's, with 64 digits.
func id(of string) string { return strings.Repeat(of, 64/len(of)) }

// TestOf: the groups of each runtime and driver, those within a container, and those that are none.
func TestOf(t *testing.T) {
	systemd := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") +
		".slice"
	kind := "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" +
		strings.ReplaceAll(uid, "-", "_") + ".slice"
	plain, static := "/kubepods/besteffort/pod"+uid, "/kubepods/pod33d556edd3ae8ef21980288cef77ae8b"
	for group, want := range map[string]Container{
		systemd + "/cri-containerd-" + id("a") + ".scope": {ID: id("a"), UID: uid, Whole: systemd,
			Engine: "containerd"},
		systemd + "/crio-" + id("a") + ".scope/container":         {ID: id("a"), UID: uid, Whole: systemd, Engine: "cri-o"},
		kind + "/cri-containerd-" + id("a") + ".scope/init.scope": {ID: id("a"), UID: uid, Whole: kind, Engine: "containerd"},
		plain + "/" + id("b"):   {ID: id("b"), UID: uid, Whole: plain},
		plain + "/kata_sandbox": {ID: "kata_sandbox", UID: uid, Whole: plain},
		static + "/" + id("b"): {ID: id("b"), UID: "33d556edd3ae8ef21980288cef77ae8b",
			Whole: static},
		"/system.slice/containerd.service/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") +
			".slice:cri-containerd:" + id("c"): {
			ID: id("c"), UID: uid, Engine: "containerd"},
		"/system.slice/docker-" + id("d") + ".scope": {ID: id("d"),
			Engine: "docker"},
		"/docker/" + id("d") + "/docker/" + id("e"): {ID: id("d"),
			Engine: "docker"},
		"/machine.slice/libpod-" + id("f") + ".scope/container": {ID: id("f"),
			Engine: "podman"},
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id("f") + ".scope": {ID: id("f"),
			Engine: "podman"},
		"/default/" + id("1"):                    {ID: id("1")},
		"/lxc.payload.web/system.slice":          {ID: "web", Engine: "lxc"},
		"/lxc/web":                               {ID: "web", Engine: "lxc"},
		`/machine.slice/machine-my\x2dweb.scope`: {ID: "my-web"},
		"/system.slice/runc-web.scope":           {ID: "web"}, "/system.slice/crun-my\\x2dweb.scope": {ID: "my-web"},
		// None:
		"/system.slice/postgresql.service":                   {},
		"/machine.slice/libpod-conmon-" + id("f") + ".scope": {},
		systemd + "/crio-conmon-" + id("a") + ".scope":       {},
		`/machine.slice/machine-qemu\x2d1\x2dvm.scope`:       {},
		"/system.slice/podcast.service":                      {},
		"/":                                                  {}, "": {},
	} {
		got, ok := Of(group)
		if want.ID == "" {
			if ok {
				t.Errorf("%s: %+v, want none", group, got)
			}
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Container{}, "Group")); d != "" ||
			!strings.HasPrefix(group, got.Group) {
			t.Errorf("%s: %s", group, d)
		}
	}
}

// TestAmong: a runtime of version 1 leaves a process in its own group of version 2; the container is in another line.
func TestAmong(t *testing.T) {
	for _, c := range []struct {
		groups []string
		want   string
	}{
		{[]string{"/system.slice/containerd.service", "/docker/" + id("d")}, "/docker/" + id("d")},
		{[]string{"/system.slice/x.service", "/user.slice"}, "/system.slice/x.service"}, {nil, ""},
	} {
		testkit.Is(t, c.want, among(c.groups), c.groups)
	}
}

// TestBefore: of two processes of a container, the one that began first is its first, whatever their numbers.
func TestBefore(t *testing.T) {
	program, probe := proc.Stat{PID: 999, Started: 5}, proc.Stat{PID: 1000, Started: 9}
	wrapped := proc.Stat{PID: 7, Started: 9}
	if !before(program, probe) || before(probe, program) || before(wrapped, program) || !before(wrapped, probe) {
		t.Error("a probe is before the program")
	}
}

// files writes what the kubelet and the runtimes have, and says where.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		at := filepath.Join(root, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(at), 0o755))
		testkit.OK(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return root
}

const noted = `{"ociVersion": "1.2.0", "annotations": {"io.kubernetes.cri.container-type": "%s",
"io.kubernetes.cri.sandbox-name": "db-0", "io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.container-name": "%s"}}`

func TestNames(t *testing.T) {
	root := files(t, map[string]string{
		logLinks + "/db-0_shop_postgres-" + id("a") + ".log": "",
		podLogs + "/shop_api-7f9_" + uid + "/api/0.log":      "",
		bundles[0] + "/k8s.io/" + id("b") + "/config.json":   fmt.Sprintf(noted, "container", "backup"),
		bundles[0] + "/k8s.io/" + id("c") + "/config.json":   fmt.Sprintf(noted, "sandbox", ""),
		bundles[0] + "/default/" + id("d") + "/config.json":  `{"annotations": {"nerdctl/name": "cache"}}`,
		storageRun + "/overlay-containers/" + id("e") + "/userdata/config.json": `{"annotations": {"io.kubernetes.pod.name": "db-1",
"io.kubernetes.pod.namespace": "shop", "io.kubernetes.container.name": "postgres", "io.kubernetes.cri-o.ContainerType": "container"}}`,
		storage + "/overlay-containers/containers.json":      `[{"id": "` + id("f") + `", "names": ["web"]}, {"id": "x"}]`,
		storage + "/vfs-containers/volatile-containers.json": `[{"id": "` + id("1") + `", "names": ["once"]}]`,
		dockers[0] + "/" + id("2") + "/config.v2.json":       `{"Name": "/shop-db-1", "Config": {}}`,
		dockers[0] + "/" + id("3") + "/config.v2.json":       `{"Name": "/k8s_postgres_db-2_shop_` + uid + `_0"}`,
		bundles[0] + "/k8s.io/" + id("4") + "/config.json":   "{",
	})
	mine := func(string) int { return 0 }
	for _, c := range []struct{ id, uid, address, says string }{
		{id("a"), "", "pod:shop/db-0/postgres", "pod shop/db-0, container postgres"},
		{id("b"), "", "pod:shop/db-0/backup", "pod shop/db-0, container backup"},
		{id("c"), "", "pod:shop/db-0/POD", "pod shop/db-0"},
		{id("d"), "", "container:cache", "container cache"},
		{id("e"), "", "pod:shop/db-1/postgres", "pod shop/db-1, container postgres"},
		{id("f"), "", "container:web", "container web"},
		{id("1"), "", "container:once", "container once"},
		{id("2"), "", "container:shop-db-1", "container shop-db-1"},
		{id("3"), "", "pod:shop/db-2/postgres", "pod shop/db-2, container postgres"},
		{id("4"), uid, "container:" + id("4")[:12], "pod shop/api-7f9"}, // whose container is not known
		{id("5"), "", "container:" + id("5")[:12], "container " + id("5")[:12]},
		{id("5"), "33d556edd3ae8ef21980288cef77ae8b", "container:" + id("5")[:12],
			"pod of UID 33d556edd3ae8ef21980288cef77ae8b"},
		{"..", "", "container:..", "container .."},
	} {
		got := Container{ID: c.id, UID: c.uid}
		read(root, mine).fill(&got)
		if want := map[string]string{id("d"): "nerdctl", id("b"): "containerd"}[c.id]; want != "" && got.Engine != want {
			t.Errorf("%s: engine %q, want %s", c.id, got.Engine, want)
		}
		if got.Address() != c.address || got.String() != c.says {
			t.Errorf("%s: %s, %q; want %s, %q", c.id, got.Address(), got.String(), c.address, c.says)
		}
	}
	// A group that a user made gets no name of root's.
	for of, says := range map[int]string{4711: " of uid 4711", -1: ""} {
		others := Container{ID: id("a"), UID: uid}
		read(root, func(string) int { return of }).fill(&others)
		if others.Pod != "" || others.String() != "pod of UID "+uid+says {
			t.Errorf("of uid %d: %s", of, others)
		}
	}
	if looked := read(root, mine).Looked(); !strings.Contains(looked, logLinks) || !strings.Contains(looked, podLogs) {
		t.Error(looked)
	}
	if looked := read(t.TempDir(), mine).Looked(); !strings.HasPrefix(looked, "no directory of a kubelet") {
		t.Error(looked)
	}
}

// TestElsewhere: where a runtime's configuration names another directory, names are there.
func TestElsewhere(t *testing.T) {
	root := files(t, map[string]string{
		"/etc/docker/daemon.json":                                `{"data-root": "/data/docker"}`,
		"/data/docker/containers/" + id("2") + "/config.v2.json": `{"Name": "/web"}`,
		"/etc/containers/storage.conf":                           "[storage]\ngraphroot = \"/data/storage\"\n",
		"/data/storage/overlay-containers/containers.json":       `[{"id": "` + id("3") + `", "names": ["cache"]}]`,
	})
	for of, name := range map[string]string{id("2"): "web", id("3"): "cache"} {
		c := Container{ID: of}
		if read(root, func(string) int { return 0 }).fill(&c); c.Name != name {
			t.Errorf("%+v, want %s", c, name)
		}
	}
}

// TestOthersFiles: what others may write to names nothing, and the answer says so.
func TestOthersFiles(t *testing.T) {
	root := files(t, map[string]string{
		logLinks + "/db-0_shop_postgres-" + id("a") + ".log": "",
		dockers[0] + "/" + id("2") + "/config.v2.json":       `{"Name": "/web"}`,
	})
	for name, mode := range map[string]os.FileMode{logLinks: 0o777,
		dockers[0] + "/" + id("2") + "/config.v2.json": 0o666} {
		testkit.OK(t, os.Chmod(filepath.Join(root, name), mode))
	}
	for _, of := range []string{id("a"), id("2")} {
		c, n := Container{ID: of}, read(root, func(string) int { return 0 })
		if n.fill(&c); c.Name != "" || !strings.Contains(n.Looked(), "not believed: it may be written to by everyone") {
			t.Errorf("%+v, %s", c, n.Looked())
		}
	}
}
