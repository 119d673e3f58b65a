//go:build unix && system

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

const stranger = 12345

// What another user has written is not run: not by a resume, nor by a restore, nor as root.
// Everything is refused before anything of it is written. Reading stays possible.
func TestRecordOfAnotherUser(t *testing.T) {
	testkit.Root(t)
	give := func(name string) func(dir, victim string) error {
		return func(dir, _ string) error { return os.Chown(filepath.Join(dir, name), stranger, stranger) }
	}
	replace := func(name string, by func(victim, path string) error) func(dir, victim string) error {
		return func(dir, victim string) error {
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil {
				return err
			}
			return by(victim, path)
		}
	}
	fifo := func(_, path string) error { return syscall.Mkfifo(path, 0o666) }
	writable := func(dir, _ string) error { return os.Chmod(filepath.Join(dir, runsFile), 0o666) }
	const run = "belongs to uid 12345, and the commands of a record would be run as you; read those in "
	for name, c := range map[string]struct {
		plant func(dir, victim string) error
		want  string
		reads bool // Load still does
	}{
		"directory":        {give("."), run, true},
		"study":            {give(studyFile), studyFile + " " + run, true},
		"head":             {give(headFile), headFile + " " + run, true},
		"runs":             {give(runsFile), run, true},
		"levels":           {give(levelsFile), run, true},
		"lock":             {give(LockFile), LockFile + " " + run, true},
		"writable runs":    {writable, "may be written to by everyone, and the commands", true},
		"linked lock":      {replace(LockFile, os.Symlink), LockFile + ": is a symbolic link, not a regular file; ", true},
		"FIFO for a lock":  {replace(LockFile, fifo), LockFile + ": is a FIFO", true},
		"linked levels":    {replace(levelsFile, os.Symlink), levelsFile + ": is a symbolic link", false},
		"hard-linked runs": {replace(runsFile, os.Link), "has 2 names", true},
		"FIFO for runs":    {replace(runsFile, fifo), runsFile + ": is a FIFO", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := create(t, 1)
			appendAll(t, s, okRun(0, 0))
			s.Close()
			victim := filepath.Join(t.TempDir(), "victim")
			testkit.OK(t, os.WriteFile(victim, nil, 0o644))
			if name == "linked lock" {
				testkit.OK(t, os.WriteFile(victim, []byte("keep"), 0o644))
			}
			testkit.OK(t, c.plant(dir, victim))
			before, _ := os.ReadFile(victim)
			testkit.Refused(Open(dir))(t, c.want, "Open")
			if _, err := LoadToRun(dir); name != "hard-linked runs" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("LoadToRun: %v", err)
			}
			if _, err := Load(dir); (err == nil) != c.reads {
				t.Errorf("Load: %v", err)
			}
			testkit.Is(t, string(before), string(testkit.Must(os.ReadFile(victim))(t)), "the victim holds")
		})
	}
}

// A directory of another user, or one with a planted lock, gets no record.
func TestCreateInAnotherUsersDirectory(t *testing.T) {
	testkit.Root(t)
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	testkit.OK(t, errors.Join(os.WriteFile(victim, []byte("keep"), 0o644), os.Symlink(victim, filepath.Join(dir, LockFile))))
	testkit.Refused(Create(dir, sample(1), nil))(t, "is a symbolic link")
	testkit.Is(t, "keep", string(testkit.Must(os.ReadFile(victim))(t)), "the victim holds")
	testkit.OK(t, errors.Join(os.Remove(filepath.Join(dir, LockFile)), os.Chown(dir, stranger, stranger)))
	testkit.Refused(Create(dir, sample(1), nil))(t, "belongs to uid 12345")
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// Root makes and opens no record through a link of another user, nor where another user could
// put one.
func TestRecordBehindAnotherUsersLink(t *testing.T) {
	testkit.Root(t)
	s, record := create(t, 1)
	s.Close()
	dir := t.TempDir()
	link, empty, theirs := filepath.Join(dir, "link"), filepath.Join(dir, "empty"), filepath.Join(dir, "theirs")
	testkit.OK(t, errors.Join(os.Symlink(record, link), os.Symlink(t.TempDir(), empty), os.Lchown(link, stranger, stranger), os.Lchown(empty, stranger, stranger),
		os.Mkdir(theirs, 0o755), os.Mkdir(filepath.Join(theirs, "new"), 0o755), os.Chown(theirs, stranger, stranger)))
	_, opened := Open(link)
	_, loaded := LoadToRun(link)
	_, created := Create(empty, sample(1), nil)
	for _, err := range []error{opened, loaded, created} {
		testkit.Fails(t, err, "is a symbolic link that belongs to uid 12345")
	}
	if _, err := Create(filepath.Join(theirs, "new"), sample(1), nil); err == nil || err.Error() != theirs+" belongs to uid 12345" {
		t.Error(err)
	}
	if _, err := Load(link); err != nil {
		t.Errorf("reading: %v", err)
	}
}
