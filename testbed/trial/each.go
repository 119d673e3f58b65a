//go:build linux && amd64

package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// each tries every setting that hostlab finds here. A setting that has no trial is a failure, and so
// is a trial whose files are there while hostlab finds no objects.
func each(quick bool) {
	k := settings()
	var names []string
	var together []trial
	for _, s := range k.Settings {
		if len(s.Objects) == 0 {
			continue
		}
		names = append(names, s.Name)
		if s.Name != "cpu_dma_latency" && !slices.ContainsFunc(trials, func(t trial) bool { return t.setting == s.Name }) {
			fail(s.Name, "there is no trial of it")
		}
	}
	for _, t := range trials {
		there := len(t.paths()) > 0
		if has := slices.Contains(names, t.setting); has != there {
			fail(t.setting, "hostlab has it: %v; its files are there: %v", has, there)
		}
		if !there {
			continue
		}
		if t.offline && spinning() {
			line("note", t.setting+" is left to machines without C-states")
			continue
		}
		values := t.values()
		if len(values) == 0 {
			fail(t.setting, "no value to try")
		}
		if t.refused != "" {
			t.refuse(values[0])
			continue
		}
		if quick {
			values = values[:min(1, len(values))]
			if t.first == nil && !t.offline && !strings.HasSuffix(t.setting, "_ratio") { // of a pair with bytes
				together = append(together, t)
				continue
			}
		}
		t.try(values)
	}
	if len(together) > 0 {
		batch(together)
	}
	if slices.Contains(names, "cpu_dma_latency") {
		held()
	}
}

// spinning reports a machine on which CPUs that are offline keep QEMU busy: Linux has them wait in the
// deepest C-state (acpi_idle_play_dead), and the emulated ones return at once.
func spinning() bool { return len(glob(cpu+"/cpu0/cpuidle/state3")) > 0 }

func (t trial) paths() (list []string) {
	for _, f := range t.files {
		list = append(list, glob(f)...)
	}
	return list
}

// try sets each value, and prints the row of the table.
func (t trial) try(values []value) {
	if t.first != nil {
		defer t.first()()
		time.Sleep(50 * time.Millisecond)
	}
	failed := failures
	var words []string
	objects, rounded, checked := 0, 0, false
	for _, v := range values {
		what := t.setting
		if v.at != "" {
			what += "@" + v.at
		}
		words = append(words, strings.TrimPrefix(what+"="+v.word, t.setting+"="))
		n, r, reg := t.one(what+"="+v.word, v)
		objects, rounded, checked = max(objects, n), rounded+r, checked || reg
	}
	oracle := "file"
	if checked {
		oracle = "file, P-state register"
	}
	result := "yes"
	if failures > failed {
		result = "NO"
	}
	line("row", t.setting, objects, strings.Join(words, ", "), rounded, oracle, result)
}

// batch tries the first value of many settings with one set, one verify and one revert.
func batch(list []trial) {
	before, args, failed := dump(), []string{"set", "--yes", "--format", "json"}, failures
	for _, t := range list {
		args = append(args, t.setting+"="+t.values()[0].word)
	}
	expected := map[string]value{} // by setting; asked for before the set, which changes what is listed
	for _, t := range list {
		expected[t.setting] = t.values()[0]
	}
	r := hostlab(args...)
	if r.code != 0 {
		fail("together", "set: exit %d: %s %s", r.code, r.out, r.err)
	}
	for _, t := range list {
		for _, f := range t.paths() {
			if read, want := chosen(cat(f)), expected[t.setting].reads(f); read != want {
				fail(t.setting, "%s reads %q, and should %q", f, read, want)
			}
		}
	}
	if r := hostlab("verify", "--format", "json"); r.code != 0 {
		fail("together", "verify: exit %d: %s %s", r.code, r.out, r.err)
	}
	revert("together")
	same("together", before, dump())
	for _, t := range list {
		line("row", t.setting, len(t.paths()), expected[t.setting].word, 0, "file", map[bool]string{true: "yes", false: "NO"}[failures == failed])
	}
}

// refuse requires that hostlab reports the kernel's refusal, and that nothing has changed.
func (t trial) refuse(v value) {
	before := dump()
	what := t.setting + "=" + v.word
	r := hostlab("set", what, "--yes")
	good := r.code == 1 && strings.Contains(r.err, t.refused)
	require(what+" is refused, and that is told", good, "exit %d: %s %s", r.code, r.out, r.err)
	good = same(what, before, dump()) && good && !journalLeft()
	line("row", t.setting, len(t.paths()), v.word, 0, "refused by the kernel", map[bool]string{true: "as it was", false: "NO"}[good])
}

// one sets, reads back, verifies, reverts and compares.
func (t trial) one(what string, v value) (objects, rounded int, register bool) {
	before := dump()
	set := hostlab("set", what, "--yes", "--format", "json")
	c := set.change()
	if set.code != 0 {
		fail(what, "set: exit %d: %s %s", set.code, c.Error, set.err)
		same(what+" failed, and", before, dump())
		return 0, 0, false
	}
	n := c.results()
	rounded = n["rounded"]
	if n["changed"]+n["unchanged"]+rounded != len(c.Outcomes) {
		fail(what, "set: %v", n)
	}
	// Every file, also those that hostlab may not have thought of.
	for _, f := range t.paths() {
		if read := chosen(cat(f)); read != v.reads(f) {
			fail(what, "%s reads %q, and should %q", f, read, v.reads(f))
		}
	}
	if t.register != nil && cat(policyDriver) == "acpi-cpufreq" {
		if want, known := t.register(v.word); known {
			register = true
			requireRegisters(what, want)
		}
	}
	if r := hostlab("verify", "--format", "json"); r.code != 0 {
		fail(what, "verify: exit %d: %s %s", r.code, r.out, r.err)
	}
	revert(what)
	if same(what, before, dump()) {
		ok(what)
	}
	return len(c.Outcomes) + len(c.Same), rounded, register
}

// revert puts back, and requires that it could and that it says so.
func revert(what string) {
	r := hostlab("revert", "--format", "json")
	if r.code != 0 {
		fail(what, "revert: exit %d: %s %s", r.code, r.out, r.err)
	}
	if journalLeft() {
		fail(what, "revert: the journal is still there")
	}
}

const policyDriver = cpu + "/cpufreq/policy0/scaling_driver"

// requireRegisters reads the register of each policy's domain.
func requireRegisters(what string, want byte) {
	for i, p := range glob(cpu + "/cpufreq/policy*") {
		if cat(p+"/affected_cpus") == "" {
			continue
		}
		domain := domainOf(p, i)
		got := byte(0)
		for range 50 { // a governor may ask a work queue to write it
			if got, _ = register(domain); got == want {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got != want {
			fail(what, "the P-state register of %s names line %d of _PSS, and should %d", p, got, want)
		}
	}
}

// domainOf is the number of the register that gen-ssdt.sh gave a policy: that of its domain, or
// of the CPU where hardware coordinates and each CPU has its own.
func domainOf(policy string, index int) int {
	if strings.Fields(cat(policy + "/freqdomain_cpus"))[0] != strings.Fields(cat(policy + "/related_cpus"))[0] || len(strings.Fields(cat(policy+"/freqdomain_cpus"))) != len(strings.Fields(cat(policy+"/related_cpus"))) {
		var n int
		_, _ = fmt.Sscan(cat(policy+"/related_cpus"), &n)
		return n
	}
	return index
}

// held tries cpu_dma_latency, which is in force only while its hostlab runs.
func held() {
	const what = "cpu_dma_latency=70us"
	failed := failures
	before := dump()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		cmd := command("set", what, "--yes")
		if err := cmd.Start(); err != nil {
			cannot(err.Error())
		}
		got := waitFor(ctx, 70)
		if !got {
			v, _ := dmaLatency()
			fail(what, "not in force: it reads %d", v)
		}
		_ = cmd.Process.Signal(sig)
		err := cmd.Wait()
		if _, exited := err.(*exec.ExitError); sig == syscall.SIGINT && exited { //nolint:errorlint // of Wait
			fail(what, "after SIGINT: %v", err)
		}
		stop()
		same(what+" after "+sig.String(), before, dump())
	}
	revertNothing(what)
	result := "yes"
	if failures > failed {
		result = "NO"
	} else {
		ok(what)
	}
	line("row", "cpu_dma_latency", 1, "70us", 0, "file", result)
}

func waitFor(ctx context.Context, us int) bool {
	for ctx.Err() == nil {
		if v, err := dmaLatency(); err == nil && v == us {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func revertNothing(what string) {
	if r := hostlab("revert"); r.code != 0 || !strings.Contains(r.out, "Nothing to put back") {
		fail(what, "revert: exit %d: %s %s", r.code, r.out, r.err)
	}
}
