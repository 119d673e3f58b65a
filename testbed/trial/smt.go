//go:build linux && amd64

package main

import (
	"os"
	"strings"
	"sync"
	"time"
)

// few are the options of a study that is only to be seen at work.
var few = []string{"--yes", "--quiet", "--set", "workload.size=64KiB", "--set", "workload.passes=1"}

// smt tries what hostlab makes of a processor with two threads a core: the placements that its studies and
// scanlock find, and the study that switches SMT by the kernel's file, to its end and killed.
func smt() {
	before := dump()
	if cat(smtActive) != "on" {
		cannot("this guest has no SMT that can be switched")
	}
	smtPlacements()
	seen := watchSMT(func() {
		r := hostlab(append([]string{"run", "smt-control", "--blocks", "1", "--out", "/run/whole"}, few...)...)
		if r.code != 0 {
			fail("smt-control", "exit %d: %s %s", r.code, r.out, r.err)
		}
	})
	require("smt-control had one thread a core online", seen == "off, CPUs 0 2", "%q", seen)
	if same("smt-control to its end", before, dump()) && !journalLeft() {
		ok("smt-control to its end: all CPUs are back")
	}
	r := hostlab("report", "/run/whole", "--exit-status")
	require("the report of one block does not claim an effect",
		r.code == 11 && strings.Contains(r.out, "smt off against on is inconclusive") &&
			strings.Contains(r.out, "n = 1 block,"), "exit %d: %s %s", r.code, r.out, r.err)
	smtKilled(before)
}

// smtPlacements looks at what is found on cores 0-1 and 2-3, without a run of the study.
func smtPlacements() {
	r := hostlab("run", "smt", "--dry-run")
	_, varies, _ := strings.Cut(strings.Join(strings.Fields(r.out), " "), "Varies")
	varies, absent, _ := strings.Cut(varies, "Absent")
	good := r.code == 0
	for _, level := range []string{"sibling", "core", "same", "rotation"} {
		good = good && strings.Contains(varies, level)
	}
	require("smt finds the sibling and another core", good && absent == "",
		"exit %d: %s %s", r.code, r.out, r.err)
	// The masks of 2005: CPU 3 scans, and its sibling is CPU 2. A worker that the emulation starves may end it.
	r = hostlab("workload", "scanlock", "-s8", "-l7", "--duration", "1s")
	require("scanlock tells the scanner's sibling", strings.Contains(r.out, "on a scanner's core: 2"), "exit %d: %s %s",
		r.code, r.out, r.err)
	r = hostlab("run", "smt-query", "--dry-run")
	require("smt-query has one CPU of each core as a level", r.code == 0 && strings.Contains(r.out, "one-per-core") &&
		!strings.Contains(r.out, "Absent"), "exit %d: %s %s", r.code, r.out, r.err)
	r = hostlab("run", "smt-control", "--dry-run")
	require("smt-control can switch SMT", r.code == 0 && strings.Contains(r.out, "smt: on (baseline), off"),
		"exit %d: %s %s", r.code, r.out, r.err)
}

// watchSMT tells what was seen while something ran: the control, once it was not on, and the CPUs then.
func watchSMT(do func()) string {
	var seen string
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			// CPUs go one by one.
			if word := cat(smtActive); word != "on" && seen != "off, CPUs 0 2" {
				seen = word + ", CPUs " + running()
			}
		}
	})
	do()
	close(stop)
	wait.Wait()
	return seen
}

// smtKilled kills the study while SMT is off, and requires that verify and revert know of it.
func smtKilled(before map[string]string) {
	cmd := command(append([]string{"run", "smt-control", "--blocks", "4", "--out", "/run/killed"}, few...)...)
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	off := func() bool { return cat(smtActive) == "off" && running() == "0 2" }
	for i := 0; i < 6000 && !caught([]int{cmd.Process.Pid}, off); i++ {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	if !wasKilled(cmd) {
		fail("smt-control killed", "it had ended before the kill")
		return
	}
	time.Sleep(200 * time.Millisecond) // the kernel ends what it was at
	r := hostlab("verify")
	// The kill may come before the set's last line is written, and then that is said.
	known := r.code == 0 || r.code == 1 && strings.Contains(r.err, "the last set of changes has no end")
	require("verify knows that SMT is off", known && strings.Contains(r.out, "off, as set"), "exit %d: %s %s", r.code,
		r.out, r.err)
	r = hostlab("revert")
	require("revert switches it on", r.code == 0 && strings.Contains(r.out, "put back to on"), "exit %d: %s %s", r.code,
		r.out, r.err)
	if same("smt-control killed", before, dump()) && !journalLeft() {
		ok("smt-control killed: all CPUs are back")
	}
	if _, err := os.Stat("/run/killed/runs.jsonl"); err != nil {
		fail("smt-control killed", "%v", err)
	}
}
