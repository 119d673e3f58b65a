//go:build system

package setting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/trust"
)

// A tree is what another user made. Nothing in it leads the journal out of it, and a FIFO
// stops nobody.
func TestTreeKeepsTheJournal(t *testing.T) {
	const lib = "var/lib/hostlab"
	link := func(to func(outside string) string, name string) func(root, outside string) error {
		return func(root, outside string) error { return os.Symlink(to(outside), filepath.Join(root, name)) }
	}
	file := func(outside string) string { return filepath.Join(outside, "victim") }
	none := func(outside string) string { return filepath.Join(outside, "none") }
	self := func(outside string) string { return outside }
	fifo := func(name string) func(root, outside string) error {
		return func(root, _ string) error { return syscall.Mkfifo(filepath.Join(root, name), 0o666) }
	}
	hard := func(name string) func(root, outside string) error {
		return func(root, outside string) error { return os.Link(file(outside), filepath.Join(root, name)) }
	}
	for name, c := range map[string]struct {
		dirs  string
		plant func(root, outside string) error
		want  string
	}{
		"linked lock":                {lib, link(file, lib+"/"+lockFile), "is a symbolic link"},
		"dangling lock":              {lib, link(none, lib+"/"+lockFile), "is a symbolic link"},
		"hard-linked lock":           {lib, hard(lib + "/" + lockFile), "has 2 names"},
		"FIFO for a lock":            {lib, fifo(lib + "/" + lockFile), "is a FIFO"},
		"linked journal":             {lib, link(file, lib+"/"+journalFile), "is a symbolic link"},
		"dangling journal":           {lib, link(none, lib+"/"+journalFile), "is a symbolic link"},
		"hard-linked journal":        {lib, hard(lib + "/" + journalFile), "has 2 names"},
		"FIFO for a journal":         {lib, fifo(lib + "/" + journalFile), "is a FIFO"},
		"linked directory":           {"var/lib", link(self, lib), "is a symbolic link"},
		"linked parent":              {"var", link(self, "var/lib"), "is a symbolic link"},
		"a link that stays within":   {"var/lib", link(func(string) string { return "." }, lib), "is a symbolic link"},
		"a link for the next writer": {lib, link(file, lib+"/"+journalFile+".new"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, outside := t.TempDir(), t.TempDir()
			plant(t, root)
			testkit.OK(t, os.MkdirAll(filepath.Join(root, c.dirs), 0o755))
			testkit.OK(t, os.WriteFile(file(outside), []byte("keep"), 0o600))
			testkit.OK(t, c.plant(root, outside))
			sys, dir := treeOf(t, root), filepath.Join(root, lib)
			j, err := OpenJournal(sys, dir)
			if err == nil {
				var p *Plan
				if p, err = NewPlan(sys, []Assignment{{"swappiness", "", "10"}}); err == nil {
					_, err = Apply(context.Background(), sys, j, "set", p, false)
				}
				err = errors.Join(err, j.Close())
			}
			if r, ok := errors.AsType[*trust.Refused](err); c.want == "" && err != nil || c.want != "" &&
				(!ok || r.Why[:len(c.want)] != c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			testkit.Is(t, "keep", string(testkit.Must(os.ReadFile(file(outside)))(t)), "outside holds")
			if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
				t.Errorf("outside: %v, %v", list, err)
			}
			if b, err := os.ReadFile(filepath.Join(root, swappinessFile)); err != nil ||
				Value(b) != map[bool]string{true: "10", false: "60"}[c.want == ""] {
				t.Errorf("swappiness is %q, %v", b, err)
			}
		})
	}
}

// Elsewhere, what another user has written is no journal: root would write what it says.
func TestForeignJournal(t *testing.T) {
	testkit.Root(t)
	root, dir := t.TempDir(), t.TempDir()
	plant(t, root)
	sys := treeOf(t, root)
	set(t, sys, dir, "set", Assignment{"swappiness", "", "10"})
	testkit.OK(t, os.Chown(filepath.Join(dir, journalFile), 12345, 12345))
	for _, err := range []error{second(OpenJournal(sys, dir)), second(pending(sys, dir))} {
		if r, ok := errors.AsType[*trust.Refused](err); !ok || r.Why != "belongs to uid 12345" {
			t.Errorf("%v", err)
		}
	}
	testkit.OK(t, os.Chown(dir, 12345, 12345))
	if err := second(OpenJournal(sys, dir)); !errors.As(err, new(*trust.Refused)) {
		t.Errorf("%v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func set(t *testing.T, sys *System, dir, owner string, want ...Assignment) {
	t.Helper()
	j := testkit.Must(OpenJournal(sys, dir))(t)
	p, err := NewPlan(sys, want)
	if err == nil {
		_, err = Apply(context.Background(), sys, j, owner, p, false)
	}
	testkit.OK(t, errors.Join(err, j.Close()))
}

// tiny mounts a file system of 128 KiB, which is full but for what is reserved once fill is called.
func tiny(t *testing.T) (dir string, fill, free func()) {
	t.Helper()
	testkit.Root(t)
	dir = t.TempDir()
	testkit.OK(t, syscall.Mount("none", dir, "tmpfs", 0, "size=128k,mode=0755"))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	name := filepath.Join(dir, "filler")
	return dir, func() {
		f, err := os.Create(name)
		testkit.OK(t, err)
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 512))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}, func() { _ = os.Remove(name) }
}

// A full disk keeps nothing changed: what puts back has its room since it was set. Without such
// room, as on NFS, values are put back as well, and none is taken for another's later.
func TestRevertOnAFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		reserve bool
		owner   string // of the revert on the full disk
		fails   bool   // it cannot be said in the journal
	}{
		"reserved":             {true, "", false},
		"reserved, one of two": {true, "exp", false},
		"no room":              {false, "", false},
		"no room, one of two":  {false, "exp", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, fill, free := tiny(t)
			root := t.TempDir()
			plant(t, root)
			was := tree(t, root)
			sys := treeOf(t, root)
			set(t, sys, dir, "set", Assignment{"swappiness", "", "10"}, Assignment{"governor", "", "performance"})
			set(t, sys, dir, "exp", Assignment{"io_scheduler", "", "none"}, Assignment{"thp", "", "never"},
				Assignment{"min_freq", "", "1600000"}, Assignment{"max_freq", "", "2000000"})
			if file := filepath.Join(dir, journalFile); !c.reserve {
				b, err := os.ReadFile(file)
				if err == nil {
					err = errors.Join(os.Remove(file), os.WriteFile(file, b, 0o644))
				}
				testkit.OK(t, err)
			}
			fill()
			back := func(owner string, fails bool) {
				t.Helper()
				j := testkit.Must(OpenJournal(sys, dir))(t)
				defer j.Close() //nolint:errcheck // nothing is held
				out, err := Revert(context.Background(), sys, j, owner, ReachOurs)
				if (err != nil) != fails || err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%v", err)
				}
				for _, o := range out {
					if o.Result != Restored && o.Result != Unchanged {
						t.Errorf("%s is %s: %s", o.Path, o.Result, o.Reason)
					}
				}
			}
			back(c.owner, c.fails)
			if c.owner != "" {
				if b, _ := os.ReadFile(filepath.Join(root, swappinessFile)); string(bytes.TrimSpace(b)) != "10" {
					t.Errorf("swappiness is %q", b)
				}
				free()
				back("", false)
			}
			testkit.Same(t, was, tree(t, root))
			testkit.Refused(os.Stat(filepath.Join(dir, journalFile)))(t, "", "the journal is still there")
		})
	}
}

// On a disk that has no room to put back, nothing is set.
func TestSetOnAFullDisk(t *testing.T) {
	dir, fill, _ := tiny(t)
	root := t.TempDir()
	plant(t, root)
	was := tree(t, root)
	sys := treeOf(t, root)
	fill()
	testkit.OK(t, os.Truncate(filepath.Join(dir, "filler"), 120<<10)) // one page is free
	j := testkit.Must(OpenJournal(sys, dir))(t)
	p := testkit.Must(NewPlan(sys, []Assignment{{"swappiness", "", "10"}, {"governor", "", "performance"}}))(t)
	if _, err := Apply(context.Background(), sys, j, "set", p, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	testkit.Same(t, was, tree(t, root))
}

// A tree is the directory that was opened: one that takes its name meanwhile, or a link there, is
// neither changed nor read, and gets no journal.
func TestTreeIsHeld(t *testing.T) {
	testkit.Root(t)
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	root, other, moved := filepath.Join(dir, "root"), filepath.Join(dir, "other"), filepath.Join(dir, "moved")
	plant(t, root)
	plant(t, other)
	was := tree(t, other)
	sys, state := treeOf(t, root), filepath.Join(root, "var/lib/hostlab")
	plan := testkit.Must(NewPlan(sys, []Assignment{{"swappiness", "", "10"}}))(t)
	testkit.OK(t, errors.Join(os.Rename(root, moved), os.Symlink("other", root)))
	j := testkit.Must(OpenJournal(sys, state))(t)
	_, err := Apply(context.Background(), sys, j, "set", plan, false)
	testkit.OK(t, errors.Join(err, j.Close()))
	testkit.Same(t, was, tree(t, other), "the tree behind the link changed")
	if got := tree(t, moved); got["/proc/sys/vm/swappiness"] != "10" || got["/var/lib/hostlab/"+journalFile] == "" {
		t.Errorf("%v", got)
	}
}

// disks makes a machine of so many disks, each of which is an object.
func disks(n int) *machine {
	m := newMachine(1)
	for i := range n {
		m.files[fmt.Sprintf("/sys/block/sd%d/queue/nomerges", i)] = "0"
	}
	return m
}

// A set that would make the journal too large to be put back in seconds is refused before anything is
// written; the largest one that is not stays readable all the way, and is put back in time.
func TestLargestSet(t *testing.T) {
	want := []Assignment{{"nomerges", "", "2"}}
	try := func(n int) (*machine, error) {
		m := disks(n)
		sys := m.system()
		j := testkit.Must(OpenJournal(sys, "/j"))(t)
		p, err := NewPlan(sys, want)
		if err != nil || len(p.Steps) != n {
			t.Fatal(len(p.Steps), err)
		}
		_, err = Apply(context.Background(), sys, j, "set", p, false)
		return m, err
	}
	m, err := try(20_000)
	if err == nil || !strings.Contains(err.Error(),
		"20000 objects at once would make the journal /j/settings.journal larger than 6 MiB") || len(m.writes) > 0 ||
		len(m.disk) > 0 {
		t.Errorf("%v, %d writes, %d files", err, len(m.writes), len(m.disk))
	}
	m = testkit.Must(try(10_000))(t)
	// Processes put back, and are killed near the end.
	for disk := 13; disk > 10; disk-- {
		last := fmt.Sprintf("/sys/block/sd%d/queue/nomerges", disk)
		if died, err := m.process(fate{}, func(sys *System) error {
			m.before = func(op, path string) {
				if op == "write" && path == last {
					m.fate = fate{call: m.calls}
				}
			}
			return putBack(sys)
		}); !died {
			t.Fatal(err)
		}
		m.before = nil
		if n := len(m.disk["/j/"+journalFile].data); n > maxJournal {
			t.Fatalf("%d bytes", n)
		}
	}
	began := proc.Own()
	if err := putBackAll(m); err != nil || len(m.disk) > 0 || m.files["/sys/block/sd0/queue/nomerges"] != "0" {
		t.Error(err, len(m.disk))
	}
	if took := proc.Own() - began; took > 10 {
		t.Errorf("it took %.1f s of CPU time", took)
	}
}

// The largest journal that is accepted is put back in seconds; a larger one is refused.
func TestLargestJournal(t *testing.T) {
	const n = 20_500
	m := disks(n)
	in := &intend{Set: 1, Owner: "set", Boot: "boot1"}
	list := []event{&head{Format: format, Host: "host"}, in}
	two := "2"
	for i := range n {
		path := fmt.Sprintf("/sys/block/sd%d/queue/nomerges", i)
		m.files[path] = two
		in.Objects = append(in.Objects, planned{ID: i + 1, Setting: "nomerges", Name: fmt.Sprintf("sd%d", i), Path: path,
			From: "0", To: two})
		list = append(list, &begin{Set: 1, Path: path, To: two}, &done{Path: path, Read: &two})
	}
	b := testkit.Must(encodeLines(1, list))(t)
	if len(b) < maxJournal*9/10 || len(b) > maxJournal {
		t.Fatalf("%d bytes", len(b))
	}
	sys := m.system()
	m.disk["/j/"+journalFile] = &inode{data: b}
	began := proc.Own()
	if err := putBackAll(m); err != nil || len(m.disk) > 0 || m.files["/sys/block/sd1/queue/nomerges"] != "0" {
		t.Error(err, len(m.disk))
	}
	if took := proc.Own() - began; took > 10 {
		t.Errorf("it took %.1f s of CPU time", took)
	}
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, journalFile), append(b, make([]byte, maxJournal)...), 0o600))
	sys.Disk = Local(nil).Disk
	testkit.Refused(pending(sys, dir))(t, "larger than 7 MiB")
}
