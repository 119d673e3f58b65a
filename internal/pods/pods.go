// Package pods tells the containers that run here by the names that people have for them. It asks no runtime: a
// container shows by its control group, and its name by files that the kubelet and the runtimes write for themselves.
package pods

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
	"hostlab/internal/proc"
	"hostlab/internal/screen"
)

// Container is one that runs here.
type Container struct {
	ID    string `json:"id"`
	Group string `json:"group"`           // its control group
	Whole string `json:"whole,omitempty"` // that of its pod; "": it is in none
	UID   string `json:"uid,omitempty"`   // of its pod
	// Namespace, Pod and Name are "" where they are not known. Name is Sandbox of the one that only holds a pod's
	// namespaces.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Name      string `json:"name,omitempty"`
	Owner     int    `json:"owner"` // whose it is: 0 is root's, which a runtime of the system started; -1: not known
	Engine    string `json:"engine,omitempty"`
	Host      string `json:"host,omitempty"` // how its process calls its host, where nothing else names it
	PID       int    `json:"pid"`            // the process that began first
}

// Sandbox is how runtimes call a pod's container without a program of the pod's own (dockershim and CRI-O:
// k8s_POD_...).
const Sandbox = "POD"

// The kubelet makes a pod's group of its UID (pkg/kubelet/cm/pod_container_manager_linux.go); systemd's driver writes
// its dashes as underscores, and a static pod's UID is a hash. Runtimes name a container's group by its ID: docker-,
// cri-containerd- and crio-ID.scope, libpod-ID, or the ID alone; containerd without systemd's driver writes
// "kubepods-podUID.slice:cri-containerd:ID" as one name.
var (
	ofPod = lazyre.New(
		`(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:$|:)`)
	ofContainer = lazyre.New(`(?:^|[-:_])([0-9a-f]{64})(?:\.scope)?$`)
	ofMachine   = lazyre.New(`^(?:lxc\.payload\.(.+)|machine-(.+)\.scope|(?:crun|runc)-(.+)\.scope)$`)
)

// engines are words of a group's name.
var engines = []struct{ part, engine string }{{"docker", "docker"}, {"libpod", "podman"}, {"crio-", "cri-o"},
	{"cri-containerd", "containerd"}, {"nerdctl", "nerdctl"}, {"lxc", "lxc"}}

// Of is the outermost container that holds a control group; ok is false where none does. What a container's own root
// makes below its group may have any name.
func Of(group string) (c Container, ok bool) {
	parts := strings.Split(group, "/")
	for i, part := range parts {
		if i > 0 && parts[i-1] == "lxc" && c.Whole == "" {
			c.ID = part
			// libvirt's are no containers
		} else if m := ofMachine.FindStringSubmatch(part); m != nil && !strings.HasPrefix(m[2], "qemu") {
			c.ID = unescape(cmp.Or(m[1], m[2], m[3]))
		} else if m := ofContainer.FindStringSubmatch(part); m != nil && !strings.Contains(part, "conmon") {
			c.ID = m[1]
		} else if c.Whole != "" && part != "" && !strings.Contains(part, "conmon") {
			c.ID = strings.TrimSuffix(part, ".scope") // as Kata's
		}
		if m := ofPod.FindStringSubmatch(part); m != nil && c.UID == "" {
			c.UID = strings.ReplaceAll(m[1], "_", "-")
			if c.Whole = strings.Join(parts[:i+1], "/"); c.ID != "" { // both are in one name
				c.Whole = ""
			}
		}
		if c.ID == "" {
			continue
		}
		c.Group = strings.Join(parts[:i+1], "/")
		for _, e := range engines {
			if strings.Contains(c.Group, e.part) {
				c.Engine = e.engine
				break
			}
		}
		return c, true
	}
	return c, false
}

// GroupOf is the control group of a process: one of a container, if any is.
func GroupOf(pid int) string { return among(proc.GroupsOf(pid)) }

func among(groups []string) string {
	at := slices.IndexFunc(groups, func(g string) bool {
		_, is := Of(g)
		return is
	})
	if len(groups) == 0 {
		return ""
	}
	return groups[max(at, 0)]
}

// unescape reads what systemd.unit(5) writes of a name: "\x2d" is a dash.
func unescape(name string) string {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(name, `"`, "") + `"`)
	if err != nil {
		return name
	}
	return s
}

// All are the containers that have processes, with their names.
func (n *Names) All() (list []Container) {
	first := map[string]proc.Stat{}
	for _, s := range proc.All() {
		c, ok := Of(GroupOf(s.PID))
		if !ok {
			continue
		}
		if f, seen := first[c.Group]; !seen || before(s, f) {
			first[c.Group] = s
		}
	}
	for group, s := range first {
		c, _ := Of(group)
		c.PID = s.PID
		n.fill(&c)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Container) int {
		return cmp.Or(cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.Group, b.Group))
	})
	return list
}

// before reports that a process began before another. A later one may be a probe that ends at once.
func before(a, b proc.Stat) bool {
	return cmp.Or(cmp.Compare(a.Started, b.Started), cmp.Compare(a.PID, b.PID)) < 0
}

// In is the container that holds a control group, with a process of it; nil: none does.
func (n *Names) In(group string, pid int) *Container {
	c, ok := Of(group)
	if !ok {
		return nil
	}
	c.PID = pid
	n.fill(&c)
	return &c
}

// Around is the container that a process is in; nil: it is in none.
func Around(pid int) *Container {
	group := GroupOf(pid)
	if _, ok := Of(group); !ok {
		return nil
	}
	return Read().In(group, pid)
}

// Short is its ID as tools print it.
func (c Container) Short() string {
	if ofContainer.MatchString(c.ID) {
		return c.ID[:12]
	}
	return c.ID
}

// Foreign reports that another user than root and this one started it: its ID and its name may be made up.
func (c Container) Foreign() bool { return c.Owner != 0 && c.Owner != os.Geteuid() }

// Address is what names it to hostlab: pod:NAMESPACE/NAME/CONTAINER, or container:NAME. One of another user has its
// control group alone.
func (c Container) Address() string {
	switch {
	case c.Foreign():
		return c.Path()
	case c.Pod != "" && c.Name != "":
		return screen.Clean("pod:" + c.Namespace + "/" + c.Pod + "/" + c.Name)
	case c.Pod == "" && c.Name != "":
		return screen.Clean("container:" + c.Name)
	}
	return screen.Clean("container:" + c.Short())
}

// Path names it by its control group, which no other has.
func (c Container) Path() string { return screen.Clean("cgroup:" + c.Group) }

// String names it in a sentence.
func (c Container) String() string {
	text := "container " + cmp.Or(c.Name, c.Short())
	switch {
	case c.Pod != "" && (c.Name == "" || c.Name == Sandbox):
		text = "pod " + c.Namespace + "/" + c.Pod
	case c.Pod != "":
		text = "pod " + c.Namespace + "/" + c.Pod + ", container " + c.Name
	case c.UID != "" && c.Name == "":
		text = "pod of UID " + c.UID
	case c.Name == "" && c.Host != "":
		text += ", which calls itself " + c.Host
	}
	if c.Owner > 0 {
		text += fmt.Sprintf(" of uid %d", c.Owner)
	}
	return screen.Clean(text)
}

// hostname is what a process says in its environment. Runtimes set it to the pod's name or the container's ID, and the
// program may have changed it.
func hostname(pid int) string {
	list, _ := proc.Words(pid, "environ")
	for _, v := range list {
		if name, ok := strings.CutPrefix(v, "HOSTNAME="); ok {
			return screen.Short(name)
		}
	}
	return ""
}
