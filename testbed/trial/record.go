//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// scheduled is what 'hostlab assess' says of the scheduler, as far as it is looked at.
type scheduled struct {
	Reason string
	Run    struct{ Value float64 }
	Beside *struct{ Value float64 } `json:"beside_sibling"`
	OnIdle struct{ N int }          `json:"wakeups_idle_cpu"`
	OnBusy struct{ N int }          `json:"wakeups_busy_cpu"`
	Bursts int
	Lost   int `json:"bursts_lost"`
	Cost   struct {
		InWindows int `json:"switches_in_windows"`
	}
}

// Recorded reports that the kernel was asked.
func (s *scheduled) Recorded() bool { return s.Reason == "" && s.Cost.InWindows > 0 }

// recorded loads hostlab's programs into this kernel, on four CPUs of two cores. A process that works and rests is the
// service. Its sibling is idle first and then busy.
func recorded() {
	pid := restless()
	elsewhere()
	service := "pid:" + strconv.Itoa(pid)
	alone := record(service, func(s scheduled) bool { return s.OnIdle.N+s.OnBusy.N > 0 })
	require("the kernel takes the programs", alone.Recorded(), "%s", alone.Reason)
	require("it counts", alone.Cost.InWindows > 0 && alone.OnIdle.N+alone.OnBusy.N > 0 && alone.Bursts > 0 &&
		alone.Lost == 0, "%+v", alone)
	require("the service runs", alone.Run.Value > 0.05 && alone.Run.Value < 1.1, "%+v", alone.Run)
	require("its sibling is idle", alone.Beside != nil && alone.Beside.Value < 0.3*alone.Run.Value, "%+v of %+v",
		alone.Beside, alone.Run)

	const group = "/sys/fs/cgroup/service"
	if err := os.MkdirAll(group+"/below", 0o755); err != nil {
		cannot(err.Error())
	}
	if err := echo(strconv.Itoa(pid), group+"/below/cgroup.procs"); err != nil {
		cannot(err.Error())
	}
	spin()
	busy := func(s scheduled) bool { return s.Beside != nil && s.Beside.Value > 0.8*s.Run.Value }
	beside := record("cgroup:/service", busy)
	require("a control group of version 2 is a service, with those below it", beside.Recorded() && beside.Run.Value > 0.05,
		"%+v", beside)
	require("its sibling is busy", busy(beside), "%+v of %+v", beside.Beside, beside.Run)
	line("row", cat("/proc/sys/kernel/osrelease"), alone.Cost.InWindows,
		fmt.Sprintf("%.3f %.3f %.3f", alone.Run.Value, beside.Run.Value, beside.Beside.Value), failures)
}

// record has the service watched, up to three times until it is shown: a busy machine lets a guest's processes run, and
// sleep, seldom.
func record(service string, shown func(scheduled) bool) scheduled {
	var a struct{ Scheduler scheduled }
	for range 3 {
		r := hostlab("assess", "--only", "service", "--service", service, "--for", "8s", "--format", "json")
		a.Scheduler = scheduled{}
		if err := json.Unmarshal([]byte(r.out), &a); err != nil || r.code != 0 {
			fail("record", "exit %d: %v: %s %s", r.code, err, r.out, r.err)
		}
		if shown(a.Scheduler) {
			break
		}
	}
	return a.Scheduler
}

// restless starts a shell that works and rests on CPU 0; it ends with the guest.
func restless() int {
	cmd := exec.Command("/bin/sh", "-c", "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; usleep 30000; done")
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil {
		cannot(err.Error())
	}
	return cmd.Process.Pid
}

// elsewhere starts what follows on the other core, so that hostlab's own work is not what keeps the sibling busy.
func elsewhere() {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(2)
	set.Set(3)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		cannot(err.Error())
	}
}

// spin keeps CPU 0's sibling busy until the guest ends.
func spin() {
	up := make(chan error)
	go func() {
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(1)
		up <- unix.SchedSetaffinity(0, &set)
		for began := time.Now(); time.Since(began) < time.Hour; {
		}
	}()
	if err := <-up; err != nil {
		cannot(err.Error())
	}
}
