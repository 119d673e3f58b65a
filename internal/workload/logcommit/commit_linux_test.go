//go:build system

package logcommit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// Roles that this test binary plays when it is started again.
const (
	roleVar = "HOSTLAB_LOGCOMMIT_TEST"
	dirVar  = "HOSTLAB_LOGCOMMIT_DIR"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case "commit", "commit-named":
		os.Exit(commitUntilSignal(os.Getenv(dirVar), role == "commit-named"))
	case "mounts":
		os.Exit(tryMounts(os.Getenv(dirVar)))
	default:
		os.Exit(64)
	}
}

// commitUntilSignal commits as the command does: until a signal cancels it.
func commitUntilSignal(dir string, named bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	cfg := DefaultConfig(dir)
	cfg.named = named
	l, err := Open(cfg)
	if err != nil {
		println(err.Error())
		return 1
	}
	defer func() { _ = l.Close() }()
	fmt.Println("open")
	_, err = l.Block(ctx, 100_000_000, nil)
	if !errors.Is(err, context.Canceled) {
		println(err.Error())
		return 1
	}
	return 0
}

func startCommitting(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role, dirVar+"="+dir)
	cmd.Stderr = os.Stderr
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the other run did not open its log: %q, %v", line, err)
	}
	return cmd
}

func TestSignals(t *testing.T) {
	dir := t.TempDir()
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM} {
		cmd := startCommitting(t, "commit-named", dir)
		time.Sleep(10 * time.Millisecond)
		_ = cmd.Process.Signal(sig)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		mustBeEmpty(t, dir)
	}

	// The next start removes what SIGKILL left, but not the file of a run that lives.
	dead := startCommitting(t, "commit-named", dir)
	live := startCommitting(t, "commit-named", dir)
	if n := len(names(t, dir)); n != 2 {
		t.Fatalf("%d log files of 2 runs", n)
	}
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if n := len(names(t, dir)); n != 2 {
		t.Fatalf("%d log files after SIGKILL: this test tests nothing", n)
	}
	cfg := small(dir, Allocated)
	cfg.named = true
	l := open(t, cfg)
	testkit.Is(t, 2, len(names(t, dir)), "log files, want the live run's and the new one", names(t, dir))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_ = live.Process.Signal(unix.SIGINT)
	if err := live.Wait(); err != nil {
		t.Error(err)
	}
	mustBeEmpty(t, dir)
}

// Where the file system makes files without a name, nothing is ever to be seen, nor left.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	cmd := startCommitting(t, "commit", dir)
	mustBeEmpty(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	mustBeEmpty(t, dir)
}

// A directory that was found is not followed through a link that its owner put there.
func TestNoLinks(t *testing.T) {
	real := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	victim, log := filepath.Join(real, "victim"), filepath.Join(real, "data", "log")
	for _, d := range []string{victim, log} {
		testkit.OK(t, os.MkdirAll(d, 0o700))
	}
	cfg := small(log, Allocated)
	cfg.NoLinks = true
	if err := open(t, cfg).Close(); err != nil {
		t.Error(err)
	}
	for _, swapped := range []string{log, filepath.Dir(log)} {
		testkit.OK(t, errors.Join(os.RemoveAll(swapped), os.Symlink(victim, swapped)))
		if l, err := Open(cfg); err == nil {
			t.Errorf("committed through a link at %s", swapped)
			_ = l.Close()
		} else if de, ok := errors.AsType[*DirError](err); !ok || !strings.Contains(de.Problem, "symbolic link") {
			t.Errorf("%v", err)
		}
	}
}

// names lists the log files in dir.
func names(t *testing.T, dir string) []string {
	root := testkit.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	return leftBehind(root)
}

// TestSweepTouchesOnlyOurs plants what looks like a log file and is none.
func TestSweepTouchesOnlyOurs(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	testkit.OK(t, os.WriteFile(precious, []byte("x"), 0o600))
	plant := map[string]func(path string) error{
		prefix + "1-link":     func(p string) error { return os.Symlink(precious, p) },
		prefix + "1-hardlink": func(p string) error { return os.Link(precious, p) },
		prefix + "1-dir":      func(p string) error { return os.Mkdir(p, 0o700) },
		prefix + "1-fifo":     func(p string) error { return unix.Mkfifo(p, 0o600) },
		"other":               func(p string) error { return os.WriteFile(p, nil, 0o600) },
	}
	for name, make := range plant {
		testkit.OK(t, make(filepath.Join(dir, name)))
	}
	stale := filepath.Join(dir, prefix+"1-stale")
	testkit.OK(t, os.WriteFile(stale, nil, 0o600))
	root := testkit.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	sweep(root)
	for name := range plant {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("removed: %s", name)
		}
	}
	if _, err := os.Lstat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dead run's file is still there: %v", err)
	}
}

// TestFullFileSystem makes writes fail in the middle of a run as on a full file
// system, by /dev/full, which any user may open. TestMounts fills a real one.
func TestFullFileSystem(t *testing.T) {
	full := dirError("/d", &os.PathError{Op: "write", Path: "/d/" + prefix + "1-x", Err: syscall.ENOSPC})
	if got := full.Error(); !strings.Contains(got, "full") || strings.Contains(got, prefix) {
		t.Errorf("%q", got)
	}
	f := testkit.Must(os.OpenFile("/dev/full", os.O_RDWR, 0))(t)
	dir := t.TempDir()
	l := open(t, small(dir, Allocated))
	_ = l.f.Close()
	l.f = f // from here every write fails with ENOSPC
	_, err := l.Block(context.Background(), 3, nil)
	if de, ok := errors.AsType[*DirError](err); !ok || !errors.Is(err, syscall.ENOSPC) || de.Dir != dir {
		t.Errorf("%v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	mustBeEmpty(t, dir)
}

// TestMounts tries real mounts: a read-only one, a tiny one, a full one, in a name space
// of the child's own.
func TestMounts(t *testing.T) {
	testkit.Root(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=mounts", dirVar+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func tryMounts(base string) int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		println(err.Error())
		return 1
	}
	status := 0
	complain := func(what string, err error) {
		text := "no error"
		if err != nil {
			text = err.Error()
		}
		println(what + ": " + text)
		status = 1
	}
	mount := func(name, options string, flags uintptr) string {
		dir := filepath.Join(base, name)
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = unix.Mount("hostlab-test", dir, "tmpfs", flags, options)
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		return dir
	}
	readOnly := mount("ro", "size=1m", unix.MS_RDONLY)
	if err := Preflight(host.Storage{}, readOnly, 1); !errors.Is(err, syscall.EROFS) {
		complain("preflight of a read-only mount", err)
	}
	if _, err := Open(small(readOnly, Allocated)); !errors.Is(err, syscall.EROFS) {
		complain("open on a read-only mount", err)
	}
	tiny := mount("tiny", "size=64k", 0)
	if err := Preflight(host.Storage{}, tiny, 1<<20); !errors.Is(err, syscall.ENOSPC) {
		complain("preflight of a tiny mount", err)
	}
	if MemoryDir(readOnly) || !MemoryDir(tiny) {
		complain("MemoryDir", nil)
	}
	for _, layout := range []Layout{Allocated, Overwritten, Extending} {
		cfg := small(tiny, layout)
		cfg.Bytes = 1 << 20
		l, err := Open(cfg)
		if layout == Extending { // the others need the space at once
			if err != nil {
				complain("open", err)
				return status
			}
			var times []float64
			times, err = l.Block(context.Background(), 1000, nil)
			if len(times) != 16 { // 64 KiB
				complain("commits before a tiny file system was full", err)
			}
			if err := l.Close(); err != nil {
				complain("close", err)
			}
		}
		if _, ok := errors.AsType[*DirError](err); !ok || !errors.Is(err, syscall.ENOSPC) {
			complain(string(layout)+" on a full file system", err)
		}
		if n := len(names(nil, tiny)); n != 0 {
			complain(string(layout)+" left a file", nil)
		}
	}
	return status
}
