//go:build linux && amd64

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// remedy is a host that a check finds fault with, and whose remedy is to mend it.
type remedy struct {
	check   string
	servers []string // programs of servers, by name
	args    []string // of hostlab check
	spoil   func() error
	boots   bool // what it writes below /etc brings the value back
}

// kept are the directories below /etc in which remedies keep values.
var kept = []string{"/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/udev/rules.d", "/etc/modules-load.d"}

// remedies runs each remedy twice: after the first the check is content, and the second changes nothing. With names,
// those checks alone.
func remedies(names []string) {
	for _, dir := range kept {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			cannot(err.Error())
		}
	}
	// The guest has neither sudo nor systemd: a remedy's timers are not tried.
	for name, text := range map[string]string{"/bin/sudo": "#!/bin/sh\nexec \"$@\"\n",
		"/bin/systemctl": "#!/bin/sh\nexit 0\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil { //nolint:gosec // programs
			cannot(err.Error())
		}
	}
	if err := os.WriteFile("/etc/os-release", []byte("PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\"\n"), 0o644); err != nil { //nolint:gosec // all read it
		cannot(err.Error())
	}
	for _, r := range remedyCases {
		if want(names, r.check) {
			r.try()
		}
	}
}

func want(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return len(names) == 0
}

func (r remedy) try() {
	defer r.serve()()
	if err := r.spoil(); err != nil {
		fail(r.check, "cannot make a host that needs it: %v", err)
		return
	}
	status, commands := r.look()
	if status != "finding" || commands == "" {
		fail(r.check, "%s on a host that needs it", status)
		return
	}
	for _, when := range []string{"once", "twice"} {
		before, files := dump(), keptFiles()
		if out, err := exec.Command("/bin/sh", "-c", commands).CombinedOutput(); err != nil &&
			!strings.Contains(commands, "grep") {
			fail(r.check, "its remedy, run %s: %v: %s", when, err, out)
			return
		}
		if status, _ := r.look(); status == "finding" || status == "unknown" {
			fail(r.check, "%s after its remedy was run %s", status, when)
			return
		}
		if when == "twice" && (!same(r.check+", the second time", before, dump()) || files != keptFiles()) {
			fail(r.check, "the second time changed something: %s and %s", files, keptFiles())
			return
		}
	}
	if r.boots {
		if err := errors.Join(r.spoil(), boot()); err != nil {
			fail(r.check, "what it keeps: %v", err)
			return
		}
		if status, _ := r.look(); status == "finding" {
			fail(r.check, "a finding again after a boot")
			return
		}
	}
	line("remedy", r.check)
}

// look asks hostlab for the check's answer.
func (r remedy) look() (status, commands string) {
	all, problem := answers(r.args...)
	if a, ok := all[r.check]; ok {
		return a.Status, a.Remedy
	}
	return cmp.Or(problem, "no answer"), ""
}

// answer is what hostlab says of a check.
type answer struct{ ID, Status, Detail, Remedy string }

// answers are those of all checks, or a problem.
func answers(args ...string) (all map[string]answer, problem string) {
	got := hostlab(append([]string{"check", "--format", "json"}, args...)...)
	var doc struct{ Results []answer }
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		return nil, "no JSON: " + got.err
	}
	all = map[string]answer{}
	for _, a := range doc.Results {
		all[a.ID] = a
	}
	return all, ""
}

// serve starts processes of the servers' names, and returns what ends them.
func (r remedy) serve() (end func()) {
	var started []*exec.Cmd
	for _, name := range r.servers {
		program, exe := "/tmp/"+name, "/tmp/"+name
		if strings.HasPrefix(name, "ora_") { // whose processes all run one program
			exe = "/tmp/oracle"
		}
		b, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(exe, b, 0o755) //nolint:gosec // a program
		}
		if err == nil && exe != program {
			err = os.Symlink(exe, program)
		}
		cmd := exec.Command(program, "sleep")
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			cannot(err.Error())
		}
		started = append(started, cmd)
	}
	return func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = errors.Join(os.Remove(cmd.Path), os.RemoveAll("/tmp/oracle"))
		}
	}
}

// asleep is what a process of a server's name does.
func asleep() { time.Sleep(time.Hour) }

// keptFiles are the files that keep values, with what they say.
func keptFiles() string {
	var b strings.Builder
	for _, dir := range kept {
		for _, f := range glob(dir + "/*") {
			b.WriteString(f + ": " + cat(f) + "\n")
		}
	}
	return b.String()
}

// boot does what sysctl.d and tmpfiles.d are read for at boot: the guest has no systemd.
func boot() error {
	var errs []error
	for _, f := range glob("/etc/sysctl.d/*.conf") {
		errs = append(errs, exec.Command("/bin/sysctl", "-p", f).Run())
	}
	for _, f := range glob("/etc/tmpfiles.d/*.conf") {
		for text := range strings.Lines(cat(f)) {
			words := strings.Fields(text)
			if len(words) < 7 || words[0] != "w-" {
				errs = append(errs, errors.New(f+" says "+text))
				continue
			}
			for _, name := range glob(words[1]) {
				errs = append(errs, echo(strings.Join(words[6:], " "), name))
			}
		}
	}
	return errors.Join(errs...)
}

// put makes a spoiler that writes a value to all files of a pattern.
func put(value, pattern string) func() error {
	return func() error {
		files := glob(pattern)
		if len(files) == 0 {
			return errors.New("there is no " + pattern)
		}
		var errs []error
		for _, f := range files {
			errs = append(errs, echo(value, f))
		}
		return errors.Join(errs...)
	}
}

// all makes one spoiler of several.
func all(list ...func() error) func() error {
	return func() error {
		var errs []error
		for _, f := range list {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
}

// shell makes a spoiler of a script.
func shell(script string) func() error {
	return func() error {
		out, err := exec.Command("/bin/sh", "-e", "-c", script).CombinedOutput()
		if err != nil {
			return errors.New(strings.TrimSpace(string(out)) + ": " + err.Error())
		}
		return nil
	}
}

// mounted mounts a file system of a kind with discard. Its entry in fstab has none: that part of the remedy is a
// person's.
func mounted(kind, make string) func() error {
	const at = "/mnt/log"
	file := filepath.Join("/tmp", kind+".img")
	return shell("umount " + at + " 2>/dev/null || true; mkdir -p " + at + "; modprobe -a loop " + kind +
		" 2>/dev/null || true; rm -f " + file +
		"; losetup -d /dev/loop0 2>/dev/null || true; truncate -s 400M " + file + "; losetup /dev/loop0 " + file + "; " +
		make + " /dev/loop0 >/dev/null; " +
		"echo '/dev/loop0 " + at + " " + kind + " rw 0 0' > /etc/fstab; mount -t " + kind + " -o discard /dev/loop0 " + at)
}
