//go:build linux && amd64

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// busy is what is set and put back while the kills and the cuts fall: objects of several
// kinds, some of which disturb others.
func busy() []string {
	list := []string{"swappiness=10", "dirty_bytes=629145600", "thp_defrag=never", "pm_qos_resume_latency_us=70us"}
	if len(glob(acpiSteps)) > 0 {
		list = append(list, "governor=performance", "max_freq=1.8GHz", "min_freq=1.8GHz", "cstate_latency=2us")
	}
	return list
}

// kill kills hostlab n times, every third time at a random moment and else at a random system call that
// touches files, in set or in revert; then all must come back. In every fourth round another program
// changes a value in between, which must be left.
func kill(n int) {
	before := dump()
	set := append([]string{"set", "--yes"}, busy()...)
	began := time.Now()
	hostlab(set...)
	took := time.Since(began)
	hostlab("revert")
	if !same("kill, before the first", before, dump()) {
		return
	}
	calls := countCalls(set)
	line("note", fmt.Sprintf("a set takes %v and makes %d system calls on files", took.Round(time.Millisecond), calls))
	killed, foreign := 0, 0
	for i := range n {
		args := set
		if i%5 == 4 { // in the middle of putting back
			hostlab(set...)
			args = []string{"revert"}
		}
		where := ""
		if i%3 == 0 {
			d := time.Duration(rand.Int64N(int64(took)))
			where = fmt.Sprintf("%s killed after %v", args[0], d)
			if killAfter(args, d) {
				killed++
			}
		} else {
			at := 1 + rand.IntN(calls)
			where = fmt.Sprintf("%s killed at call %d", args[0], at)
			if atCall(args, at, func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }) {
				killed++
			}
		}
		if i%4 == 3 {
			if err := echo("33", swappiness); err != nil {
				cannot(err.Error())
			}
			foreign++
			hostlab("revert")
			if got := chosen(cat(swappiness)); got != "33" {
				fail("kill", "%s: swappiness=33 was another program's and reads %s", where, got)
			}
			_ = echo("60", swappiness)
		}
		line("note", i+1, where)
		r := hostlab("revert")
		if r.code != 0 || journalLeft() {
			fail("kill", "%s: revert: exit %d: %s %s", where, r.code, r.out, r.err)
		}
		if !same(where, before, dump()) { // the rest would only repeat it
			return
		}
	}
	line("row", "SIGKILL", n, killed, foreign, failures)
}

func killAfter(args []string, d time.Duration) bool {
	cmd := command(args...)
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	time.Sleep(d)
	_ = cmd.Process.Kill()
	return wasKilled(cmd)
}

func wasKilled(cmd *exec.Cmd) bool {
	_ = cmd.Wait()
	status, known := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// cut sets and puts back until the plug is pulled: from outside, or by itself at a system call
// of the set. It tells the host what the kernel has, as it changes.
func cut(at int) {
	before := watched()
	for path, v := range before {
		line("was", path, v)
	}
	go func() {
		last := before
		for {
			now := watched()
			for path, v := range now {
				if v != last[path] {
					line("saw", path, v)
				}
			}
			last = now
			time.Sleep(5 * time.Millisecond)
		}
	}()
	set := append([]string{"set", "--yes"}, busy()...)
	if at > 0 {
		line("note", "begun")
		atCall(set, at, func(int) error { return pullThePlug() })
		line("note", "the call did not come")
		return
	}
	for i := 0; ; i++ {
		if i == 0 {
			line("note", "begun")
		}
		line("note", "set")
		if r := hostlab(set...); r.code != 0 {
			fail("cut", "set: exit %d: %s", r.code, r.err)
			return
		}
		line("note", "revert")
		if r := hostlab("revert"); r.code != 0 {
			fail("cut", "revert: exit %d: %s %s", r.code, r.out, r.err)
			return
		}
	}
}

// watched are the values that the cuts' settings change.
func watched() map[string]string {
	now := map[string]string{}
	for _, pattern := range []string{swappiness, "/proc/sys/vm/dirty_bytes", hugePage + "defrag", policy +
		"scaling_governor", policy + "scaling_max_freq",
		policy + "scaling_min_freq", cpu + "/cpu[0-9]*/cpuidle/state*/disable", cpu + "/smt/control"} {
		for _, path := range glob(pattern) {
			if v := chosen(cat(path)); !strings.HasPrefix(v, "cannot be read") {
				now[path] = v
			}
		}
	}
	return now
}

// intended prints what the journal's file has as the originals: what reached the disk.
func intended() {
	b, err := os.ReadFile(journalPath)
	if err != nil {
		return
	}
	for text := range bytes.Lines(b) {
		var l struct {
			Rec struct {
				Event struct {
					Objects []struct{ Path, From string }
				}
			}
		}
		if err := json.Unmarshal(text, &l); err != nil {
			return // the last line, cut
		}
		for _, o := range l.Rec.Event.Objects {
			line("had", o.Path, o.From)
		}
	}
}

// recoverJournal is the next boot: it prints what the journal holds, and requires that revert says that
// all is forgotten, writes nothing, whatever has been set meanwhile, and empties the journal.
func recoverJournal() {
	if err := echo("33", swappiness); err != nil { // sysctl.d, at this start
		cannot(err.Error())
	}
	before := dump()
	intended()
	v := hostlab("verify", "--format", "json")
	if v.code != 0 && v.code != 1 {
		fail("recover", "verify: exit %d: %s", v.code, v.err)
		return
	}
	for _, o := range v.change().Outcomes {
		if o.Result != "forgotten" && o.Result != "unchanged" { // unchanged: its value is the one of this start, too
			fail("recover", "verify: %s of %s is %s: %s", o.Setting, o.Object, o.Result, o.Reason)
		}
	}
	r := hostlab("revert", "--format", "json")
	if r.code != 0 {
		fail("recover", "revert: exit %d: %s %s", r.code, r.out, r.err)
	}
	for _, o := range r.change().Outcomes {
		if o.Result != "forgotten" {
			fail("recover", "revert: %s of %s is %s: %s", o.Setting, o.Object, o.Result, o.Reason)
		}
	}
	if journalLeft() {
		fail("recover", "the journal is still there")
	}
	revertNothing("recover")
	if same("recover", before, dump()) && failures == 0 {
		ok("recover")
	}
	_ = echo("60", swappiness)
}
