package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/settings"
	"hostlab/internal/testkit"
)

// setIn does what set does, with the journal in a directory.
func setIn(t *testing.T, sys *setting.System, dir string, list ...setting.Assignment) {
	t.Helper()
	p := testkit.Must(setting.NewPlan(sys, list))(t)
	j := testkit.Must(setting.OpenJournal(sys, dir))(t)
	testkit.Must(setting.Apply(context.Background(), sys, j, setting.OwnerSet, p, false))(t)
	testkit.OK(t, j.Close())
}

// What root has set is verified by everybody: from the machine's journal, where their own says
// nothing.
func TestVerifyOfTheMachine(t *testing.T) {
	root, write := recordedTree(t, "intel-core-cst")
	sys := tree(t, root)
	own, machine := filepath.Join(root, "own"), filepath.Join(root, "machine")
	verify := func() []setting.Outcome {
		t.Helper()
		list, _, err := settings.Verify(sys, own, machine)
		testkit.OK(t, err)
		return list
	}
	testkit.Is(t, 0, len(verify()), "nothing is set, and yet")
	setIn(t, sys, machine, setting.Assignment{Name: "swappiness", Value: "10"})
	if list := verify(); len(list) != 1 || list[0].Setting != "swappiness" || list[0].Result != setting.Unchanged {
		t.Errorf("%+v", list)
	}
	write(swappiness, "77")
	if list := verify(); len(list) != 1 || list[0].Result != setting.Foreign {
		t.Errorf("%+v", list)
	}
	setIn(t, sys, own, setting.Assignment{Name: "thp", Value: "madvise"})
	if list := verify(); len(list) != 1 || list[0].Setting != "thp" {
		t.Errorf("%+v", list)
	}
	// A journal of one's own that is damaged is not passed over.
	testkit.OK(t, os.WriteFile(filepath.Join(own, "settings.journal"), []byte("x\ny\n"), 0o600))
	if list, _, err := settings.Verify(sys, own, machine); !errors.As(err, new(*setting.Problem)) ||
		errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", list, err)
	}
}

// Who asks to put back what only root can is told so by the status as well, and how many objects
// there are as verify counts them.
func TestRevertOfRootsChanges(t *testing.T) {
	root, write := recordedTree(t, "intel-core-cst")
	sys := tree(t, root)
	own, machine := filepath.Join(root, "own"), filepath.Join(root, "machine")
	revert := func(o revertOptions) (status int, stdout string) {
		t.Helper()
		o.format = cmp.Or(o.format, "text")
		var out, errs bytes.Buffer
		status, line := outcome(o.putBack(context.Background(), streams{nil, &out, &errs}, sys, own, machine))
		if strings.Contains(line, "\n") || errs.Len() > 0 {
			t.Errorf("%q, %q", line, errs.String())
		}
		return status, out.String() + line
	}
	if status, text := revert(revertOptions{}); status != exitOK || !strings.Contains(text, "no change is in force") {
		t.Errorf("nothing is set: %d, %s", status, text)
	}
	setIn(t, sys, machine, setting.Assignment{Name: "dirty_bytes", Value: "629145600"},
		setting.Assignment{Name: "swappiness", Value: "10"})
	const said = "nothing was put back: root has changed 2 objects; run hostlab revert as root"
	for name, o := range map[string]revertOptions{"plain": {}, "force": {force: true}, "forget": {forget: true},
		"owner": {owner: setting.OwnerSet}} {
		if status, text := revert(o); status != exitFailed || text != said {
			t.Errorf("%s: %d, %s", name, status, text)
		}
	}
	if status, text := revert(revertOptions{printing: printing{format: "json"}}); status != exitFailed ||
		!strings.Contains(text, `"error": "`+said) ||
		strings.Count(text, `"result": "skipped"`) != 2 || !strings.Contains(text, `"action": "revert"`) {
		t.Errorf("%d, %s", status, text)
	}
	for format, want := range map[string][]string{
		"text": {"  swappiness   10 -> 60\n", "--dry-run. It was changed by root: run 'hostlab revert' as"},
		"json": {`"setting": "swappiness"`, `"result": "planned"`, `"action": "plan"`},
	} {
		status, text := revert(revertOptions{dryRun: true, printing: printing{format: format}})
		for _, w := range want {
			if status != exitOK || !strings.Contains(text, w) {
				t.Errorf("dry run: %d, %s, want %s", status, text, w)
			}
		}
	}
	if status, text := revert(revertOptions{owner: "/nowhere"}); status != exitOK {
		t.Errorf("another owner: %d, %s", status, text)
	}
	if v, err := setting.Look(sys, machine); err != nil || len(v.Verify()) != 2 {
		t.Errorf("verify: %v, %v", v, err)
	}
	write(bootID, "two") // and all is gone
	if status, text := revert(revertOptions{}); status != exitOK {
		t.Errorf("after a reboot: %d, %s", status, text)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(machine, "settings.journal"), []byte("x\ny\n"), 0o600))
	if status, text := revert(revertOptions{}); status != exitUsage ||
		!strings.Contains(text, "your journal has nothing to put back, and root's: ") {
		t.Errorf("a damaged journal: %d, %s", status, text)
	}
}

// closedTo is a disk on which a directory may not be looked into.
type closedTo struct {
	setting.Disk
	dir string
}

func (d closedTo) denied(path string) error {
	if path == d.dir || filepath.Dir(path) == d.dir {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

func (d closedTo) ReadFile(path string) ([]byte, error) {
	if err := d.denied(path); err != nil {
		return nil, err
	}
	return d.Disk.ReadFile(path)
}

func (d closedTo) MkdirAll(path string) error {
	if err := d.denied(path); err != nil {
		return err
	}
	return d.Disk.MkdirAll(path)
}

// readOnly are files that only root may write.
type readOnly struct{ setting.FS }

func (readOnly) Writable(path string) error {
	return &fs.PathError{Op: "access", Path: path, Err: syscall.EACCES}
}

// With another user's HOME, as sudo may keep root's, the journal's directory is closed. What is to be
// set is looked at all the same, and the object says which right is missing.
func TestAnotherUsersHome(t *testing.T) {
	root, _ := recordedTree(t, "intel-core-cst")
	sys := tree(t, root)
	own, machine := filepath.Join(root, "root-home"), filepath.Join(root, "machine")
	sys.Disk = closedTo{sys.Disk, own}
	swap := []setting.Assignment{{Name: "swappiness", Value: "10"}}
	set := func(o setOptions) (int, string) {
		var out, errs bytes.Buffer
		o.format = "text"
		status, line := outcome(o.set(context.Background(), streams{nil, &out, &errs}, sys, own, swap))
		return status, out.String() + errs.String() + line
	}
	if status, text := set(setOptions{dryRun: true}); status != exitOK ||
		!strings.Contains(text, "  swappiness  60 -> 10\n") {
		t.Errorf("dry run: %d, %s", status, text)
	}
	if status, text := set(setOptions{yes: true}); status != exitFailed ||
		!strings.Contains(text, "cannot make the directory of the journal") {
		t.Errorf("set: %d, %s", status, text)
	}
	for _, dry := range []bool{true, false} {
		o := revertOptions{printing: printing{format: "text"}, dryRun: dry}
		var out bytes.Buffer
		if status, line := outcome(o.putBack(context.Background(), streams{nil, &out, &out}, sys, own,
			machine)); status != exitOK || !strings.Contains(out.String(), "Nothing to put back") {
			t.Errorf("revert, dry run %v: %d, %s%s", dry, status, out.String(), line)
		}
	}
	sys.FS = readOnly{sys.FS}
	if status, text := set(setOptions{yes: true}); status != exitFailed ||
		!strings.Contains(text, "cannot set swappiness: /proc/sys/vm/swappiness: ") ||
		!strings.Contains(text, "CAP_DAC_OVERRIDE") {
		t.Errorf("set: %d, %s", status, text)
	}
}

// lateLock is a disk whose lock comes when another program has done something.
type lateLock struct {
	setting.Disk
	before func()
}

func (d lateLock) Lock(dir string) (func(), error) {
	d.before()
	return d.Disk.Lock(dir)
}

// What another program has set between the diff and the lock is set too, and named.
func TestSetMeanwhile(t *testing.T) {
	for _, c := range []struct{ name, meanwhile, want string }{
		{"from another value", "26", "  swappiness  26 -> 23: another program has changed it since the above was shown, " +
			"from 60\n"},
		{"to what was asked for", "23", "  swappiness  23 already: another program has set it since the above was shown\n"},
		{"not at all", "60", "  swappiness  60 -> 23\n"},
	} {
		root, write := recordedTree(t, "intel-core-cst")
		sys := tree(t, root)
		sys.Disk = lateLock{sys.Disk, func() { write(swappiness, c.meanwhile) }}
		var out bytes.Buffer
		o := setOptions{printing: printing{format: "text"}, yes: true}
		err := o.set(context.Background(), streams{nil, &out, &out}, sys, filepath.Join(root, "j"),
			[]setting.Assignment{{Name: "swappiness", Value: "23"}})
		now, _ := os.ReadFile(filepath.Join(root, swappiness))
		if err != nil || !strings.Contains(out.String(), "  swappiness  60 -> 23\n") ||
			!strings.Contains(out.String(), c.want) || strings.TrimSpace(string(now)) != "23" {
			t.Errorf("%s: %v, %s now %s", c.name, err, out.String(), now)
		}
	}
	// Also what had the value already, and no longer has.
	root, write := recordedTree(t, "intel-core-cst")
	sys := tree(t, root)
	sys.Disk = lateLock{sys.Disk, func() { write(swappiness, "26") }}
	var out bytes.Buffer
	o := setOptions{printing: printing{format: "text"}, yes: true}
	want := []setting.Assignment{{Name: "swappiness", Value: "60"}, {Name: "thp", Value: "madvise"}}
	testkit.OK(t, o.set(context.Background(), streams{nil, &out, &out}, sys, filepath.Join(root, "j"), want))
	if now, _ := os.ReadFile(filepath.Join(root, swappiness)); strings.TrimSpace(string(now)) != "60" ||
		!strings.Contains(out.String(), "26 -> 60: another program") {
		t.Errorf("%s: %s", now, out.String())
	}
}

// limits are files of a kernel that takes the limit in % out of force with the one in bytes.
type limits struct{ setting.FS }

func (l limits) WriteFile(path string, value []byte) error {
	if path == "/proc/sys/vm/dirty_bytes" {
		if err := l.FS.WriteFile("/proc/sys/vm/dirty_ratio", []byte("0")); err != nil {
			return err
		}
	}
	return l.FS.WriteFile(path, value)
}

// What the kernel has changed with a setting is told with it, and by verify; it is no drift.
func TestMovedBeside(t *testing.T) {
	root, _ := recordedTree(t, "intel-core-cst")
	sys := tree(t, root)
	sys.FS = limits{sys.FS}
	dir := filepath.Join(root, "j")
	const line = "  dirty_ratio  20 % -> 0 (not in force), with dirty_bytes\n"
	var out bytes.Buffer
	o := setOptions{printing: printing{format: "text"}, yes: true}
	testkit.OK(t, o.set(context.Background(), streams{nil, &out, &out}, sys, dir,
		[]setting.Assignment{{Name: "dirty_bytes", Value: "629145600"}}))
	if text := out.String(); strings.Count(text, line) != 1 || !strings.Contains(text, "1 object set.") {
		t.Errorf("set: %s", text)
	}
	list, _, err := settings.Verify(sys, dir, dir)
	if err != nil || len(list) != 2 || list[1].Result != setting.Moved {
		t.Fatalf("verify: %+v, %v", list, err)
	}
	out.Reset()
	if err := writeDocument(&out, settings.Verified(sys, list, nil, nil, nil), "text"); err != nil ||
		!strings.Contains(out.String(), line) ||
		!strings.HasPrefix(out.String(), "1 object as set.\n") {
		t.Errorf("verify: %s, %v", out.String(), err)
	}
	out.Reset() // what does not move it does not tell it again
	if err := o.set(context.Background(), streams{nil, &out, &out}, sys, dir,
		[]setting.Assignment{{Name: "swappiness", Value: "10"}}); err != nil ||
		strings.Contains(out.String(), "dirty_ratio") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// A set that holds a setting in the foreground keeps nobody from changing and reverting others.
func TestHeldInTheForeground(t *testing.T) {
	root, write := recordedTree(t, "smt-off")
	write("dev/cpu_dma_latency", "\x00\x94\x35\x77")
	ctx, end := context.WithCancel(context.Background())
	defer end()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"set", "--root", root, "cpu_dma_latency=70us", "swappiness=10", "--yes"},
			streams{nil, io.Discard, w})
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "cpu_dma_latency is in force as long as this runs") {
		t.Fatalf("%q, %v", line, err)
	}
	for _, args := range []string{"set thp=always --yes", "verify", "revert"} {
		var out, errs bytes.Buffer
		testkit.Is(t, exitOK, run(context.Background(), append(strings.Fields(args), "--root", root),
			streams{nil, &out, &errs}), args, out.String(), errs.String())
	}
	if len(ended) > 0 {
		t.Error("it no longer holds")
	}
	end()
	testkit.Is(t, exitOK, <-ended, "status")
}

// tree is the machine that a directory stands for.
func tree(t *testing.T, dir string) *setting.System {
	t.Helper()
	root := testkit.Must(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return setting.Local(root)
}
