package proc

import (
	"context"
	"errors"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Leader is a child of ours that leads a process group (SysProcAttr.Setpgid). Until it is
// reaped the number of the group is its own, and only until then the group is signalled.
type Leader struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	reaped bool
}

// Start starts a command as the leader of a group, which the kernel ends with the calling
// thread (PR_SET_PDEATHSIG in prctl(2)): that thread has to last as long.
func Start(cmd *exec.Cmd) (*Leader, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return Lead(cmd), nil
}

// Run is Wait, but when ctx is cancelled it asks the group to end, waits for a while until all
// of it has, and kills what is left. The calling thread itself waits for the end, and calls then
// at once: for many a program a switch to another thread would be a part of its time.
func (l *Leader) Run(ctx context.Context, grace time.Duration, then func()) (cancelled bool, err error) {
	ended, watched := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ended:
			watched <- false
			return
		case <-ctx.Done():
		}
		l.Signal(unix.SIGTERM)
		limit := time.NewTimer(grace)
		defer limit.Stop()
		select {
		case <-ended:
			for end := time.Now().Add(grace); l.alive() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
		case <-limit.C:
		}
		l.Signal(unix.SIGKILL)
		watched <- true
	}()
	err = l.Wait(func() {
		if then != nil {
			then()
		}
		close(ended)
		cancelled = <-watched
	})
	return cancelled, err
}

// alive reports whether the group has a process that has not ended.
func (l *Leader) alive() bool {
	return slices.ContainsFunc(All(), func(s Stat) bool { return s.Group == l.Group() })
}

// Lead takes a command that was started.
func Lead(cmd *exec.Cmd) *Leader { return &Leader{cmd: cmd} }

// Group is the number of the group.
func (l *Leader) Group() int { return l.cmd.Process.Pid }

// Wait waits until the leader has ended, calls then, which may be nil, while the number is
// still its own, and reaps it.
func (l *Leader) Wait(then func()) error {
	AwaitEnd(l.Group())
	if then != nil {
		then()
	}
	l.mu.Lock()
	l.reaped = true
	l.mu.Unlock()
	return l.cmd.Wait()
}

// Signal signals the group, and wakes members that are stopped, so that they see it.
func (l *Leader) Signal(sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reaped {
		_ = unix.Kill(-l.Group(), sig)
		_ = unix.Kill(-l.Group(), unix.SIGCONT)
	}
}

// AwaitEnd waits until a child of ours has ended. It does not reap it.
func AwaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// Hierarchy is a mounted tree of control groups. In version 1 each controller has a tree of
// its own, in version 2 all have one (cgroups(7)).
type Hierarchy struct {
	Controllers []string // of version 1; {""} for version 2
	Mount       string
	root        string // group that lies there
}

// controllers are all of version 1 (kernel/cgroup), and systemd's own tree.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "devices", "freezer", "net_cls",
	"net_prio",
	"perf_event", "hugetlb", "rdma", "misc",
	Systemd}

// Systemd is what stands for a controller in the tree that has none.
const Systemd = "name=systemd"

// Hierarchies are those that are mounted here.
func Hierarchies() (all []Hierarchy) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil
	}
	for _, m := range mounts {
		h := Hierarchy{Mount: m.MountPoint, root: m.Root}
		switch m.FSType {
		case "cgroup2":
			h.Controllers = []string{""}
		case "cgroup":
			for option, value := range m.SuperOptions {
				if value != "" {
					option += "=" + value
				}
				if slices.Contains(controllers, option) {
					h.Controllers = append(h.Controllers, option)
				}
			}
		}
		if len(h.Controllers) > 0 {
			slices.Sort(h.Controllers)
			all = append(all, h)
		}
	}
	return all
}

// Dir is where a group lies; "" where this mount does not show it.
func (h Hierarchy) Dir(group string) string {
	rest, ok := strings.CutPrefix(path.Clean("/"+group), strings.TrimSuffix(h.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return filepath.Join(h.Mount, rest)
}

// Group is the group that lies in a directory; "" where that is elsewhere.
func (h Hierarchy) Group(dir string) string {
	rest, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(h.Mount, "/")+"/")
	if !ok {
		return ""
	}
	return path.Join("/", h.root, rest)
}
