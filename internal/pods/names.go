package pods

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/trust"
)

// Names knows what containers are called. It believes only directories and files that root or this user owns, and that
// nobody else may write to.
type Names struct {
	root   string // "": the host's own files
	owner  func(group string) int
	logs   map[string][]string // by a container's ID: pod, namespace, container
	pods   map[string][]string // by a pod's UID: namespace, name
	stored map[string]string   // by a container's ID, its name
	looked []string            // where, and why not
}

// Where names are. The kubelet links each container's log by "POD_NAMESPACE_CONTAINER-ID.log" and keeps a pod's logs in
// "NAMESPACE_NAME_UID" (kubernetes 16913111, pkg/kubelet/kuberuntime/legacy.go and helpers.go).
const (
	logLinks = "/var/log/containers"
	podLogs  = "/var/log/pods"
)

// bundles hold a directory for each container of containerd, whose config.json has the names of Kubernetes' objects
// as annotations (containerd 005c52e, core/runtime/v2/bundle.go; 02e0fef, pkg/cri/annotations). k3s, RKE2 and
// MicroK8s have its state elsewhere.
var bundles = []string{
	"/run/containerd/io.containerd.runtime.v2.task", "/run/k3s/containerd/io.containerd.runtime.v2.task",
	"/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task",
}

// Podman and CRI-O keep containers by containers/storage (containers.go: those that are removed with their end, or
// by the next boot, are in a file of their own). CRI-O's bundle is in the run directory of each.
const (
	storage    = "/var/lib/containers/storage"
	storageRun = "/run/containers/storage"
	ofUser     = ".local/share/containers/storage"
)

// dockers are the data directories of Docker and of its snap (moby 00cf1da, container/container.go: config.v2.json).
var dockers = []string{"/var/lib/docker/containers", "/var/snap/docker/common/var-lib-docker/containers"}

// dockers are they, and the one that Docker's configuration names.
func (n *Names) dockers() []string {
	var config struct {
		Root string `json:"data-root"`
	}
	if n.read("/etc/docker", "daemon.json", largest, &config); filepath.IsAbs(config.Root) {
		return append([]string{filepath.Join(config.Root, "containers")}, dockers...)
	}
	return dockers
}

// graphRoot is where containers/storage keeps containers (containers-storage.conf(5)).
func (n *Names) graphRoot() string {
	var config struct {
		Storage struct {
			Root string `toml:"graphroot"`
		} `toml:"storage"`
	}
	for _, dir := range []string{"/etc/containers", "/usr/share/containers"} { // the first that is there counts
		if b, err := n.bytes(dir, "storage.conf", largest); err == nil && toml.Unmarshal(b, &config) == nil {
			break
		}
	}
	if filepath.IsAbs(config.Storage.Root) {
		return config.Storage.Root
	}
	return storage
}

// Read looks for names here.
func Read() *Names { return read("", owner) }

func read(root string, owner func(string) int) *Names {
	n := &Names{root: root, owner: owner, logs: map[string][]string{}, pods: map[string][]string{},
		stored: map[string]string{}}
	for _, name := range n.list(logLinks) {
		name = strings.TrimSuffix(name, ".log")
		at := strings.LastIndexByte(name, '-')
		if at < 0 || len(name)-at < 12 { // a long name is cut before its ID
			continue
		}
		if f := strings.Split(name[:at], "_"); len(f) == 3 {
			n.logs[name[at+1:]] = f
		}
	}
	for _, name := range n.list(podLogs) {
		if f := strings.Split(name, "_"); len(f) == 3 {
			n.pods[f[2]] = f[:2]
		}
	}
	stores := append([]string{storageRun}, n.graphRoot())
	if home, err := os.UserHomeDir(); err == nil && os.Geteuid() != 0 {
		stores = append(stores, filepath.Join(home, ofUser))
	}
	for _, store := range stores {
		for _, dir := range n.below(store, "-containers") {
			n.store(dir)
		}
	}
	for _, dir := range n.dockers() {
		n.list(dir)
	}
	return n
}

// Looked says where names were looked for, and what may not be read.
func (n *Names) Looked() string {
	if len(n.looked) == 0 {
		return "no directory of a kubelet or a container runtime is here"
	}
	at := n.looked
	if len(at) > mostLooked {
		at = append(slices.Clone(at[:mostLooked]), "and more")
	}
	return "names were looked for in " + strings.Join(at, ", ")
}

// mostLooked is how many places a line names.
const mostLooked = 8

// open opens a directory that nobody else controls.
func (n *Names) open(dir string) (*os.Root, error) {
	root, err := trust.Directory(filepath.Join(n.root, dir))
	if err != nil {
		return nil, err
	}
	f, err := root.Open(".")
	if err == nil {
		err = trust.Ours(f)
		f.Close()
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// list are the names in a directory, none where it is not there or not to be believed.
func (n *Names) list(dir string) (names []string) {
	root, err := n.open(dir)
	if err == nil {
		defer root.Close()
		var entries []fs.DirEntry
		if entries, err = fs.ReadDir(root.FS(), "."); err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	}
	n.note(dir, err)
	return names
}

func (n *Names) note(place string, err error) {
	refused := &trust.Refused{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.As(err, &refused):
		place += " (not believed: it " + refused.Why + ")"
	case errors.Is(err, fs.ErrPermission):
		place += " (only root may read it)"
	case err != nil:
		place += " (cannot be read)"
	}
	if !slices.Contains(n.looked, place) {
		n.looked = append(n.looked, place)
	}
}

// below are the directories in one whose names end so.
func (n *Names) below(dir, end string) (dirs []string) {
	for _, name := range n.list(dir) {
		if strings.HasSuffix(name, end) {
			dirs = append(dirs, filepath.Join(dir, name))
		}
	}
	return dirs
}

// largest is more than a container's description takes, and largestStore than those of thousands.
const (
	largest      = 1 << 20
	largestStore = 32 << 20
)

// bytes reads a file that nobody else controls.
func (n *Names) bytes(dir, file string, limit int64) ([]byte, error) {
	root, err := n.open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := trust.OpenFile(root, file, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Ours(f); err != nil {
		return nil, err
	}
	return trust.File(f, limit)
}

// read reads a file of JSON that nobody else controls.
func (n *Names) read(dir, file string, limit int64, into any) bool {
	b, err := n.bytes(dir, file, limit)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) { // the note on the directory above says so
		n.note(filepath.Join(dir, file), err)
	}
	return err == nil
}

// store reads the names that containers/storage keeps.
func (n *Names) store(dir string) {
	for _, file := range []string{"containers.json", "volatile-containers.json"} {
		var list []struct {
			ID    string   `json:"id"`
			Names []string `json:"names"`
		}
		n.read(dir, file, largestStore, &list)
		for _, c := range list {
			if len(c.Names) > 0 {
				n.stored[c.ID] = c.Names[0]
			}
		}
	}
}

// fill gives a container its names, as far as they are known. A user may call a group anything that is theirs, so
// that it gets no name of root's, and one of this user's own storage alone.
func (n *Names) fill(c *Container) {
	if n.name(c); c.Pod == "" && c.UID == "" && c.Name == "" {
		c.Host = hostname(c.PID)
	}
}

func (n *Names) name(c *Container) {
	if n.owner != nil {
		c.Owner = n.owner(c.Group)
	}
	if c.Foreign() {
		return
	}
	if c.Owner == 0 {
		if f := n.logs[c.ID]; f != nil {
			c.Pod, c.Namespace, c.Name = f[0], f[1], f[2]
		}
		if f := n.pods[c.UID]; f != nil {
			c.Namespace, c.Pod = f[0], f[1]
		}
	}
	if name := n.stored[c.ID]; c.Name == "" && name != "" {
		c.named(name)
	}
	if c.Owner != 0 || c.Name != "" {
		return
	}
	n.ask(c)
}

// ask reads the container's own description, by its runtime.
func (n *Names) ask(c *Container) {
	if strings.ContainsAny(c.ID, "/\x00") || c.ID == ".." || c.ID == "." {
		return
	}
	var dirs []string
	for _, b := range bundles {
		for _, space := range n.list(b) { // of containerd: k8s.io, moby, default
			dirs = append(dirs, filepath.Join(b, space, c.ID))
		}
	}
	ofContainerd := len(dirs)
	for _, dir := range n.below(storageRun, "-containers") {
		dirs = append(dirs, filepath.Join(dir, c.ID, "userdata"))
	}
	for i, dir := range dirs {
		var spec struct {
			Annotations map[string]string `json:"annotations"`
		}
		if !n.read(dir, "config.json", largest, &spec) {
			continue
		}
		if c.Engine == "" && i < ofContainerd {
			c.Engine = "containerd"
		}
		if c.annotated(spec.Annotations) {
			return
		}
	}
	for _, dir := range n.dockers() {
		var of struct{ Name string }
		if n.read(filepath.Join(dir, c.ID), "config.v2.json", largest, &of) {
			c.named(strings.TrimPrefix(of.Name, "/"))
			return
		}
	}
}

// annotated takes names from annotations: of containerd, of nerdctl (b0b550f, pkg/labels/labels.go), and the kubelet's
// labels, which CRI-O copies (cri-o 03c46e4, internal/factory/container/container.go).
func (c *Container) annotated(by map[string]string) bool {
	first := func(keys ...string) string {
		for _, k := range keys {
			if by[k] != "" {
				return by[k]
			}
		}
		return ""
	}
	pod := first("io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name")
	name := first("io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name")
	if first("io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType") == "sandbox" {
		name = Sandbox
	}
	if pod != "" {
		c.Pod, c.Namespace = pod, first("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace")
	}
	if name != "" {
		c.Name = name
	}
	if by["nerdctl/name"] != "" && pod == "" {
		c.Engine = "nerdctl"
	}
	return name != ""
}

// named takes a name of a runtime. For the kubelet it is k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT (cri-dockerd 45857d7,
// core/naming.go; cri-o 03c46e4, SetNameAndID).
func (c *Container) named(name string) {
	if f := strings.Split(name, "_"); len(f) >= 6 && f[0] == "k8s" {
		c.Name, c.Pod, c.Namespace = f[1], f[2], f[3]
		return
	}
	c.Name = name
}
