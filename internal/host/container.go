package host

import (
	"bytes"
	"os"
	"path"
	"strings"

	"hostlab/internal/lazyre"
)

// firstPIDNamespace is the inode of the namespace that the kernel starts with
// (PROC_PID_INIT_INO in include/linux/proc_ns.h). Containers have another, but
// for those started with the host's.
const firstPIDNamespace = "pid:[4026531836]"

// FirstPIDs reports that process 1 of a /proc is the machine's first, and not that of a container.
func FirstPIDs(proc string) bool {
	link, err := os.Readlink(proc + "/1/ns/pid")
	return err == nil && link == firstPIDNamespace
}

// ownProcesses ends the source of a container that does not show the host's processes.
const ownProcesses = ", with processes of its own"

type hint struct {
	engine, source string
	strong         bool // only the engine itself makes it, in a container that runs
}

// readContainer says which engine's container this process is in. A file that an
// engine leaves in an image is no proof: images are also booted as whole
// machines. So "none" and a name both need a witness from the kernel.
func readContainer(t Tree) Fact[string] {
	const ns = "/proc/self/ns/pid"
	h := containerHint(t)
	link, err := readLink(t, ns)
	if err == nil && link != firstPIDNamespace {
		h.source += ownProcesses
	}
	if h.strong {
		return Known(h.engine, "", h.source)
	}
	mounts := readMounts(t, selfMounts)
	root := mounts.find("/")
	layered := root != nil && root.fsType == "overlay"
	first := err == nil && link == firstPIDNamespace
	if err != nil {
		// Only the first PID namespace shows the kernel's own threads.
		comm, ok := t.Text("/proc/2/comm").Get()
		first = ok && comm == "kthreadd"
		if first {
			link = "/proc/2/comm kthreadd"
		}
	}
	switch {
	case first && layered && h.engine != "":
		return Known(h.engine, "", h.source+", and / is an overlay")
	case first:
		return Known("none", "", ns+": the machine's own ("+link+")")
	case err == nil && h.engine != "":
		return Known(h.engine, "", h.source)
	case err == nil:
		return Known("unknown", "", ns+": not the machine's own ("+link+")"+ownProcesses)
	case h.engine != "" && layered:
		return Known(h.engine, "", h.source)
	case h.engine != "":
		return absentFact[string](ns, h.source+" speaks for "+h.engine+", but no namespace can be seen")
	}
	return absentFact[string](ns, "nothing tells whether this is a container")
}

func containerHint(t Tree) hint {
	// systemd inside a container notes what its manager passed it.
	for _, p := range []string{"/run/systemd/container", "/run/host/container-manager"} {
		if s := notEmpty(t.Text(p)); s.State == StateOK {
			return hint{engineName(s.Value), p, true}
		}
	}
	if b, err := t.keeping(ofEnviron("container")).Read("/proc/1/environ"); err == nil {
		for v := range bytes.SplitSeq(b, []byte{0}) {
			if name, ok := bytes.CutPrefix(v, []byte("container=")); ok && len(name) > 0 {
				return hint{engineName(string(name)), "/proc/1/environ container", true}
			}
		}
	}
	if h := mountHint(readMounts(t, selfMounts)); h.engine != "" {
		return h
	}
	for _, p := range []string{"/proc/self/cgroup", "/proc/1/cgroup"} {
		if e := engineOf(t.Text(p).Or("")); e != "" {
			return hint{e, p, true}
		}
	}
	if t.Exists("/proc/vz") && !t.Exists("/proc/bc") {
		return hint{"openvz", "/proc/vz", true}
	}
	for _, f := range []struct{ file, engine string }{
		{"/var/run/secrets/kubernetes.io", "kubernetes"}, {"/run/.containerenv", "podman"}, {"/.dockerenv", "docker"},
	} {
		if t.Exists(f.file) {
			return hint{f.engine, f.file, false}
		}
	}
	return hint{}
}

// engineName shortens systemd's names (see $container in systemd's
// CONTAINER_INTERFACE) and drops what could upset a terminal.
func engineName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	switch {
	case s == "oci":
		return "oci container"
	case strings.HasPrefix(s, "lxc"):
		return "lxc"
	}
	return s
}

// mountHint finds the files that engines mount over /etc/hosts and the like;
// their place on the host's disk names the engine.
func mountHint(m mountTable) hint {
	for _, c := range m.mounts {
		if path.Dir(c.point) != "/etc" {
			continue
		}
		engine := engineOf(c.root)
		if engine == "" && strings.HasPrefix(c.root, "/containers/") && strings.HasSuffix(c.root, path.Base(c.point)) {
			engine = "docker" // /var/lib/docker is a file system of its own
		}
		if engine != "" {
			return hint{engine, m.path + " " + c.point, true}
		}
	}
	return hint{}
}

var dockerScope = lazyre.New(`/docker-[^/]*\.scope`)

// engineOf recognises the cgroups that engines make for their containers, and their directories.
func engineOf(path string) string {
	for _, e := range []struct{ part, engine string }{
		{"kubepods", "kubernetes"}, {"/kubelet/pods/", "kubernetes"}, {"/docker/", "docker"}, {"/libpod", "podman"},
		{"/overlay-containers/", "podman"}, {"/lxc/", "lxc"}, {"/lxc.payload", "lxc"}, {"/cri-containerd", "containerd"},
		{"/containerd/io.containerd", "containerd"}, {"/crio-", "cri-o"}, {"/garden/", "garden"}, {"/ecs/", "ecs"},
	} {
		if strings.Contains(path, e.part) {
			return e.engine
		}
	}
	if dockerScope.MatchString(path) {
		return "docker"
	}
	return ""
}
