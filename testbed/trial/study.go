//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// studyFile has the governor as its factor.
const studyFile = "/job/governor.toml"

// study runs an experiment whose factor is a setting to its end, and then n times kills it in the
// middle; --restore or revert must put all back, and a resumed run go on to the end.
func study(n int) {
	before := dump()
	if r := hostlab("run", studyFile, "--yes", "--quiet", "--blocks", "2", "--out", "/run/whole"); r.code != 0 {
		fail("study", "exit %d: %s %s", r.code, r.out, r.err)
	}
	if same("a study to its end", before, dump()) && !journalLeft() {
		ok("a study to its end")
	}
	changed := 0
	for i := range n {
		out := fmt.Sprintf("/run/killed%d", i)
		cmd := command("run", studyFile, "--yes", "--quiet", "--blocks", "6", "--out", out)
		if err := cmd.Start(); err != nil {
			cannot(err.Error())
		}
		for range 3000 { // it is on the way once a level is in force
			if chosen(cat(p0+"scaling_governor")) != before[p0+"scaling_governor"] {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		_ = cmd.Process.Kill()
		if !wasKilled(cmd) {
			line("note", "it had ended before the kill")
		}
		if len(differ(before, dump())) > 0 {
			changed++
		}
		args := []string{"revert"}
		if i%2 == 0 {
			args = []string{"run", "--restore", "--yes", "--out", out}
		}
		if r := hostlab(args...); r.code != 0 {
			fail("study", "%v: exit %d: %s %s", args, r.code, r.out, r.err)
		}
		if !same(fmt.Sprint("a killed study, ", args[0]), before, dump()) {
			return
		}
		require("the journal is empty", !journalLeft(), "it is still there")
	}
	if r := hostlab("run", "--resume", "--yes", "--quiet", "--out", "/run/killed0"); r.code != 0 {
		fail("study", "resume: exit %d: %s %s", r.code, r.out, r.err)
	}
	same("a resumed study", before, dump())
	line("row", "study", n, changed, failures)
}
