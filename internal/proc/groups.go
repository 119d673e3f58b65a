package proc

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

// mostGroups is how many control groups below one are read: a host of containers has thousands.
const mostGroups = 10000

// InGroups lists the processes in control groups, by their directories, and in all below them.
func InGroups(dirs ...string) (pids []int) {
	seen := 0
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // a group may end while it is read
			}
			if seen++; seen > mostGroups {
				return fs.SkipAll
			}
			// A threaded group of version 2 lists no processes but those of its root (cgroup-v2.rst).
			b, _ := os.ReadFile(filepath.Join(at, "cgroup.procs"))
			for f := range strings.FieldsSeq(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			return nil
		})
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// Membership is the control group of a process in one hierarchy, a line of /proc/PID/cgroup (cgroups(7)).
type Membership struct {
	Controllers []string // as a Hierarchy has them
	Group       string   // from the root of our own cgroup namespace; one outside of it begins with /..
}

// Has reports whether the hierarchy has a controller; "" is version 2.
func (m Membership) Has(controller string) bool { return slices.Contains(m.Controllers, controller) }

// Memberships are the groups of a process.
func Memberships(pid int) ([]Membership, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return ParseMemberships(string(b)), err
}

// ParseMemberships reads lines such as "4:memory:/a/b", or "0::/a/b" of version 2. Others are left out.
func ParseMemberships(text string) (list []Membership) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		if _, err := strconv.ParseUint(f[0], 10, 64); err == nil {
			list = append(list, Membership{strings.Split(f[1], ","), f[2]})
		}
	}
	return list
}

// Taker is a program that used CPUs: processes of one name in one control group.
type Taker struct {
	Name string `json:"name"`
	PID  int    `json:"pid"` // of the process that used most
	// PIDs of its other processes, those that used most first: at most maxOthers
	Others []int `json:"others,omitempty"`
	// Sessions are a process for each of their sessions: its leader, which lives longer, or else one of them
	Sessions  []int   `json:"sessions,omitempty"`
	Processes int     `json:"processes"`
	Group     string  `json:"group"` // their control group; "": the root, or not known
	Seconds   float64 `json:"seconds"`
	Kernel    bool    `json:"kernel"` // threads of the kernel, which work for programs
	// Reaped are those of the seconds that programs took which it had started, and which have ended.
	Reaped float64 `json:"reaped,omitempty"`
	// Starter is what has started its processes, where most of its seconds are of some that came meanwhile: the nearest
	// ancestor that was there before. nil: most were there before, or only the first process was.
	Starter *Starter `json:"starter,omitempty"`
}

// Starter is a process that starts others.
type Starter struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	// Brief is set where others that it had started came and went meanwhile, as compilers do.
	Brief bool `json:"brief"`
}

// maxOthers is how many more processes of a program are kept: a command that names more is longer than a screen is
// wide.
const maxOthers = 15

// Sharing is how the scheduler divides CPUs between two processes.
type Sharing struct {
	By   Divides `json:"by"`
	Idle bool    `json:"idle"` // the first runs at the lowest priority that there is (SCHED_IDLE)
}

// Divides says between which units CPUs are divided first.
type Divides string

// Units of the scheduler (sched(7)). "": not known.
const (
	ByThread  Divides = "thread"  // a thread's priority counts against the other's
	BySession Divides = "session" // autogroups: that of a session
	ByGroup   Divides = "group"   // weights of control groups
)

// PIDs are those of its processes that are named, the one that used most first.
func (t Taker) PIDs() []int { return append([]int{t.PID}, t.Others...) }

// Unit is the systemd unit or the container that a control group is, as it is called by the tools that limit it; "":
// neither.
func (t Taker) Unit() string {
	parts := strings.Split(t.Group, "/")
	for _, p := range slices.Backward(parts) {
		if strings.HasSuffix(p, ".service") && !strings.HasPrefix(p, "user@") || strings.HasSuffix(p, ".scope") &&
			!strings.HasPrefix(p, "session-") {
			return p
		}
	}
	return ""
}

// Census is all processes that there are.
type Census struct {
	all     []Stat
	groupOf func(pid int) string
}

// TakeCensus lists the processes that there are. Control groups are asked for where they matter: of those that used a
// CPU.
func TakeCensus(groupOf func(pid int) string) Census {
	all, _ := Recent()
	return Census{all, groupOf}
}

// Takers are the programs that have used CPUs since an earlier census, the largest first, without the processes that
// ours holds. A process that came and went is counted with its parent.
func (c Census) Takers(before Census, ours func(s Stat, group string) bool) (list []Taker) {
	type key struct{ name, group string }
	then, parents := map[Identity]Stat{}, map[int]int{}
	for _, s := range before.all {
		parents[s.PID] = s.Parent
		then[s.Identity()] = s
	}
	used, reaped, was := map[int]float64{}, map[int]float64{}, map[int]bool{}
	lives := func(pid int) bool { _, is := used[pid]; return is }
	for _, s := range c.all {
		old, known := then[s.Identity()]
		delete(then, s.Identity())
		reaped[s.PID] += (s.Reaped - old.Reaped).Seconds()
		used[s.PID] += (s.CPU - old.CPU + s.Reaped - old.Reaped).Seconds()
		was[s.PID] = known
	}
	for _, gone := range then { // what it had used by then is not of this time
		if at := heir(gone.Parent, parents, lives); at != 0 {
			used[at] -= (gone.CPU + gone.Reaped).Seconds()
			reaped[at] -= (gone.CPU + gone.Reaped).Seconds()
		}
	}
	byUse := slices.SortedStableFunc(slices.Values(c.all),
		func(a, b Stat) int { return cmp.Compare(used[b.PID], used[a.PID]) })
	found, came := map[key]*Taker{}, map[*Taker]float64{}
	for _, s := range byUse {
		seconds := used[s.PID]
		if seconds <= 0 {
			continue
		}
		group := c.groupOf(s.PID)
		if ours(s, group) {
			continue
		}
		k, kernel := key{s.Name, group}, s.PID == kthreadd || s.Parent == kthreadd && !errand.MatchString(s.Name)
		if kernel {
			k = key{"the kernel's threads", ""}
		}
		t := found[k]
		if t == nil {
			t = &Taker{Name: k.name, Group: k.group, Kernel: kernel, PID: s.PID}
			found[k] = t
		} else if len(t.Others) < maxOthers && !kernel {
			t.Others = append(t.Others, s.PID)
		}
		t.Seconds += seconds
		t.Reaped += min(max(0, reaped[s.PID]), seconds)
		if !was[s.PID] {
			came[t] += seconds
		}
		t.Processes++
		leads := s.PID
		if lives(s.Session) && s.Session > 1 {
			leads = s.Session
		}
		if !slices.Contains(t.Sessions, leads) && len(t.Sessions) <= maxOthers && !kernel {
			t.Sessions = append(t.Sessions, leads)
		}
	}
	for _, t := range slices.SortedFunc(maps.Values(found), func(a, b *Taker) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	}) {
		if came[t] > t.Seconds/2 && !t.Kernel {
			t.Starter = c.starter(t.PID, was)
		}
		if by := t.Starter; by != nil {
			by.Brief = reaped[by.PID] >= 0.1*came[t]
		}
		list = append(list, *t)
	}
	return list
}

// errand matches threads of the kernel that work for no program, and leave their CPU to others like one: who merges
// pages, who makes large ones, and who compares the disks of an array.
var errand = lazyre.New(`^(ksmd|khugepaged|kcompactd\d+|md\d+_(resync|recovery|check|reshape))$`)

// entrances let people in, who need them to look for a cause: nobody slows them down.
var entrances = []string{"sshd", "login", "systemd"}

// starter is the nearest ancestor of a process that was there before; nil: the system's first one, an entrance, or none
// is seen.
func (c Census) starter(pid int, was map[int]bool) *Starter {
	parents, names := map[int]int{}, map[int]string{}
	for _, s := range c.all {
		parents[s.PID], names[s.PID] = s.Parent, s.Name
	}
	for range deepest {
		if pid = parents[pid]; pid <= 1 || slices.Contains(entrances, names[pid]) {
			return nil
		}
		if was[pid] {
			return &Starter{PID: pid, Name: names[pid]}
		}
	}
	return nil
}

// Below are the processes that descend from one of the roots, and the roots.
func (c Census) Below(roots ...int) map[int]bool {
	out := map[int]bool{}
	for _, s := range Below(c.all, roots...) {
		out[s.PID] = true
	}
	return out
}
