//go:build system

package service

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// TestCgroup: a group counts what is in it and in those below, and a quota shows as
// throttled time apart.
func TestCgroup(t *testing.T) {
	at := newGroup(t, "hostlab-service-test")
	g := testkit.Must(groupAt(at))(t)
	cmd := exec.Command("sh", "-c", `echo $$ > "$0" && for d in $1; do echo $$ > $d/cgroup.procs; done; while :; do :; done`, filepath.Join(g.dirs[controllersHere()[0]], "cgroup.procs"), joinDirs(g))
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	time.Sleep(200 * time.Millisecond)
	s := testkit.Must(Spec{Cgroup, at}.Find(nil, nil))(t)
	testkit.Is(t, cmd.Process.Pid, s.PID, "its first process is")
	m := testkit.Must(s.NewMeter())(t)
	before, _ := proc.Read(cmd.Process.Pid)
	time.Sleep(time.Second)
	r, err := m.Read()
	after, _ := proc.Read(cmd.Process.Pid)
	testkit.OK(t, err)
	want := (after.CPU - before.CPU).Seconds()
	t.Logf("group %.3f s, process %.3f s of %.2f s, throttled %v", r.CPU, want, r.At, r.Throttled)
	if r.CPU < want-0.05 || r.CPU > want+0.1 {
		t.Errorf("the group used %.3f s, its process %.3f s", r.CPU, want)
	}
	if _, err := (Spec{Process, fmt.Sprint(cmd.Process.Pid)}).Find(nil, nil); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	m.looked = time.Time{} // look for processes again
	if _, err := m.Read(); !errors.Is(err, ErrEnded) {
		t.Errorf("after its end: %v", err)
	}
}

// controllersHere are those of version 1 that are mounted, else version 2.
func controllersHere() (have []string) {
	for _, h := range proc.Hierarchies() {
		have = append(have, h.Controllers...)
	}
	return have
}

func joinDirs(g *group) string {
	var dirs []string
	for _, d := range g.dirs {
		dirs = append(dirs, d)
	}
	return strings.Join(dirs, " ")
}

// newGroup makes a group below the root in every tree.
func newGroup(t *testing.T, name string) string {
	t.Helper()
	made := 0
	for _, h := range proc.Hierarchies() {
		dir := filepath.Join(h.Mount, name)
		if err := os.Mkdir(dir, 0o755); err == nil || errors.Is(err, os.ErrExist) {
			made++
			t.Cleanup(func() {
				for range 50 {
					if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	}
	if made == 0 {
		t.Fatal("no control group could be made; this test needs root")
	}
	return "/" + name
}

// TestGroupAnew: a unit that restarts gets a group of the same name, which is another.
func TestGroupAnew(t *testing.T) {
	at := newGroup(t, "hostlab-service-anew")
	start := func() *exec.Cmd {
		t.Helper()
		g := testkit.Must(groupAt(at))(t)
		cmd := exec.Command("sh", "-c", `for d in $0; do echo $$ > $d/cgroup.procs; done; exec sleep 60`, joinDirs(g))
		testkit.OK(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		for range 500 {
			if len(g.processes()) > 0 {
				return cmd
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("no process in the group")
		return nil
	}
	cmd := start()
	s := testkit.Must(Spec{Cgroup, at}.Find(nil, nil))(t)
	m := testkit.Must(s.NewMeter())(t)
	if _, err := m.Read(); err != nil || s.Ended() {
		t.Errorf("in its group: %v", err)
	}
	g := s.group
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !s.Ended() {
		t.Error("an empty group counts as a service that runs")
	}
	for range 100 { // the kernel lets go of it a little later
		left := 0
		for _, dir := range g.dirs {
			if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				left++
			}
		}
		if left == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	newGroup(t, "hostlab-service-anew")
	start()
	m.looked = time.Time{}
	if _, err := m.Read(); !errors.Is(err, ErrEnded) {
		t.Errorf("in another group of its name: %v", err)
	}
}
