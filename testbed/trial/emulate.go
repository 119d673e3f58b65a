//go:build linux && amd64

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// slowed is a study that slows a shell down by the quota of a control group.
const slowed = "/job/emulated.toml"

const (
	controlGroups = "/sys/fs/cgroup/"
	ourGroups     = controlGroups + "hostlab-emulate-*"
)

// emulated tries the emulated clock on control groups of version 2, which is what a guest has: that the kernel
// throttles, and that nothing stays, also after a kill of hostlab and of its governor with it.
func emulated() {
	r := hostlab("run", slowed, "--yes", "--quiet", "--blocks", "1", "--out", "/run/no")
	require("without the cpu controller it says so", r.code != 0 && strings.Contains(r.err, "cgroup.subtree_control") &&
		strings.Contains(r.err, "method stop"), "exit %d: %s %s", r.code, r.out, r.err)
	if err := echo("+cpu", controlGroups+"cgroup.subtree_control"); err != nil {
		cannot(err.Error())
	}
	before := groupsNow()
	out, err := exec.Command("/job/emulate.test", "-test.v", "-test.timeout", "100s", "-test.run",
		"Home|Elsewhere|AboveItsLimit").CombinedOutput()
	require("a service keeps to its own group's limits, and comes home", err == nil &&
		strings.Count(string(out), "\n--- PASS") >= 4, "%v: %s", err, out)
	requireGroups("a service that was slowed down", before)

	var seen throttling
	r = played("emulated", func(play func()) { seen = watchGroups(play) })
	require("the kernel throttles to the quota", seen.throttled > 0 && seen.quota != "", "%+v", seen)
	requireGroups("a study to its end", before)
	require("the report says that it is emulated", r.code == 11 && strings.Contains(r.out, "n = 1 block, emulated") &&
		!strings.Contains(r.out, "measured"), "exit %d: %s %s", r.code, r.out, r.err)

	groupKilled("hostlab killed", func(hostlab, _ int) []int { return []int{hostlab} })
	requireGroups("hostlab killed", before)
	groupKilled("its governor killed", func(_, governor int) []int { return []int{governor} })
	requireGroups("its governor killed", before)
	groupKilled("both killed", func(hostlab, governor int) []int { return []int{governor, hostlab} })
	require("a group is left when there is nobody to remove it", len(glob(ourGroups)) == 1, "%v", groupsNow())
	played("the next start", func(play func()) { play() })
	requireGroups("the next start", before)
	line("row", "cgroup2", seen.quota, seen.throttled, failures)
}

// played runs the study to its end and returns its report. On a busy machine the guest's CPUs may not run for as long
// as the policy has them run, or when the governor has to look: it is played three times at most.
func played(what string, within func(play func())) (report run) {
	for try := range 3 {
		out := "/run/" + strings.ReplaceAll(what, " ", "-") + strconv.Itoa(try)
		var r run
		within(func() { r = hostlab("run", slowed, "--yes", "--quiet", "--blocks", "1", "--out", out) })
		if r.code != 0 {
			if try == 2 {
				fail(what, "exit %d: %s %s", r.code, r.out, r.err)
			}
			continue
		}
		report = hostlab("report", out, "--exit-status")
		if !strings.Contains(report.out, "contaminated") && !strings.Contains(report.out, "runs fail") {
			break
		}
	}
	return report
}

// groupsNow are the control groups.
func groupsNow() []string { return glob(controlGroups + "*/cgroup.procs") }

// requireGroups requires that there are no other groups than before; what a group held may take a moment to end.
func requireGroups(what string, before []string) {
	var now []string
	for range 500 {
		if now = groupsNow(); slices.Equal(now, before) {
			ok(what + ": no group is left")
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	fail(what, "groups %v, and were %v", now, before)
}

// slowQuota is the quota of a group at the slow level as "us period", "" at full speed. It starts at 2000 of 8000. On a
// busy machine the governor changes it within milliseconds, to make good what it kept too much: to half of that at the
// least (governor.toSet), and never to what would slow one thread no more.
func slowQuota(group string) string {
	q, us := cat(group+"/cpu.max"), 0
	if _, err := fmt.Sscanf(q, "%d 8000", &us); err == nil && us >= 1000 && us < 8000 {
		return q
	}
	return ""
}

// throttling is what was seen of the group.
type throttling struct {
	throttled int    // periods
	quota     string // of a slow level
}

func watchGroups(do func()) (seen throttling) {
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			for _, g := range glob(ourGroups) {
				if q := slowQuota(g); q != "" {
					seen.quota = q
				}
				for l := range strings.Lines(cat(g + "/cpu.stat")) {
					if n, found := strings.CutPrefix(l, "nr_throttled "); found {
						k, _ := strconv.Atoi(strings.TrimSpace(n))
						seen.throttled = max(seen.throttled, k)
					}
				}
			}
		}
	})
	do()
	close(stop)
	wait.Wait()
	return seen
}

// computes says whether a group has processes, at the slow level.
func computes(group string) bool { return slowQuota(group) != "" && cat(group+"/cgroup.procs") != "" }

// groupKilled kills in the middle of a slow level. What was in the group must end.
func groupKilled(what string, whom func(hostlab, governor int) []int) {
	cmd := command("run", slowed, "--yes", "--quiet", "--blocks", "4", "--out", "/run/"+strings.ReplaceAll(what, " ", "-"))
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	group, doomed := "", []int(nil)
	for i := 0; group == "" && i < 3000; i++ {
		time.Sleep(10 * time.Millisecond)
		for _, g := range glob(ourGroups) {
			var governor int // its start follows
			if n, _ := fmt.Sscanf(strings.TrimPrefix(g, strings.TrimSuffix(ourGroups, "*")), "%d-", &governor); n == 0 {
				continue
			}
			// One that notices the death of the other would remove the group before it dies itself: both stand still first.
			if doomed = whom(cmd.Process.Pid, governor); caught(doomed, func() bool { return computes(g) }) {
				group = g
				break
			}
		}
	}
	if group == "" {
		fail(what, "no group with a process and a quota was seen")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return
	}
	inside := map[int]bool{}
	for _, p := range strings.Fields(cat(group + "/cgroup.procs")) {
		n, _ := strconv.Atoi(p)
		inside[n] = true
	}
	for _, err := range signal(doomed, syscall.SIGKILL) {
		fail(what, "%v", err)
	}
	_ = cmd.Wait()
	for pid := range inside { // the shell of that moment, and its like
		for range 250 {
			if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
				delete(inside, pid)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	require(what+": what it had started has ended", len(inside) == 0, "%v", slices.Collect(maps.Keys(inside)))
}
