package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"hostlab/internal/testkit"
)

func open(t *testing.T) *os.Root {
	t.Helper()
	root := testkit.Must(os.OpenRoot(t.TempDir()))(t)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// One at a time has it, and the other learns who; a removed file keeps nobody out.
func TestTake(t *testing.T) {
	root := open(t)
	l := testkit.Must(Take(root, "lock", "works here"))(t)
	if !Held(root, "lock") {
		t.Error("it is not held")
	}
	_, err := Take(root, "lock", "works here")
	if busy, ok := errors.AsType[*Busy](err); !ok || busy.PID != os.Getpid() {
		t.Errorf("%v", err)
	}
	l.Remove()
	if Held(root, "lock") {
		t.Error("it is held still")
	}
	l = testkit.Must(Take(root, "lock", "works here"))(t)
	l.Release()
	if Held(root, "lock") {
		t.Error("it is held still")
	}
}

// Who has the file open is who may hold the lock; who has had its number before may be any process.
func TestOpened(t *testing.T) {
	root := open(t)
	l := testkit.Must(Take(root, "lock", "works here"))(t)
	defer l.Release()
	file := filepath.Join(root.Name(), "lock")
	if !Opened(os.Getpid(), file) {
		t.Error("this process has it open")
	}
	if runtime.GOOS == "linux" && Opened(os.Getppid(), file) {
		t.Error("another process has it open")
	}
}
