package host

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

const rlimits = `-- proc/self/limits --
Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         unlimited            unlimited            bytes     
Max processes             4096                 8192                 processes 
`

func TestReadLimits(t *testing.T) {
	const v1Mounts = `-- proc/self/mountinfo --
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	const v2Mount = "-- proc/self/mountinfo --\n30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	tests := []struct {
		name, archive string
		version       int
		group         string
		quota         Fact[float64]
		memory        Fact[int64]
		cpuset        Fact[[]int]
	}{
		{
			name: "v2: the tightest of nested limits, which is not the innermost",
			archive: v2Mount + `-- proc/self/cgroup --
0::/a/b/c
-- sys/fs/cgroup/a/cpu.max --
400000 100000
-- sys/fs/cgroup/a/b/cpu.max --
150000 100000
-- sys/fs/cgroup/a/b/c/cpu.max --
max 100000
-- sys/fs/cgroup/a/memory.max --
1073741824
-- sys/fs/cgroup/a/b/memory.max --
max
-- sys/fs/cgroup/a/b/c/memory.max --
2147483648
-- sys/fs/cgroup/a/cpuset.cpus.effective --
0-3
`,
			version: 2, group: "/a/b/c",
			quota:  Known(1.5, "", "/sys/fs/cgroup/a/b/cpu.max"),
			memory: Known[int64](1<<30, "B", "/sys/fs/cgroup/a/memory.max"),
			cpuset: Known([]int{0, 1, 2, 3}, "", "/sys/fs/cgroup/a/cpuset.cpus.effective"),
		},
		{
			name: "v2: a namespace whose root has limits",
			archive: v2Mount + "-- proc/self/cgroup --\n0::/\n-- sys/fs/cgroup/cpu.max --\n50000 100000\n-- sys/fs/cgroup/memory.max --\nmax\n" +
				"-- sys/fs/cgroup/cpuset.cpus.effective --\n2\n",
			version: 2, group: "/",
			quota:  Known(0.5, "", "/sys/fs/cgroup/cpu.max"),
			memory: absentFact[int64]("/sys/fs/cgroup/memory.max", "no limit"),
			cpuset: Known([]int{2}, "", "/sys/fs/cgroup/cpuset.cpus.effective"),
		},
		{
			name: "v1 with v2 beside it",
			archive: v1Mounts + `-- proc/self/cgroup --
5:cpuset:/
4:memory:/srv/x
3:cpu,cpuacct:/
0::/
-- sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us --
-1
-- sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us --
100000
-- sys/fs/cgroup/memory/srv/memory.limit_in_bytes --
4294967296
-- sys/fs/cgroup/memory/srv/x/memory.limit_in_bytes --
9223372036854771712
-- sys/fs/cgroup/cpuset/cpuset.effective_cpus --
0-1
`,
			version: 1, group: "/srv/x",
			quota:  absentFact[float64]("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "no limit"),
			memory: Known[int64](4<<30, "B", "/sys/fs/cgroup/memory/srv/memory.limit_in_bytes"),
			cpuset: Known([]int{0, 1}, "", "/sys/fs/cgroup/cpuset/cpuset.effective_cpus"),
		},
		{
			name: "v1 in a container: the mount begins at our group, and memory.stat sees further up",
			archive: `-- proc/self/mountinfo --
32 31 0:29 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu
35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
-- proc/self/cgroup --
4:memory:/docker/ab
3:cpu:/docker/ab
-- sys/fs/cgroup/cpu/cpu.cfs_quota_us --
250000
-- sys/fs/cgroup/cpu/cpu.cfs_period_us --
100000
-- sys/fs/cgroup/memory/memory.limit_in_bytes --
9223372036854771712
-- sys/fs/cgroup/memory/memory.stat --
cache 0
hierarchical_memory_limit 536870912
`,
			version: 1, group: "/docker/ab",
			quota:  Known(2.5, "", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
			memory: Known[int64](512<<20, "B", "/sys/fs/cgroup/memory/memory.stat hierarchical_memory_limit"),
			cpuset: absentFact[[]int]("/proc/self/mountinfo", "the cgroup file system is not mounted here"),
		},
		{
			name: "a limit that may not be read leaves the answer open",
			archive: v2Mount + "-- proc/self/cgroup --\n0::/a\n-- sys/fs/cgroup/a/cpu.max --\n!errno EACCES\n" +
				"-- sys/fs/cgroup/a/memory.max --\nabc\n-- sys/fs/cgroup/a/cpuset.cpus.effective --\n0-x\n",
			version: 2, group: "/a",
			quota: Fact[float64]{Source: "/sys/fs/cgroup/a/cpu.max", State: StateDenied, Reason: "permission denied"},
			memory: Fact[int64]{Source: "/sys/fs/cgroup/a/memory.max", State: StateError,
				Reason: `expected a number of bytes or max, found "abc"`},
			cpuset: Fact[[]int]{Source: "/sys/fs/cgroup/a/cpuset.cpus.effective", State: StateError,
				Reason: `expected a list like 0-3,8, found "0-x"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := readLimits(tree(t, tt.archive+rlimits+"-- proc/self/status --\nName:\tx\nCpus_allowed_list:\t0-1,4\n"), self)
			want := Limits{
				Affinity: Known([]int{0, 1, 4}, "", "/proc/self/status Cpus_allowed_list"),
				CgroupV:  Known(tt.version, "", "/proc/self/cgroup"), Cgroup: Known(tt.group, "", "/proc/self/cgroup"),
				CPUQuota: tt.quota, MemoryMax: tt.memory, CPUSet: tt.cpuset,
				OpenFiles:   Known[int64](1024, "", "/proc/self/limits Max open files"),
				LockedBytes: absentFact[int64]("/proc/self/limits Max locked memory", "no limit"),
				Processes:   Known[int64](4096, "", "/proc/self/limits Max processes"),
			}
			others := cmpopts.IgnoreFields(Limits{}, "CPUPeriods", "CPUThrottled", "MemoryHigh", "MemoryEvents", "MemoryKills", "MemoryStalled")
			testkit.Is(t, "", cmp.Diff(want, l, others), "-want +got)")
		})
	}
}

// A group that is not below what is mounted here has limits of its own, whichever this process has.
func TestLimitsOutOfSight(t *testing.T) {
	const ours = "-- sys/fs/cgroup/cpu.max --\n20000 100000\n-- sys/fs/cgroup/memory.max --\n1048576\n-- sys/fs/cgroup/memory.events --\noom_kill 3\n" +
		"-- sys/fs/cgroup/cpuset.cpus.effective --\n2\n-- sys/fs/cgroup/cpu.stat --\nnr_periods 9\nnr_throttled 9\n"
	for name, c := range map[string]struct {
		mount, group string
		seen         bool
	}{
		"a sidecar's server":                   {"/", "/../cri-containerd-1111.scope", false},
		"another container, without namespace": {"/docker/ab", "/docker/cd", false},
		"a name that begins alike":             {"/docker/ab", "/docker/abc", false},
		"the whole, for a namespace's process": {"/..", "/", false},
		"the parent of a namespace is mounted": {"/..", "/../x", true},
		"its own group":                        {"/docker/ab", "/docker/ab", true},
		"all":                                  {"/", "/", true},
	} {
		tr := tree(t, "-- proc/self/mountinfo --\n30 23 0:28 "+c.mount+" /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n-- proc/9/cgroup --\n0::"+c.group+"\n"+ours)
		l := readLimits(tr, "/proc/9")
		states := []State{l.CPUQuota.State, l.CPUThrottled.State, l.MemoryMax.State, l.MemoryHigh.State, l.MemoryKills.State, l.MemoryEvents.State, l.MemoryStalled.State, l.CPUSet.State}
		for i, state := range states {
			testkit.Is(t, !c.seen, (state == StateError), name, "limit", i, state, l.CPUQuota.Reason)
		}
		testkit.Is(t, c.group, l.Cgroup.Value, name, "group", l.Cgroup)
	}
}

func TestReadLimitsWithoutProc(t *testing.T) {
	l := readLimits(tree(t, "-- x --\n"), self)
	for _, s := range []State{l.Affinity.State, l.CgroupV.State, l.CPUQuota.State, l.CPUSet.State, l.MemoryMax.State, l.OpenFiles.State} {
		testkit.Is(t, StateMasked, s, l)
	}
	l = readLimits(tree(t, "-- proc/self/cgroup --\n"), self)
	if l.CgroupV.State != StateAbsent || l.CgroupV.Reason != "the process is in no cgroup" || l.CPUQuota.State != StateAbsent {
		t.Errorf("%+v", l)
	}
	l = readLimits(tree(t, "-- proc/self/cgroup --\ngarbage\n-- proc/self/limits --\nx\n-- proc/self/status --\n!errno EACCES\n"), self)
	if l.CgroupV.State != StateError || l.OpenFiles.State != StateError || l.Affinity.State != StateDenied {
		t.Errorf("%+v", l)
	}
}

func FuzzCgroup(f *testing.F) {
	f.Add("4:memory:/a/b\n0::/\n", "10000 100000", "9223372036854771712")
	f.Add("1:cpu,cpuacct:/../x", "max", "max")
	f.Fuzz(func(t *testing.T, lines, quota, memory string) {
		c := cgroups{lines: proc.ParseMemberships(lines), mounts: mountTable{mounts: parseMounts("1 0 0:1 / / rw - cgroup2 c rw\n2 0 0:1 /a /m rw - cgroup c rw,memory")}}
		for _, name := range []string{"cpu", "memory"} {
			v := c.view(name)
			if len(v.dirs) > 0 && v.dirs[len(v.dirs)-1] != "/" && v.dirs[len(v.dirs)-1] != "/m" {
				t.Errorf("the last ancestor is %s", v.dirs[len(v.dirs)-1])
			}
		}
		if q, err := parseQuota(quota); err == nil && !(q > 0) {
			t.Errorf("quota %v of %q", q, quota)
		}
		if m, err := parseMemoryLimit(memory); err == nil && (m < 0 || m > 1<<60) {
			t.Errorf("limit %v of %q", m, memory)
		}
	})
}

// TestRequestOf: a weight stands for one request or another, by the runtime's formula. runc 1.3.1 made 77 of 2,000
// shares, and 1.4.0-rc.1 170 (opencontainers/runc issue 4896).
func TestRequestOf(t *testing.T) {
	for _, c := range []struct {
		weight      int64
		cpus, later float64 // of one of which it was made
	}{{77, 2000. / 1024, 0}, {170, 0, 2000. / 1024}, {39, 1, 0}, {100, 0, 1}, {20, 0.5, 0}, {59, 0, 0.5},
		{10000, 256, 256}, {2, 0.04, 0}} {
		r, err := requestOf(c.weight)
		near := func(got, want float64) bool { return want == 0 || math.Abs(got-want) <= 0.02+0.02*want }
		if err != nil || !near(r.CPUs, c.cpus) || !near(r.Later, c.later) {
			t.Errorf("weight %d: %+v, %v; want %.3f, %.3f", c.weight, r, err, c.cpus, c.later)
		}
	}
	if _, err := requestOf(1); StateOf(err) != StateAbsent {
		t.Errorf("weight 1: %v, want no request", err)
	}
	for _, w := range []int64{0, -1, 10001} {
		if r, err := requestOf(w); StateOf(err) != StateError {
			t.Errorf("weight %d: %+v, %v", w, r, err)
		}
	}
}

// TestNoRequest: the kernel gives every group a weight, which nobody asked for.
func TestNoRequest(t *testing.T) {
	for _, archive := range []string{
		"-- proc/self/mountinfo --\n30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n-- proc/7/cgroup --\n0::/docker/ab\n" +
			"-- sys/fs/cgroup/docker/ab/cpu.weight --\n100\n",
		"-- proc/self/mountinfo --\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n-- proc/7/cgroup --\n1:cpu:/docker/ab\n" +
			"-- sys/fs/cgroup/cpu/docker/ab/cpu.shares --\n1024\n",
	} {
		if c := ReadClaims(tree(t, archive), 7, "web", "/docker/ab", false); c.Request.State != StateAbsent {
			t.Errorf("a container of docker: %+v", c.Request)
		}
		if c := ReadClaims(tree(t, archive), 7, "web", "/docker/ab", true); c.Request.State != StateOK {
			t.Errorf("a container of a pod: %+v", c.Request)
		}
	}
}

// TestClaimsOutermost: a group inside has the container's own name, and looser limits; a process that has left has none.
func TestClaimsOutermost(t *testing.T) {
	const archive = "-- proc/self/mountinfo --\n30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n-- proc/7/cgroup --\n0::/docker/ab/x/ab\n" +
		"-- sys/fs/cgroup/docker/ab/cpu.weight --\n39\n-- sys/fs/cgroup/docker/ab/x/ab/cpu.weight --\n10000\n" +
		"-- sys/fs/cgroup/docker/ab/memory.events --\noom_kill 3\n-- sys/fs/cgroup/docker/ab/x/ab/memory.events --\noom_kill 0\n" +
		"-- sys/fs/cgroup/docker/ab/hugetlb.2MB.max --\n0\n"
	c := ReadClaims(tree(t, archive), 7, "web", "/docker/ab", true)
	if r, _ := c.Request.Get(); c.Limits.MemoryKills.Or(0) != 3 || math.Abs(r.CPUs-1) > 0.02 || len(c.Huge) != 1 {
		t.Errorf("%+v", c)
	}
	c = ReadClaims(tree(t, archive), 7, "web", "/docker/cd", true)
	for what, state := range map[string]State{"request": c.Request.State, "CPU": c.Limits.CPUQuota.State, "memory": c.Limits.MemoryMax.State,
		"periods": c.Limits.CPUPeriods.State, "kills": c.Limits.MemoryKills.State, "CPUs": c.Limits.CPUSet.State} {
		testkit.Is(t, StateError, state, what, "of a container that the process is not in")
	}
	testkit.Is(t, 0, len(c.Huge), c.Huge)
}

// TestReadClaims: the limits are those of the container's group and of its pod's, whatever group inside a process is
// in.
func TestReadClaims(t *testing.T) {
	const pod = "/kubepods/burstable/pod81e09ae0-12ec-4ec5-94b8-51cda7906370"
	v2 := "-- proc/self/mountinfo --\n30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n-- proc/7/cgroup --\n0::" + pod + "/ab/inner\n" +
		"-- sys/fs/cgroup" + pod + "/ab/inner/cpu.weight --\n100\n-- sys/fs/cgroup" + pod +
		"/ab/inner/cpu.max --\nmax 100000\n" +
		"-- sys/fs/cgroup" + pod + "/ab/cpu.weight --\n20\n-- sys/fs/cgroup" + pod + "/ab/cpu.max --\n150000 100000\n" +
		"-- sys/fs/cgroup" + pod + "/ab/hugetlb.2MB.max --\nmax\n-- sys/fs/cgroup" + pod +
		"/ab/hugetlb.2MB.rsvd.max --\n7\n" +
		"-- sys/fs/cgroup" + pod + "/hugetlb.2MB.max --\n0\n-- sys/fs/cgroup" + pod + "/memory.max --\n1073741824\n"
	v1 := "-- proc/self/mountinfo --\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"34 31 0:31 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n" +
		"-- proc/7/cgroup --\n3:hugetlb:" + pod + "/ab\n2:memory:" + pod + "/ab\n1:cpu:" + pod + "/ab\n" +
		"-- sys/fs/cgroup/cpu" + pod + "/ab/cpu.shares --\n512\n-- sys/fs/cgroup/cpu" + pod +
		"/ab/cpu.cfs_quota_us --\n150000\n" +
		"-- sys/fs/cgroup/cpu" + pod + "/ab/cpu.cfs_period_us --\n100000\n-- sys/fs/cgroup/memory" + pod +
		"/memory.limit_in_bytes --\n1073741824\n" +
		"-- sys/fs/cgroup/hugetlb" + pod + "/ab/hugetlb.2MB.limit_in_bytes --\n0\n"
	for version, archive := range map[int]string{1: v1, 2: v2} {
		c := ReadClaims(tree(t, archive), 7, "postgres", pod+"/ab", true)
		r, _ := c.Request.Get()
		if c.Limits.CPUQuota.Or(0) != 1.5 || c.Limits.MemoryMax.Or(0) != 1<<30 || math.Abs(r.CPUs-0.5) > 0.02 ||
			c.Limits.CgroupV.Or(0) != version {
			t.Errorf("version %d: %+v, request %+v", version, c.Limits, c.Request)
		}
		if len(c.Huge) != 1 || c.Huge[0].Size != "2MB" || c.Huge[0].Bytes.Value != 0 || c.Huge[0].Bytes.State != StateOK {
			t.Errorf("version %d: huge pages %+v", version, c.Huge)
		}
	}
	// Not known is no limit of 0.
	c := ReadClaims(tree(t, "-- x --\n"), 7, "postgres", pod+"/ab", true)
	if c.Request.State == StateOK || c.Limits.CPUQuota.State == StateOK || len(c.Huge) != 0 {
		t.Errorf("%+v", c)
	}
}
