//go:build linux && amd64

package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
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
			line("missing", s.Name, s.Missing)
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
			line("missing", t.setting, "left to guests without C-states: a CPU that is offline keeps QEMU busy there")
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
			values = t.few(values)
			// of a pair with bytes
			if t.first == nil && t.register == nil && !t.offline && !strings.HasSuffix(t.setting, "_ratio") {
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

// few are the first value, or the first that the P-state registers know of.
func (t trial) few(values []value) []value {
	if t.register != nil {
		for i, v := range values {
			if _, known := t.register(v.word); known {
				return values[i : i+1]
			}
		}
	}
	return values[:min(1, len(values))]
}

func (t trial) paths() (list []string) {
	for _, f := range t.files {
		list = append(list, glob(f)...)
	}
	return list
}

// try sets each value, and prints a row of the table for it.
func (t trial) try(values []value) {
	if t.first != nil {
		defer t.first()()
		time.Sleep(50 * time.Millisecond)
	}
	for _, v := range values {
		t.one(v)
	}
}

// row is what the table says of one value of one setting.
type row struct {
	setting string
	objects int
	before  string // what the files read, by this program
	set     string
	read    string // what they read then
	oracle  string // what else knows of it, and said
	verify  string
	revert  string
}

func (r row) print() {
	line("row", r.setting, r.objects, r.before, r.set, r.read, r.oracle, r.verify, r.revert)
}

// wasSo is said of a value that was there already, so that nothing was set.
const wasSo = "it was so already"

// done is a word for the table: no failure since a count of them.
func done(since int, word string) string {
	if failures > since {
		return "NO"
	}
	return word
}

// content is what the files of a setting read, with how many of them where they differ.
func (t trial) content() string {
	n := map[string]int{}
	for _, f := range t.paths() {
		n[chosen(cat(f))]++
	}
	var list []string
	for v, files := range n {
		if len(n) > 1 {
			v = fmt.Sprintf("%s (%d)", v, files)
		}
		list = append(list, v)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// batch tries the first value of many settings with one set, one verify and one revert.
func batch(list []trial) {
	before, args, failed := dump(), []string{"set", "--yes", "--format", "json"}, failures
	for _, t := range list {
		args = append(args, t.setting+"="+t.values()[0].word)
	}
	expected := map[string]value{} // by setting; asked for before the set, which changes what is listed
	rows := map[string]row{}
	for _, t := range list {
		expected[t.setting] = t.values()[0]
		rows[t.setting] = row{setting: t.setting, objects: len(t.paths()), before: t.content(), set: expected[t.setting].word}
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
		r := rows[t.setting]
		r.read = t.content()
		rows[t.setting] = r
	}
	var names []string
	for _, t := range list {
		names = append(names, t.setting)
	}
	verified := inPlace("together", names...)
	same("together", before, putBack("together", names...))
	for _, t := range list {
		r := rows[t.setting]
		r.verify, r.revert = verified[t.setting], done(failed, "all as before")
		r.print()
	}
}

// refuse requires that hostlab reports the kernel's refusal, and that nothing has changed.
func (t trial) refuse(v value) {
	before, failed := dump(), failures
	what := t.setting + "=" + v.word
	out := row{setting: t.setting, objects: len(t.paths()), before: t.content(), set: v.word, verify: "nothing was set"}
	r := hostlab("set", what, "--yes")
	good := r.code == 1 && strings.Contains(r.err, t.refused)
	require(what+" is refused, and hostlab says so", good, "exit %d: %s %s", r.code, r.out, r.err)
	if journalLeft() {
		fail(what, "the journal is still there")
	}
	same(what, before, dump())
	out.read, out.revert = t.content()+": the kernel "+t.refused, done(failed, "all as before")
	out.print()
}

// one sets, reads back, verifies, reverts and compares.
func (t trial) one(v value) {
	name := t.setting
	if v.at != "" {
		name += "@" + v.at
	}
	what := name + "=" + v.word
	before, failed := dump(), failures
	out := row{setting: t.setting, objects: len(t.paths()), before: t.content(),
		set: strings.TrimPrefix(what, t.setting+"=")}
	set := hostlab("set", what, "--yes", "--format", "json")
	c := set.change()
	if set.code != 0 {
		fail(what, "set: exit %d: %s %s", set.code, c.Error, set.err)
		same(what+" failed, and", before, dump())
		return
	}
	n := c.results()
	if n["changed"]+n["unchanged"]+n["rounded"]+n["moved"] != len(c.Outcomes) {
		fail(what, "set: %v", n)
	}
	// Every file, also those that hostlab may not have thought of.
	for _, f := range t.paths() {
		if read := chosen(cat(f)); read != v.reads(f) {
			fail(what, "%s reads %q, and should %q", f, read, v.reads(f))
		}
	}
	out.read = t.content()
	if t.register != nil && cat(policyDriver) == "acpi-cpufreq" {
		if want, known := t.register(v.word); known {
			requireRegisters(what, want)
			out.oracle = fmt.Sprintf("P-state registers: line %d of _PSS", want)
		}
	}
	if t.offline {
		out.oracle = fmt.Sprintf("CPUs in /proc/stat: %s", running())
		if got, want := running(), cat(cpu+"/online"); got == "" || strings.Count(got, " ")+1 != counted(want) {
			fail(what, "/proc/stat has the CPUs %s, and %s/online %s", got, cpu, want)
		}
	}
	var names []string
	if len(c.Outcomes) > 0 {
		names = []string{t.setting}
	}
	out.verify = inPlace(what, names...)[t.setting]
	if len(names) == 0 {
		out.verify = wasSo
	}
	if same(what, before, putBack(what, names...)) {
		ok(what)
	}
	out.revert = done(failed, "all as before")
	out.print()
}

// running are the CPUs that the scheduler has, which only lists those that are online.
func running() string {
	var list []string
	for l := range strings.Lines(cat("/proc/stat")) {
		if n, found := strings.CutPrefix(strings.Fields(l)[0], "cpu"); found && n != "" {
			list = append(list, n)
		}
	}
	return strings.Join(list, " ")
}

// counted is the number of CPUs in a list such as 0-2,5.
func counted(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		var from, to int
		if k, _ := fmt.Sscanf(part, "%d-%d", &from, &to); k < 2 {
			to = from
		}
		n += to - from + 1
	}
	return n
}

// inPlace runs verify, and requires that it finds every object of the settings as it was set. It says so by setting.
func inPlace(what string, names ...string) map[string]string {
	r := hostlab("verify", "--format", "json")
	failed := failures
	if r.code != 0 {
		fail(what, "verify: exit %d: %s %s", r.code, r.out, r.err)
	}
	return outcomesOf(what+": verify", r.change(), failed, "as set", names, "unchanged", "rounded", "moved")
}

// putBack reverts, requires that it could and says so of each setting, and returns what all files read then.
func putBack(what string, names ...string) map[string]string {
	r := hostlab("revert", "--format", "json")
	failed := failures
	if r.code != 0 {
		fail(what, "revert: exit %d: %s %s", r.code, r.out, r.err)
	}
	if journalLeft() {
		fail(what, "revert: the journal is still there")
	}
	outcomesOf(what+": revert", r.change(), failed, "put back", names, "restored", "unchanged")
	return dump()
}

// outcomesOf requires that each of the settings has an outcome, and none another than those that are good.
func outcomesOf(what string, c change, failed int, word string, names []string, good ...string) map[string]string {
	n := map[string]int{}
	for _, o := range c.Outcomes {
		n[o.Setting]++
		if !slices.Contains(good, o.Result) {
			fail(what, "%s of %s is %s: %s", o.Setting, o.Object, o.Result, o.Reason)
		}
	}
	out := map[string]string{}
	for _, name := range names {
		if n[name] == 0 {
			fail(what, "it does not name %s", name)
		}
		out[name] = done(failed, word)
	}
	return out
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
	if strings.Fields(cat(policy + "/freqdomain_cpus"))[0] != strings.Fields(cat(policy + "/related_cpus"))[0] ||
		len(strings.Fields(cat(policy+"/freqdomain_cpus"))) != len(strings.Fields(cat(policy+"/related_cpus"))) {
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
	before, read := dump(), ""
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		cmd := command("set", what, "--yes")
		if err := cmd.Start(); err != nil {
			cannot(err.Error())
		}
		if !waitFor(ctx, 70) {
			fail(what, "not in force")
		}
		v, _ := dmaLatency()
		read = strconv.Itoa(v)
		_ = cmd.Process.Signal(sig)
		err := cmd.Wait()
		if _, exited := err.(*exec.ExitError); sig == syscall.SIGINT && exited { //nolint:errorlint // of Wait
			fail(what, "after SIGINT: %v", err)
		}
		stop()
		same(what+" after "+sig.String(), before, dump())
	}
	revertNothing(what)
	if failures == failed {
		ok(what)
	}
	row{"cpu_dma_latency", 1, before["/dev/cpu_dma_latency"], "70us", read, "", "in force while it runs",
		done(failed, "all as before, also after SIGKILL")}.print()
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
