package service

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"auto": {Kind: Auto}, "none": {Kind: None}, "demo": {Kind: Demo}, "pid:12": {Process, "12"},
		"unit:nginx": {Unit, "nginx"}, "cgroup:/system.slice/x": {Cgroup, "/system.slice/x"}, "mariadb": {Name, "mariadb"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "pid:", "pid:0", "pid:-3", "pid:x", "unit:", "unit:a/b", "cgroup:", "a/b",
		"demo=oracle", "foo:bar", "a\nb"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q): the error has more than one line", text)
		}
	}
}

// TestAutoTakesWhoWorksNow: what a server has used since it was started, days ago, says little of now.
func TestAutoTakesWhoWorksNow(t *testing.T) {
	servers := []host.Database{{Kind: "mariadb", PID: os.Getppid()}, {Kind: "postgresql", PID: os.Getpid()}}
	looks := map[int]float64{}
	used := func(pid int) float64 {
		looks[pid]++
		if pid == os.Getpid() {
			return looks[pid]
		}
		return 1e6
	}
	s, err := Spec{Kind: Auto}.Find(servers, used)
	if err != nil || s.PID != os.Getpid() || s.Why != "the one of 2 databases here that uses the most CPU time" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAutoTakesTheBusiest: of several databases the one that has used the most CPU time.
func TestAutoTakesTheBusiest(t *testing.T) {
	self := os.Getpid()
	servers := []host.Database{{Kind: "mariadb", PID: 1}, {Kind: "postgresql", PID: self}}
	used := func(pid int) float64 { return float64(pid) }
	s, err := Spec{Kind: Auto}.Find(servers, used)
	if err != nil || s.PID != self || s.Name != "PostgreSQL" || s.Why == "" {
		t.Fatalf("found %+v, %v", s, err)
	}
	if s, err := (Spec{Kind: Auto}).Find(nil, used); s != nil || err != nil {
		t.Errorf("without a database: %v, %v", s, err)
	}
	for _, name := range []string{"postgres", "service.test"} { // of the database, and of its program
		if s, err := (Spec{Name, name}).Find(servers, used); err != nil || s.PID != self || s.Kind != Database {
			t.Errorf("by name %s: %v, %v", name, s, err)
		}
	}
}

func TestNotFound(t *testing.T) {
	for _, text := range []string{"pid:4194304", "unit:no-such", "cgroup:/no/such", "cgroup:/", "no-such-program"} {
		spec := testkit.Must(Parse(text))(t)
		if s, err := spec.Find(nil, nil); err == nil {
			t.Errorf("%s: found %+v", text, s)
		}
	}
}

// TestMeter: a tree of processes that end and begin all the time is counted whole, and what
// the meter says agrees with what the kernel says of children when they are reaped.
func TestMeter(t *testing.T) {
	const loops = `for i in 1 2 3 4 5 6 7 8; do timeout 0.25 sh -c 'while :; do :; done'; done`
	cmd := exec.Command("sh", "-c", loops)
	testkit.OK(t, cmd.Start())
	s := testkit.Must(Spec{Process, fmt.Sprint(cmd.Process.Pid)}.Find(nil, nil))(t)
	m := testkit.Must(s.NewMeter())(t)
	var last Reading
	for {
		time.Sleep(50 * time.Millisecond)
		r, err := m.Read()
		if errors.Is(err, ErrEnded) {
			break
		}
		testkit.OK(t, err)
		last = r
		if r.At > 1.8 { // before the shell ends
			break
		}
	}
	at := last
	reaped := testkit.Must(proc.Read(cmd.Process.Pid))(t)
	want := (reaped.CPU + reaped.Reaped).Seconds()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Logf("meter %.3f s of CPU, %.3f s queue, in %.2f s; ended children had %.3f s", at.CPU, at.Queue, at.At, want)
	// The one that runs now is not reaped yet: it has used at most 0.3 s.
	if at.CPU < want-0.05 || at.CPU > want+0.35 {
		t.Errorf("the meter counts %.3f s, the kernel %.3f s of those that ended", at.CPU, want)
	}
	if _, known := at.Stalled["cpu"]; known != exists("/proc/pressure/cpu") {
		t.Errorf("pressure is %v", at.Stalled)
	}
	if at.Busy == nil || *at.Busy < at.CPU/2 {
		t.Errorf("the host's CPUs were busy for %v s, the service alone used %.3f s", at.Busy, at.CPU)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestLeft: a child that a list lacks is still there, and counts on; one that has ended, or another of its number, does
// not.
func TestLeft(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	testkit.Start(t, cmd)
	self, child := testkit.Must(proc.Read(os.Getpid()))(t), testkit.Must(proc.Read(cmd.Process.Pid))(t)
	if got := left([]proc.Stat{self, child}, []proc.Stat{self}); len(got) != 1 || got[0].PID != child.PID {
		t.Errorf("%+v, want the child", got)
	}
	earlier := child
	earlier.Started--
	testkit.Is(t, 0, len(left([]proc.Stat{self, earlier}, []proc.Stat{self})), "of another process")
	testkit.Is(t, 0, len(left([]proc.Stat{child}, []proc.Stat{child})), "that the list has")
	testkit.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	testkit.Is(t, 0, len(left([]proc.Stat{self, child}, []proc.Stat{self})), "that ended")
}
