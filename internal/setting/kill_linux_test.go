//go:build system

package setting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// TestMain is also the process that is killed: with SETTING_TEST_CHILD it works on the
// tree of that directory, and ends itself at a system call.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SETTING_TEST_CHILD"); dir != "" {
		at, _ := strconv.Atoi(os.Getenv("SETTING_TEST_CALL"))
		os.Exit(child(dir, at))
	}
	os.Exit(m.Run())
}

func child(dir string, at int) int {
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sys := Local(root)
	c := &counter{at: at}
	sys.FS, sys.Disk = countedFS{sys.FS, c}, countedDisk{sys.Disk, c}
	if err := childWork(sys, filepath.Join(dir, "state")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.n)
	return 0
}

// counter ends the process with SIGKILL before, after or in the middle of a call.
type counter struct{ n, at int }

func (c *counter) call(do func() error, part func()) error {
	c.n++
	if c.n != c.at {
		return do()
	}
	switch rand.IntN(3) {
	case 0:
		_ = do()
	case 1:
		if part != nil {
			part()
		}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type countedFS struct {
	FS
	c *counter
}

func (f countedFS) ReadFile(path string) (b []byte, err error) {
	err = f.c.call(func() error { b, err = f.FS.ReadFile(path); return err }, nil)
	return b, err
}

func (f countedFS) WriteFile(path string, value []byte) error {
	return f.c.call(func() error { return f.FS.WriteFile(path, value) }, nil)
}

func (f countedFS) Hold(string, []byte) (io.Closer, error) { return nil, errors.ErrUnsupported }

type countedDisk struct {
	Disk
	c *counter
}

func (d countedDisk) Append(path string, b []byte) error {
	return d.c.call(func() error { return d.Disk.Append(path, b) },
		func() { _ = d.Disk.Append(path, b[:rand.IntN(len(b))]) })
}

func (d countedDisk) Reserve(path string, more int) error {
	return d.c.call(func() error { return d.Disk.Reserve(path, more) }, nil)
}

func (d countedDisk) Sync(path string) error {
	return d.c.call(func() error { return d.Disk.Sync(path) }, nil)
}

func (d countedDisk) Rename(from, to string) error {
	return d.c.call(func() error { return d.Disk.Rename(from, to) }, nil)
}

func (d countedDisk) Remove(path string) error {
	return d.c.call(func() error { return d.Disk.Remove(path) }, nil)
}

func (d countedDisk) Lock(dir string) (release func(), err error) {
	err = d.c.call(func() error { release, err = d.Disk.Lock(dir); return err }, nil)
	return release, err
}

// childWork sets, sets over it, and puts back.
func childWork(sys *System, dir string) error {
	j, err := OpenJournal(sys, dir)
	if err != nil {
		return err
	}
	defer j.Close()
	for _, step := range []struct {
		owner string
		want  []Assignment
	}{
		{"set", []Assignment{{"governor", "", "performance"}, {"swappiness", "", "10"}, {"max_freq", "", "2000000"},
			{"platform_profile", "", "performance"}}},
		{"exp", []Assignment{{"io_scheduler", "", "none"}, {"thp", "", "never"}}},
		{"set", []Assignment{{"governor", "policy1", "ondemand"}, {"epp", "", "power"}, {"swappiness", "", "1"},
			{"min_freq", "", "1600000"}}},
		{"exp", nil}, {"set", nil},
	} {
		if err := childStep(sys, j, step.owner, step.want); err != nil {
			return err
		}
	}
	return nil
}

func childStep(sys *System, j *Journal, owner string, want []Assignment) error {
	if want != nil {
		p, err := NewPlan(sys, want)
		if err != nil {
			return err
		}
		if len(p.Skipped) > 0 {
			return fmt.Errorf("skipped %v", p.Skipped)
		}
		_, err = Apply(context.Background(), sys, j, owner, p, false)
		return err
	}
	_, err := Revert(context.Background(), sys, j, owner, ReachOurs)
	return err
}

// plant writes a tree that can be set: the files of the kernel of the other tests.
func plant(t *testing.T, root string) {
	t.Helper()
	files := newKernel().files
	files["/proc/sys/kernel/random/boot_id"], files["/etc/machine-id"] = "b00t", "4d2"
	for path, v := range files {
		if strings.Contains(path, "dirty") || strings.Contains(path, "smt") {
			continue // plain files do not do what those do
		}
		path = filepath.Join(root, path)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, []byte(v+"\n"), 0o644))
	}
}

// tree is what all files of a root hold.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	testkit.OK(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, root)] = strings.Join(strings.Fields(string(b)), " ")
		return err
	}))
	return out
}

// Processes are ended by SIGKILL at system calls; KILLS says how many. Half the time,
// somebody else changes an object before the next process puts back what was left.
func TestKill(t *testing.T) {
	kills := 40
	if text := os.Getenv("KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	plant(t, root)
	was := tree(t, root)
	run := func(at int) (string, *os.ProcessState) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SETTING_TEST_CHILD="+dir, "SETTING_TEST_CALL="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out)), cmd.ProcessState
	}
	out, ended := run(0)
	calls, err := strconv.Atoi(out)
	if err != nil || !ended.Success() {
		t.Fatalf("%v: %s", ended, out)
	}
	if diff := cmp.Diff(was, tree(t, root)); diff != "" {
		t.Fatal(diff)
	}
	foreign, open := 0, 0
	for i := range kills {
		at := 1 + i%calls // every call in turn
		if kills < calls {
			at = 1 + rand.IntN(calls)
		}
		out, ended := run(at)
		if ws, ok := ended.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
			t.Fatalf("call %d: it was not killed: %v: %s", at, ended, out)
		}
		want := map[string]string{}
		for p, v := range was {
			want[p] = v
		}
		sys := treeOf(t, root)
		if i%2 == 0 {
			path, value := "/proc/sys/vm/swappiness", "77"
			if i%4 == 0 {
				path, value = policyDir(1)+"scaling_governor", "schedutil"
			}
			testkit.OK(t, sys.FS.WriteFile(path, []byte(value)))
			want[path] = value
			foreign++
		}
		if e, err := pending(sys, state); err != nil {
			t.Fatal(err)
		} else if len(e) > 0 {
			open++
		}
		j := testkit.Must(OpenJournal(sys, state))(t)
		if p := j.Problem(); p != nil {
			t.Fatalf("call %d: %v", at, p)
		}
		testkit.Must(Revert(context.Background(), sys, j, "", ReachOurs))(t)
		if diff := cmp.Diff(want, tree(t, root)); diff != "" {
			t.Fatalf("killed at call %d of %d:\n%s", at, calls, diff)
		}
		testkit.Must(j.Forget(""))(t)
		testkit.OK(t, j.Close())
		plant(t, root)
	}
	t.Logf("%d kills in turn over %d system calls, %d of them with open changes: 0 objects left changed, 0 of %d "+
		"foreign values overwritten",
		kills, calls, open, foreign)
}
