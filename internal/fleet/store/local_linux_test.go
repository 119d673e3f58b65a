package store

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// NFS cannot be mounted in tests. So the real type of the directory at hand, as the kernel gives it, is taken for that
// of a network file system: a store there is refused, through a link too, and nothing is made.
func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statfs_t
	testkit.OK(t, unix.Statfs(dir, &st))
	if here, ok := network[int64(uint32(st.Type))]; ok {
		t.Fatalf("tests have their files on %s, where no store can be opened", here)
	}
	link := filepath.Join(elsewhere(t, st.Type), "link.db")
	testkit.OK(t, os.Symlink(filepath.Join(dir, "there.db"), link))
	for _, path := range []string{filepath.Join(dir, "fleet.db"), link} {
		s, err := Make(t.Context(), "sqlite:"+path)
		if err != nil {
			t.Fatalf("%s on a local file system: %v", path, err)
		}
		testkit.OK(t, s.Close())
	}
	usual := maps.Clone(network)
	t.Cleanup(func() { network = usual })
	network = maps.Clone(usual)
	network[int64(uint32(st.Type))] = "a network"
	for _, path := range []string{filepath.Join(dir, "fleet.db"), filepath.Join(dir, "new.db"), link} {
		s, err := Make(t.Context(), "sqlite:"+path)
		if err == nil {
			t.Errorf("%s is opened on a network file system", path)
			s.Close()
		} else if !strings.Contains(err.Error(), "is on a network, where SQLite loses data") {
			t.Errorf("%s: %v", path, err)
		}
	}
	testkit.Refused(os.Lstat(filepath.Join(dir, "new.db")))(t, "", "a store that is refused was made")
}

// elsewhere is a directory on a file system of another type than this.
func elsewhere(t *testing.T, kind int64) string {
	t.Helper()
	for _, parent := range []string{"/dev/shm", "/tmp", "/var/tmp", "."} {
		var st unix.Statfs_t
		if err := unix.Statfs(parent, &st); err != nil || st.Type == kind {
			continue
		}
		if dir, err := os.MkdirTemp(parent, "hostlab-elsewhere-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	t.Fatal("there is no second file system to write to")
	return ""
}

// The numbers are those of the kernel's include/uapi/linux/magic.h and of the file systems that are not in it.
func TestNetworkNumbers(t *testing.T) {
	want := []int64{0x517b, 0x6969, 0x00c36400, 0x01021997, 0x01161970, 0x0bd00bd0, 0x47504653, 0x5346414f, 0x6b414653,
		0x73757245, 0x7461636f, 0xfe534d42, 0xff534d42}
	if got := slices.Sorted(maps.Keys(network)); !slices.Equal(got, want) {
		t.Errorf("%#x", got)
	}
}
