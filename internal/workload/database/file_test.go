package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestExplainFile(t *testing.T) {
	dir := filepath.Join(string(filepath.Separator)+"data", "work", "oltp-1")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "mkdir", Path: dir, Err: syscall.EACCES}, "the database cannot be written in " +
			filepath.Dir(dir)},
		{&fs.PathError{Op: "write", Path: filepath.Join(dir, "run.db"), Err: syscall.ENOSPC}, "SQLite's disk is full in " +
			filepath.Dir(dir) + "; make room"},
		{fmt.Errorf("open %s: odd", filepath.Join(dir, "run.db")), "open run.db: odd"},
	} {
		if got := ExplainFile(dir, c.err); !strings.HasPrefix(got.Error(), c.want) ||
			strings.Contains(got.Error(), "oltp-1") {
			t.Errorf("%v became %v", c.err, got)
		}
	}
	if ExplainFile(dir, nil) != nil || errors.Is(ExplainFile(dir, errors.New("x")), os.ErrPermission) {
		t.Error("an error out of nothing")
	}
}
