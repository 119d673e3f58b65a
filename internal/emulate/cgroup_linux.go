package emulate

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// period is that of the quota: 8 ms is a multiple of the tick at 250 and 1000 Hz, and
// the kernel takes no quota below a millisecond (cpu.cfs_quota_us, sched-bwc.rst).
const (
	stay     = 0.1 // share by which a quota may be off before it is written anew
	period   = 8 * time.Millisecond
	minQuota = time.Millisecond
)

// namePrefix starts the names of our groups; the process that made one follows.
const namePrefix = "hostlab-emulate-"

// groups is where groups with a CPU quota can be made.
type groups struct {
	dir string // of the parent
	v2  bool
}

// findGroups finds the parent of new groups: for version 1 the mount of the cpu
// controller, for version 2 the root, which alone may hold processes and groups.
func findGroups() (groups, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return groups{}, err
	}
	g, ok := groupsOf(string(mounts))
	if !ok {
		return groups{}, errors.New("no cgroup file system with the cpu controller is mounted; method stop needs none")
	}
	if g.v2 {
		have, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.subtree_control"))
		if !slices.Contains(strings.Fields(string(have)), "cpu") { // cpuset is another
			return groups{}, fmt.Errorf("the cpu controller is not enabled in %s/cgroup.subtree_control; method stop needs none",
				g.dir)
		}
	}
	if err := unix.Access(g.dir, unix.W_OK); err != nil {
		return groups{}, fmt.Errorf("%s cannot be written (%w): a cgroup needs root or delegation; method stop needs neither",
			g.dir, err)
	}
	return g, nil
}

// groupsOf reads proc_mounts(5). Where both versions are mounted, the one that has the
// cpu controller is version 1.
func groupsOf(mounts string) (g groups, ok bool) {
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		switch f[2] {
		case "cgroup":
			if slices.Contains(strings.Split(f[3], ","), "cpu") {
				return groups{dir: f[1]}, true
			}
		case "cgroup2":
			if !ok {
				g, ok = groups{dir: f[1], v2: true}, true
			}
		}
	}
	return g, ok
}

// group keeps processes to a quota.
type group struct {
	family
	groups
	path    string
	homes   map[int]string    // where a process was before
	written map[string]string // by file, what was written last; nil: nothing
	limit   []write           // the quota
	share   float64           // that limit stands for, in CPUs

	before, throttled time.Duration // throttled time of earlier groups of this path, and of this one
}

func newGroup(root int, whole bool) (*group, error) {
	at, err := findGroups()
	if err != nil {
		return nil, err
	}
	at.sweep()
	g := &group{groups: at, path: filepath.Join(at.dir, namePrefix+strconv.Itoa(os.Getpid())), homes: map[int]string{}}
	g.family = family{root: root, whole: whole, found: g.join}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	return g, nil
}

// sweep removes groups that a killed process has left. They are empty: what was in them
// has ended, or is moved to the parent first.
func (at groups) sweep() {
	left, _ := filepath.Glob(filepath.Join(at.dir, namePrefix+"*"))
	for _, dir := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), namePrefix))
		if err != nil || runs(pid) {
			continue // that of another, which may be one of another user
		}
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, p := range strings.Fields(string(procs)) {
			_ = put(filepath.Join(at.dir, "cgroup.procs"), p)
		}
		_ = os.Remove(dir)
	}
}

// runs reports a process that has not ended, also one that /proc hides (hidepid).
func runs(pid int) bool {
	if s, err := proc.Read(pid); err == nil {
		return !s.Ended()
	}
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) // 0 is no signal: it asks
}

// join moves processes into the group, and remembers where they were. What they start
// is in it from the beginning.
func (g *group) join(pids []int) {
	for _, pid := range pids {
		home := g.home(pid)
		if home == g.path {
			continue
		}
		if put(filepath.Join(g.path, "cgroup.procs"), strconv.Itoa(pid)) == nil {
			g.homes[pid] = home
		}
	}
}

// home is the directory of a process's group, "" where it is not known.
func (g *group) home(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if g.v2 && f[1] == "" || !g.v2 && slices.Contains(strings.Split(f[1], ","), "cpu") {
			return filepath.Join(g.dir, f[2])
		}
	}
	return ""
}

func (g *group) set(speed float64, threads load) error {
	if _, err := os.Stat(g.path); errors.Is(err, fs.ErrNotExist) { // after a release
		if err := os.Mkdir(g.path, 0o755); err != nil {
			return err
		}
		g.written = nil
		g.join(g.pids)
	}
	// Each write of a quota gives the group a whole new one at once (tg_set_cfs_bandwidth in
	// kernel/sched/core.c), so that small changes would let it run all the time.
	share := speed * threads.running
	if speed >= 1 {
		share = math.Inf(1)
	}
	if g.share == 0 || share != g.share && !(math.Abs(share-g.share) < stay*g.share) || g.written == nil {
		g.share, g.limit = share, g.quota(speed, threads.running)
	}
	if g.written == nil {
		g.written = map[string]string{}
	}
	for _, w := range append(slices.Clip(g.limit), g.weight(threads.ready)) {
		if g.written[w.file] == w.value {
			continue
		}
		if err := put(filepath.Join(g.path, w.file), w.value); err != nil {
			return fmt.Errorf("%s: %w", w.file, err)
		}
		g.written[w.file] = w.value
	}
	return nil
}

// write is a value for a file of a group.
type write struct{ file, value string }

// Weights of a group for one thread, and the largest: what a process outside of a group
// has (cgroup-v2.rst, cpu.weight; MAX_SHARES in kernel/sched/sched.h).
const (
	sharesEach, sharesMost = 1024, 262144
	weightEach, weightMost = 100, 10000
)

// weight is what to write so that threads threads of the group get as much of busy
// CPUs as they would by themselves: a group has the weight of one for all of them, and
// others on the host would slow it down more than the policy does.
func (g *group) weight(threads int) write {
	if g.v2 {
		return write{"cpu.weight", fmt.Sprint(min(threads*weightEach, weightMost))}
	}
	return write{"cpu.shares", fmt.Sprint(min(threads*sharesEach, sharesMost))}
}

// quota is what to write for a speed of some running threads.
func (g *group) quota(speed, threads float64) []write {
	p := max(period, time.Duration(float64(minQuota)/speed/threads))
	us, each := time.Duration(speed*float64(p)*threads).Microseconds(), p.Microseconds()
	switch {
	case g.v2 && speed >= 1:
		return []write{{"cpu.max", "max"}}
	case g.v2:
		return []write{{"cpu.max", fmt.Sprintf("%d %d", us, each)}}
	case speed >= 1:
		return []write{{"cpu.cfs_quota_us", "-1"}}
	}
	return []write{{"cpu.cfs_period_us", fmt.Sprint(each)}, {"cpu.cfs_quota_us", fmt.Sprint(us)}}
}

// kept is the throttled time of cpu.stat: throttled_time in ns in version 1
// (sched-bwc.rst), throttled_usec in version 2 (cgroup-v2.rst). Each CPU counts by itself.
// What groups that were removed had is in before.
func (g *group) kept() time.Duration {
	if m, err := proc.Keyed(filepath.Join(g.path, "cpu.stat")); err == nil {
		g.throttled, _ = proc.Throttled(m)
	}
	return g.before + g.throttled
}

// release moves all processes back to where they were, and removes the group.
func (g *group) release() error {
	var err error
	for range 50 { // a fork may add one meanwhile
		procs, rerr := os.ReadFile(filepath.Join(g.path, "cgroup.procs"))
		if errors.Is(rerr, fs.ErrNotExist) {
			return nil
		}
		for _, p := range strings.Fields(string(procs)) {
			pid, _ := strconv.Atoi(p)
			home := g.homes[pid]
			if home == "" {
				home = g.dir
			}
			if perr := put(filepath.Join(home, "cgroup.procs"), p); perr != nil {
				_ = put(filepath.Join(g.dir, "cgroup.procs"), p)
			}
		}
		g.kept()
		if err = os.Remove(g.path); err == nil {
			g.before, g.throttled, g.written = g.before+g.throttled, 0, nil
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("the group %s cannot be removed: %w", g.path, err)
}

// put writes a value to a file of the kernel's that is there.
func put(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
