package host

import (
	"math"
	"testing"

	"hostlab/internal/testkit"
)

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
