//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scheduled is what 'hostlab record' prints as JSON, as far as it is looked at.
type scheduled struct {
	Recorded bool
	Reason   string
	Run      struct{ Value float64 }
	Beside   *struct{ Value float64 } `json:"beside_sibling"`
	Wakeups  struct {
		Idle struct{ N int } `json:"idle_cpu"`
		Busy struct{ N int } `json:"busy_cpu"`
	}
	Bursts struct{ N, Lost int }
	Cost   struct {
		InWindows int `json:"switches_in_windows"`
	}
}

// recorded loads hostlab's programs into this kernel, on four CPUs of two cores. A process that works and rests is the
// service. Its sibling is idle first and then busy.
func recorded() {
	pid := restless(0)
	service := "pid:" + strconv.Itoa(pid)
	time.Sleep(time.Second)
	rounds0, cpu0 := used(pid)
	alone := record(service)
	require("the kernel takes the programs", alone.Recorded, "%s", alone.Reason)
	require("it counts", alone.Cost.InWindows > 0 && alone.Wakeups.Idle.N+alone.Wakeups.Busy.N > 0 && alone.Bursts.N > 0 && alone.Bursts.Lost == 0, "%+v", alone)
	require("the service runs for a part of the time", alone.Run.Value > 0.05 && alone.Run.Value < 0.95, "%+v", alone.Run)
	rounds1, cpu1 := used(pid)
	mean, n := meanBurst(burstFile)
	truth := (cpu1 - cpu0) / (rounds1 - rounds0)
	require("bursts are as long as it makes them", n > 20 && mean > 0.8*truth && mean < 1.2*truth, "%d bursts of %.4f s on average, and %.4f s of CPU time in each of %.0f rounds", n, mean, truth, rounds1-rounds0)
	require("its sibling is idle", alone.Beside != nil && alone.Beside.Value < 0.3*alone.Run.Value, "%+v of %+v", alone.Beside, alone.Run)

	const group = controlGroups + "service"
	if err := os.MkdirAll(group+"/below", 0o755); err != nil {
		cannot(err.Error())
	}
	if err := echo(strconv.Itoa(pid), group+"/below/cgroup.procs"); err != nil {
		cannot(err.Error())
	}
	spin(1)
	beside := record("cgroup:/service")
	require("a control group of version 2 is a service, with those below it", beside.Recorded && beside.Run.Value > 0.05, "%+v", beside)
	require("its sibling is busy", beside.Beside != nil && beside.Beside.Value > 0.8*beside.Run.Value, "%+v of %+v", beside.Beside, beside.Run)
	line("row", cat("/proc/sys/kernel/osrelease"), alone.Cost.InWindows, fmt.Sprintf("%.4f %.4f", mean, truth), fmt.Sprintf("%.3f %.3f %.3f", alone.Run.Value, beside.Run.Value, beside.Beside.Value), failures)
}

const burstFile = "/run/bursts.jsonl"

func record(service string) (s scheduled) {
	r := hostlab("record", "--service", service, "--for", "8s", "--format", "json", "--out", burstFile)
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.code != 0 {
		fail("record", "exit %d: %v: %s %s", r.code, err, r.out, r.err)
	}
	return s
}

// roundsFile grows by a byte with each round of the service.
const roundsFile = "/run/rounds"

// restless starts a shell that works and rests on one CPU; it ends with the guest.
func restless(cpu int) int {
	cmd := exec.Command("/bin/sh", "-c", "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo -n . >> "+roundsFile+"; usleep 30000; done")
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil {
		cannot(err.Error())
	}
	return cmd.Process.Pid
}

// used is what the service has done until now: rounds, and s of CPU time with that of its children (proc_pid_stat(5)).
func used(pid int) (rounds, cpu float64) {
	text := cat(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	for _, i := range []int{11, 12, 13, 14} {
		ticks, _ := strconv.ParseFloat(f[i], 64)
		cpu += ticks / 100
	}
	return float64(len(cat(roundsFile))), cpu
}

// meanBurst is that of the bursts in a file that are the service's, in s.
func meanBurst(file string) (mean float64, n int) {
	for l := range strings.Lines(cat(file)) {
		var b struct{ Busy, Service float64 }
		if err := json.Unmarshal([]byte(l), &b); err == nil && b.Service > 0.5 && b.Busy > 0.001 {
			mean, n = mean+b.Busy, n+1
		}
	}
	return mean / float64(n), n
}

// spin keeps a CPU busy until the guest ends.
func spin(cpu int) {
	up := make(chan error)
	go func() {
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(cpu)
		up <- unix.SchedSetaffinity(0, &set)
		for began := time.Now(); time.Since(began) < time.Hour; {
		}
	}()
	if err := <-up; err != nil {
		cannot(err.Error())
	}
}
