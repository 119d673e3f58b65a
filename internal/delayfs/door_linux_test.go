//go:build system

package delayfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// Who may rename a directory above a mount of ours puts a link in its place: what that leads
// to stays mounted.
func TestReplacedPath(t *testing.T) {
	base := dirs(t)
	above, moved, other := filepath.Join(base, "above"), filepath.Join(base, "moved"), filepath.Join(base, "other")
	at, innocent := filepath.Join(above, "at"), filepath.Join(other, "at")
	for _, dir := range []string{above, other, at, innocent} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	testkit.OK(t, unix.Mount("innocent", innocent, "tmpfs", 0, ""))
	defer func() { _ = unix.Unmount(innocent, unix.MNT_DETACH) }()
	m := testkit.Must(New(t.Context(), filepath.Join(base, "behind"), at, time.Millisecond))(t)
	seen := mounts()
	testkit.OK(t, errors.Join(os.Rename(above, moved), os.Symlink(other, above)))
	for _, s := range seen {
		if s.at == at {
			s.detach(false)
		}
	}
	if err := os.WriteFile(filepath.Join(innocent, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(innocent, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		t.Errorf("the other file system was unmounted: type %x, %v", st.Type, err)
	}
	if !mounted(filepath.Join(moved, "at")) {
		t.Error("ours was unmounted by the name of another")
	}
	if err := errors.Join(os.Remove(above), os.Rename(moved, above), m.Close()); err != nil || mounted(at) {
		t.Errorf("not closed: %v", err)
	}
}
