package store

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// A disk that is full in the middle of a line: the limit on the size of files
// (setrlimit(2), EFBIG) needs no privileges and cuts a write at any byte, as
// ENOSPC does. It is the process's, so a process of its own has it.
func TestDiskFull(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_FULL"); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_FULL="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ) // or it would end the process before EFBIG is returned
	s := testkit.Must(Create(dir, sample(200), nil))(t)
	appendAll(t, s, okRun(0, 0), okRun(0, 1))
	size := s.runs.size
	line := size / 2
	recorded := []result.Run{okRun(0, 0), okRun(0, 1)}
	for extra := int64(0); extra < line; extra += 7 {
		limit(t, uint64(size+extra))
		err := s.Append(okRun(1, 0))
		if err == nil || !strings.Contains(err.Error(), "what was recorded is safe") || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%d bytes too few: %v", line-extra, err)
		}
		if got := mustLoad(t, dir); len(got.Runs) != len(recorded) || len(got.Warnings) != 0 {
			t.Fatalf("%d bytes too few: %d runs, warnings %q", line-extra, len(got.Runs), got.Warnings)
		}
	}
	limit(t, unix.RLIM_INFINITY)
	appendAll(t, s, okRun(1, 0)) // there is room again
	limit(t, 10)
	testkit.Fails(t, s.End(result.End{Reason: "looks"}), "make room", "ending on a full disk")
	s.Close()
	testkit.Refused(Create(dir+"2", sample(1), []byte("a study of more than ten bytes")))(t, "make room", "beginning on a full disk")
	testkit.Refused(os.Stat(dir+"2"))(t, "", "a record that could not be begun was left behind")
	limit(t, unix.RLIM_INFINITY)
	if got := mustLoad(t, dir); len(got.Runs) != 3 || got.End != nil {
		t.Errorf("%d runs, end %v", len(got.Runs), got.End)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, ".*")); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

func limit(t *testing.T, size uint64) {
	t.Helper()
	var now unix.Rlimit
	testkit.OK(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &now))
	now.Cur = size
	testkit.OK(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &now))
}
