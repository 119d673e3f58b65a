package emulate

import (
	"cmp"
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

// namePrefix starts the names of our groups. The process that made one and when it started follow, since its number
// will be another's (pid_max).
const namePrefix = "hostlab-emulate-"

// groups is the hierarchy of control groups in which a CPU quota can be had.
type groups struct {
	dir string // where it is mounted
	v2  bool
}

// findGroups finds the hierarchy of the cpu controller.
func findGroups() (groups, error) {
	g, ok := groupsOf(proc.Hierarchies())
	if !ok {
		return groups{}, errors.New("no cgroup file system with the cpu controller is mounted; method stop needs none")
	}
	return g, nil
}

// usableFor finds the control group of a process, and says why no group below it can have a quota.
func usableFor(pid int) (at groups, home string, err error) {
	if at, err = findGroups(); err != nil {
		return at, "", err
	}
	if home, err = at.of(pid); err != nil {
		return at, "", err
	}
	if at.v2 {
		file := "cgroup.controllers"
		if home == at.dir { // it has all controllers, and alone may hold processes beside groups
			file = "cgroup.subtree_control"
		}
		have, _ := os.ReadFile(filepath.Join(home, file))
		if !slices.Contains(strings.Fields(string(have)), "cpu") { // cpuset is another
			return at, "", fmt.Errorf("the cpu controller is not enabled in %s; method stop needs none",
				filepath.Join(home, file))
		}
	}
	if err := unix.Access(home, unix.W_OK); err != nil {
		return at, "", fmt.Errorf("%s cannot be written (%w): a cgroup needs root or delegation; method stop needs neither",
			home, err)
	}
	return at, home, nil
}

// of is the control group of a process, as a directory.
func (at groups) of(pid int) (string, error) {
	list, err := proc.Memberships(pid)
	if err != nil {
		return "", err
	}
	path, controller := "", "cpu"
	if at.v2 {
		controller = ""
	}
	for _, m := range list {
		if m.Has(controller) {
			path = m.Group
		}
	}
	dir := filepath.Join(at.dir, path)
	if _, err := os.Stat(dir); path == "" || strings.HasPrefix(path, "/..") || err != nil { // cgroup_namespaces(7)
		return "", fmt.Errorf("the control group of process %d, %q, cannot be seen in %s; method stop needs none", pid, path,
			at.dir)
	}
	return dir, nil
}

// groupsOf picks a hierarchy. Where both versions are mounted, the one that has the
// cpu controller is version 1.
func groupsOf(all []proc.Hierarchy) (g groups, ok bool) {
	for _, h := range all {
		switch {
		case slices.Contains(h.Controllers, "cpu"):
			return groups{dir: h.Mount}, true
		case h.Controllers[0] == "" && !ok:
			g, ok = groups{dir: h.Mount, v2: true}, true
		}
	}
	return g, ok
}

// group keeps processes to a quota. It stands in the group in which they are, so that all limits of that stay in
// force. Its parent is where they and what they start belong, also for a process that finds them after a kill. In
// version 2 it is threaded: only then may its parent hold processes, too, as the reload of a systemd unit starts them
// (cgroup-v2.rst, "Threads").
type group struct {
	family
	groups
	home    string
	path    string
	stray   error             // a process that is elsewhere
	written map[string]string // by file, what was written last; nil: nothing
	limit   []write           // the quota
	share   float64           // that limit stands for, in CPUs

	before, throttled time.Duration // throttled time of earlier groups of this path, and of this one
}

func newGroup(root int, whole bool) (*group, error) {
	at, home, err := usableFor(root)
	if err != nil {
		return nil, err
	}
	if _, err := Sweep(); err != nil {
		return nil, err
	}
	g := &group{groups: at, home: home, path: filepath.Join(home, nameOf(os.Getpid()))}
	g.family = family{root: root, whole: whole, found: g.join}
	return g, g.make()
}

func (g *group) make() error {
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return err
	}
	g.written = nil
	if !g.v2 || g.home == g.dir {
		return nil
	}
	err := put(filepath.Join(g.path, "cgroup.type"), "threaded")
	if err == nil {
		err = put(filepath.Join(g.home, "cgroup.subtree_control"), "+cpu")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("no group with a quota can be made in %s: %w; method stop needs none", g.home, err),
			g.dissolve(g.path))
	}
	return nil
}

// Left is a group whose governor was killed: what is in it is still kept to a quota.
type Left struct {
	Group     string // its directory; the processes belong into its parent
	Processes int
}

// Leftovers lists the groups of governors that were killed.
func Leftovers() (list []Left) {
	at, err := findGroups()
	if err != nil {
		return nil
	}
	return at.left()
}

// nameOf is the name of a process's group.
func nameOf(pid int) string {
	s, _ := proc.Read(pid)
	return fmt.Sprintf("%s%d-%d", namePrefix, pid, s.Started)
}

// Ours reports a group that this user may remove.
func Ours(l Left) bool { return unix.Access(filepath.Dir(l.Group), unix.W_OK) == nil }

func (at groups) left() (list []Left) {
	_ = filepath.WalkDir(at.dir, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // a group may be removed meanwhile
		}
		var pid int
		var started int64
		if n, _ := fmt.Sscanf(d.Name(), namePrefix+"%d-%d", &pid, &started); n < 2 || runs(pid, started) {
			return nil
		}
		// Of root or ours: another user who owns a part of the tree may give any name.
		var s unix.Stat_t
		if err := unix.Lstat(dir, &s); err == nil && (s.Uid == 0 || int(s.Uid) == os.Geteuid()) {
			list = append(list, Left{dir, processes(at.members(dir))})
		}
		return fs.SkipDir
	})
	return list
}

// members are the processes of a group, or their threads: a threaded group does not tell its processes, and takes each
// thread for its process.
func (at groups) members(dir string) []string {
	file := "cgroup.procs"
	if at.v2 {
		file = "cgroup.threads"
	}
	b, _ := os.ReadFile(filepath.Join(dir, file))
	return strings.Fields(string(b))
}

// processes counts the processes among threads: /proc lists those alone.
func processes(members []string) (n int) {
	all, _ := proc.Numbers()
	for _, m := range members {
		if pid, err := strconv.Atoi(m); err == nil && slices.Contains(all, pid) {
			n++
		}
	}
	return n
}

// Sweep brings the processes of groups whose governors were killed back to where they were, and removes these groups.
func Sweep() (brought []Left, err error) {
	at, err := findGroups()
	if err != nil {
		return nil, nil //nolint:nilerr // where there are none, nothing is left
	}
	for _, l := range at.left() {
		if derr := at.dissolve(l.Group); derr != nil {
			err = errors.Join(err, derr)
			continue
		}
		brought = append(brought, l)
	}
	return brought, err
}

// dissolve moves what is in a group to its parent, and removes it.
func (at groups) dissolve(dir string) (err error) {
	home := filepath.Dir(dir)
	for range 50 { // a fork may add one meanwhile
		var refused error
		for _, p := range at.members(dir) {
			if perr := put(filepath.Join(home, "cgroup.procs"), p); perr != nil && !errors.Is(perr, unix.ESRCH) {
				refused = perr
			}
		}
		if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return at.restoreHome(home)
		}
		err = cmp.Or(refused, err)
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("the group %s cannot be removed: %w", dir, err)
}

// restoreHome takes back what make has enabled. A group that holds processes had no controllers for groups below,
// unless it has other threaded ones.
func (at groups) restoreHome(home string) error {
	if !at.v2 || home == at.dir {
		return nil
	}
	entries, err := os.ReadDir(home)
	if err != nil || slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return nil //nolint:nilerr // it has gone, too
	}
	return put(filepath.Join(home, "cgroup.subtree_control"), "-cpu")
}

// runs reports a process that began then and has not ended, also one that /proc hides (hidepid).
func runs(pid int, started int64) bool {
	if s, err := proc.Read(pid); err == nil {
		return s.Started == started && !s.Ended()
	}
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) // 0 is no signal: it asks
}

// join moves processes into the group. What they start is in it from the beginning.
func (g *group) join(pids []int) {
	for _, pid := range pids {
		switch in, err := g.of(pid); {
		case err != nil || in == g.path: // it has ended, or its parent was here
		case !g.v2 && in == g.dir && in != g.home: // so version 1 shows a process that is ending (cgroup_exit)
		case in != g.home:
			g.stray = fmt.Errorf("process %d is in the control group %s, and the first one in %s; method stop slows both down",
				pid, in, g.home)
		default:
			_ = put(filepath.Join(g.path, "cgroup.procs"), strconv.Itoa(pid)) // one of another real-time budget stays
		}
	}
}

func (g *group) set(speed float64, threads load) error {
	if _, err := os.Stat(g.path); errors.Is(err, fs.ErrNotExist) { // after a release
		if err := g.make(); err != nil {
			return err
		}
		g.join(g.pids)
	}
	if g.stray != nil {
		return g.stray
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
		if err := g.put(w); err != nil {
			return fmt.Errorf("%s: %w", w.file, err)
		}
		g.written[w.file] = w.value
	}
	return nil
}

// put writes a value. Version 1 refuses a quota above that of a group further up (__cfs_schedulable in
// kernel/sched/core.c), which then is the one in force; with a new period, that may be the old quota.
func (g *group) put(w write) error {
	err := put(filepath.Join(g.path, w.file), w.value)
	if g.v2 || !errors.Is(err, unix.EINVAL) {
		return err
	}
	if err := put(filepath.Join(g.path, "cpu.cfs_quota_us"), "-1"); err != nil || w.file == "cpu.cfs_quota_us" {
		return err
	}
	return put(filepath.Join(g.path, w.file), w.value)
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
	us := max(time.Duration(speed*float64(p)*threads), minQuota).Microseconds() // a product may fall a little short of it
	each := p.Microseconds()
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
	g.kept()
	if err := g.dissolve(g.path); err != nil {
		return err
	}
	g.before, g.throttled, g.written = g.before+g.throttled, 0, nil
	return nil
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
