package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/proc"
)

// readLimits reads what a process may use, by its directory below /proc.
func readLimits(t Tree, dir string) Limits { return readCgroups(t, dir).limits(t, dir) }

func (c cgroups) limits(t Tree, dir string) Limits {
	cpu, memory := c.view("cpu"), c.view("memory")
	limits := t.Text(dir + "/limits")
	l := Limits{
		Affinity:     readAffinity(t, dir),
		OpenFiles:    rlimit(limits, "Max open files", ""),
		LockedBytes:  rlimit(limits, "Max locked memory", "B"),
		Processes:    rlimit(limits, "Max processes", ""),
		CPUQuota:     tightest(t, cpu, "cpu.cfs_quota_us cpu.cfs_period_us", "cpu.max", "", parseQuota),
		MemoryMax:    memory.memoryMax(t),
		MemoryHigh:   memory.memoryHigh(t),
		MemoryEvents: memory.memoryEvents(t),
		MemoryKills:  memory.memoryKills(t),
		CPUSet:       c.view("cpuset").cpuset(t),
	}
	l.MemoryStalled = memory.memoryStalled(t)
	l.CPUPeriods, l.CPUThrottled = cpu.throttled(t)
	// Version 1 puts a process into one group for each controller: name the one
	// that is not the root, since that is the one with limits.
	named := cpu
	if named.path == "" || named.path == "/" && memory.path != "" {
		named = memory
	}
	if l.CgroupV, l.Cgroup = Known(named.version, "", c.file), Known(named.path, "", c.file); named.version == 0 {
		err := cmp.Or(c.err, none("no hierarchy has the controllers cpu and memory"))
		l.CgroupV, l.Cgroup = Unknown[int](c.file, err), Unknown[string](c.file, err)
	}
	return l
}

func readAffinity(t Tree, dir string) Fact[[]int] {
	file := dir + "/status"
	return Convert(t.Text(file), "", func(s string) ([]int, error) {
		v, ok := lineOf(s, "Cpus_allowed_list:")
		if !ok {
			return nil, errors.New("no line Cpus_allowed_list")
		}
		return ParseList(v)
	}).from(file + " Cpus_allowed_list")
}

// rlimit reads a soft limit of /proc/PID/limits, whose columns are separated by
// at least two blanks. The Go runtime raises the soft limit of open files to the
// hard one at start, so that is what hostlab itself has.
// The library's reader needs the process's number in place of "self", which a
// recording does not have.
func rlimit(limits Fact[string], name, unit string) Fact[int64] {
	return Convert(limits, unit, func(s string) (int64, error) {
		rest, ok := lineOf(s, name+"  ")
		soft, _, _ := strings.Cut(rest, " ")
		v, err := strconv.ParseInt(soft, 10, 64)
		switch {
		case !ok:
			return 0, fmt.Errorf("no line %s", name)
		case soft == "unlimited":
			return 0, errNoLimit
		case err != nil || v < 0:
			return 0, fmt.Errorf("expected a number, found %s", clip(soft))
		}
		return v, nil
	}).from(limits.Source + " " + name)
}

// lineOf returns what stands behind the beginning of a line.
func lineOf(text, beginning string) (rest string, ok bool) {
	for line := range strings.Lines(text) {
		if rest, ok = strings.CutPrefix(line, beginning); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

const self = "/proc/self"

// cgroupView is where one controller's files are for a process.
type cgroupView struct {
	version int      // 0: no hierarchy has the controller
	path    string   // as in /proc/PID/cgroup
	dirs    []string // of our group and its ancestors, ours first
	err     error    // why there are none, by
	source  string
}

// cgroups says how the controllers reach a process. Version 1 and 2 may be
// mounted side by side; a controller is in exactly one of them.
type cgroups struct {
	file   string // /proc/PID/cgroup, whose paths begin at the root of our own cgroup namespace
	lines  []proc.Membership
	mounts mountTable
	err    error
	base   string // the name of the group around the process that is asked for; "": its own
}

func readCgroups(t Tree, dir string) cgroups {
	c := cgroups{file: dir + "/cgroup"}
	b, err := t.Read(c.file)
	if err != nil {
		c.err = err
		return c
	}
	c.lines, c.mounts = proc.ParseMemberships(string(b)), readMounts(t, selfMounts)
	switch {
	case strings.TrimSpace(string(b)) == "": // no hierarchy has been mounted since boot
		c.err = worded{"the process is in no cgroup", fs.ErrNotExist}
	case len(c.lines) == 0:
		c.err = errors.New("no line in the form of a cgroup")
	}
	return c
}

// view finds a controller's hierarchy: the version 1 one that names it, else
// version 2.
func (c cgroups) view(controller string) (v cgroupView) {
	v.err, v.source = c.err, c.file
	defer func() {
		if c.base != "" && v.err == nil {
			v = v.around(c.base)
		}
	}()
	for _, l := range c.lines {
		if l.Has(controller) {
			v = c.at(l.Group, 1, controller)
			break
		} else if l.Has("") {
			v = c.at(l.Group, 2, "")
		}
	}
	if v.version == 0 && v.err == nil {
		v.err, v.source = none("the cgroup file system is not mounted here"), selfMounts
	}
	return v
}

// around is the view from the outermost group of a name: inside of a container any group may have its name.
func (v cgroupView) around(base string) cgroupView {
	for at, d := range slices.Backward(v.dirs) {
		if path.Base(d) == base {
			v.dirs = v.dirs[at:]
			return v
		}
	}
	v.dirs, v.err = nil, errors.New("the process is in no group of the container "+clip(base))
	return v
}

// errOutside is why nothing is known of a group's limits.
var errOutside = errors.New("its control group lies outside of what this process sees of them: its limits are not known from here, but on the host")

// at finds the directories of a group, from its own up to the highest one in sight.
//
// A mount may show only a part of the hierarchy (field root), as in a container
// without a cgroup namespace, whose group has the host's path while the mount
// begins at that group. In a namespace, paths begin at its root, and those outside of it with "/..".
// A group that is below no mount is not to be seen, wherever this process itself is.
func (c cgroups) at(group string, version int, controller string) cgroupView {
	v := cgroupView{version: version, path: group, err: none("the cgroup file system is not mounted here"),
		source: selfMounts}
	fsType := map[int]string{1: "cgroup", 2: "cgroup2"}[version]
	for i := len(c.mounts.mounts) - 1; i >= 0; i-- {
		m := &c.mounts.mounts[i]
		if m.fsType != fsType {
			continue
		}
		if _, has := m.option(controller); controller != "" && !has {
			continue
		}
		root := strings.TrimSuffix(m.root, "/")
		below := strings.TrimPrefix(group, root)
		if !within(group, m.root) || strings.HasPrefix(below, "/..") {
			v.err, v.source = errOutside, c.file
			continue
		}
		for d := path.Join(m.point, below); ; d = path.Dir(d) {
			v.dirs = append(v.dirs, d)
			if d == m.point || d == "/" {
				v.err, v.source = nil, c.file
				return v
			}
		}
	}
	return v
}

// errNoLimit is what a file says that sets no limit.
var errNoLimit = none("no limit")

// tightest returns the lowest limit of a group and its ancestors: a limit that is
// set above ours holds for us, too. It is in the files of one version of the interface or the
// other. A level without the file sets no limit; one that may not be read leaves
// the answer open, unless another level limits us.
func tightest[T int64 | float64](t Tree, v cgroupView, first, second, unit string,
	parse func(string) (T, error)) Fact[T] {
	if v.err != nil {
		return Unknown[T](v.source, v.err)
	}
	files := strings.Fields(second)
	if v.version == 1 {
		files = strings.Fields(first)
	}
	best := Unknown[T](v.dirs[0]+"/"+files[0], errNoLimit)
	for _, d := range v.dirs {
		var texts []string
		var errs error
		for _, f := range files {
			b, err := t.Read(d + "/" + f)
			texts, errs = append(texts, string(b)), cmp.Or(errs, err)
		}
		limit := Convert(Fact[string]{strings.Join(texts, " "), "", d + "/" + files[0], StateOf(errs), reason(errs)}, unit,
			parse)
		if lower := limit.State == StateOK && limit.Value < best.Value; lower || best.State != StateOK &&
			limit.State != StateAbsent {
			best = limit
		}
	}
	return best
}

// parseQuota reads "quota period" in microseconds; a quota of max (version 2) or
// -1 (version 1) is no limit.
func parseQuota(s string) (float64, error) {
	f := strings.Fields(s)
	if len(f) == 1 {
		f = append(f, "100000") // the kernel's default period
	}
	if len(f) != 2 {
		return 0, fmt.Errorf("expected quota and period, found %s", clip(s))
	}
	if f[0] == "max" || f[0] == "-1" {
		return 0, errNoLimit
	}
	q, err1 := strconv.ParseInt(f[0], 10, 64)
	p, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0, fmt.Errorf("expected quota and period, found %s", clip(s))
	}
	return float64(q) / float64(p), nil
}

// memoryMax reads the limit in bytes. In version 1, memory.stat also tells the
// tightest limit of ancestors that a container does not see.
func (v cgroupView) memoryMax(t Tree) Fact[int64] {
	f := tightest(t, v, "memory.limit_in_bytes", "memory.max", "B", parseMemoryLimit)
	if v.version != 1 || v.err != nil {
		return f
	}
	stat := v.dirs[0] + "/memory.stat"
	if s, ok := lineOf(t.Text(stat).Or(""), "hierarchical_memory_limit "); ok {
		if max, err := parseMemoryLimit(s); err == nil && (f.State != StateOK || max < f.Value) {
			return Known(max, "B", stat+" hierarchical_memory_limit")
		}
	}
	return f
}

// parseMemoryLimit reads bytes or max. Version 1 writes no limit as the largest
// number of whole pages, 9223372036854771712 with pages of 4 KiB, and a kernel
// may round: any exbibytes are no limit.
func parseMemoryLimit(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "max" {
		return 0, errNoLimit
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("expected a number of bytes or max, found %s", clip(s))
	}
	if v > math.MaxInt64/8 {
		return 0, errNoLimit
	}
	return int64(v), nil
}

// cpuset reads the CPUs that the group may use, as its ancestors leave them to it.
func (v cgroupView) cpuset(t Tree) Fact[[]int] {
	files := []string{"cpuset.cpus.effective"}
	if v.version == 1 {
		files = []string{"cpuset.effective_cpus", "cpuset.cpus"}
	}
	if v.err != nil {
		return Unknown[[]int](v.source, v.err)
	}
	for _, d := range v.dirs {
		for _, name := range files {
			f := t.List(d + "/" + name)
			if l, ok := f.Get(); len(l) > 0 || !ok && f.State != StateAbsent {
				return f
			}
		}
	}
	return Unknown[[]int](v.dirs[0]+"/"+files[0], errNoLimit)
}

// memoryHigh reads from where on the kernel slows the group; version 1 has no such limit.
func (v cgroupView) memoryHigh(t Tree) Fact[int64] {
	if v.version == 1 && v.err == nil {
		return absentFact[int64](v.dirs[0], "version 1 of control groups has none")
	}
	return tightest(t, v, "", "memory.high", "B", parseMemoryLimit)
}

// memoryEvents counts how often a limit of the groups was reached. A group above counts in
// memory.events what happened anywhere below it, so memory.events.local counts there,
// which says what happened at that group's own limit (cgroup-v2.rst; Linux 5.2).
func (v cgroupView) memoryEvents(t Tree) Fact[int64] {
	if v.err != nil {
		return Unknown[int64](v.source, v.err)
	}
	var sum Fact[int64]
	for i, d := range v.dirs {
		var f Fact[int64]
		switch {
		case v.version == 1:
			f = t.Int(d+"/memory.failcnt", "", 1)
		case i == 0 && !t.Exists(d+"/memory.events.local"):
			f = t.eventsIn(d+"/memory.events", "high", "max")
		default:
			f = t.eventsIn(d+"/memory.events.local", "high", "max")
		}
		switch {
		case f.State == StateOK && sum.State == StateOK:
			sum.Value += f.Value
		case sum.State == "" || sum.State == StateAbsent || f.State != StateOK && f.State != StateAbsent:
			sum = f
		}
	}
	return sum
}

// memoryKills counts the processes of the group that were killed since memory ran out, whosever limit it was: each
// counts in the group that it was in, and in those above. Version 1 has the line since Linux 4.13.
func (v cgroupView) memoryKills(t Tree) Fact[int64] {
	switch {
	case v.err != nil:
		return Unknown[int64](v.source, v.err)
	case v.version == 1:
		return t.eventsIn(v.dirs[0]+"/memory.oom_control", "oom_kill")
	}
	return t.eventsIn(v.dirs[0]+"/memory.events", "oom_kill")
}

// memoryStalled reads the group's own pressure, which version 2 alone has, and some kernels only with psi=1.
func (v cgroupView) memoryStalled(t Tree) Fact[float64] {
	switch {
	case v.err != nil:
		return Unknown[float64](v.source, v.err)
	case v.version == 1:
		return absentFact[float64](v.dirs[0], "version 1 of control groups has none")
	}
	return readPressure(t, v.dirs[0]+"/memory.pressure", "full", "avg300")
}

// throttled reads of the group that its quota stopped most in how many periods it ran, and in
// how many of them it was stopped. Each group counts for its own quota alone.
func (v cgroupView) throttled(t Tree) (periods, stopped Fact[int64]) {
	if v.err != nil {
		return Unknown[int64](v.source, v.err), Unknown[int64](v.source, v.err)
	}
	periods = absentFact[int64](v.dirs[0]+"/cpu.stat nr_periods", errNoLimit.Error())
	stopped = absentFact[int64](v.dirs[0]+"/cpu.stat nr_throttled", errNoLimit.Error())
	share := -1.0
	for _, d := range v.dirs {
		p, s := t.eventsIn(d+"/cpu.stat", "nr_periods"), t.eventsIn(d+"/cpu.stat", "nr_throttled")
		if p.State != StateOK && p.State != StateAbsent && periods.State != StateOK {
			periods, stopped = p, s
		}
		if p.Or(0) > 0 && float64(s.Or(0))/float64(p.Value) > share {
			periods, stopped, share = p, s, float64(s.Or(0))/float64(p.Value)
		}
	}
	return periods, stopped
}

// eventsIn adds the counts of some lines such as "nr_periods 17".
func (t Tree) eventsIn(file string, names ...string) Fact[int64] {
	return Convert(t.Text(file), "", func(s string) (int64, error) {
		sum, found := int64(0), false
		for _, name := range names {
			text, ok := lineOf(s, name+" ")
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || sum+n < 0 {
				return 0, fmt.Errorf("expected a count, found %s", clip(text))
			}
			sum, found = sum+n, true
		}
		if !found {
			return 0, none("no line " + strings.Join(names, ", "))
		}
		return sum, nil
	}).from(file + " " + strings.Join(names, " "))
}
