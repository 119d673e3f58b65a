package database

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hostlab/internal/privatedb"
)

// OpenFile opens a file of SQLite. Each pragma is written name(value); mode, where it is not
// empty, is SQLite's, such as ro.
func OpenFile(file, mode string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	if mode != "" {
		q.Set("mode", mode)
	}
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive: https://www.sqlite.org/uri.html
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
}

// ExplainFile puts an error of SQLite or the file system in one line that says what to do.
// The name of a file in dir, which is gone soon, is left out. nil stays nil.
func ExplainFile(dir string, err error) error {
	if err == nil {
		return nil
	}
	where := filepath.Dir(dir)
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff // the primary code: https://www.sqlite.org/rescode.html
	}
	switch {
	case code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC),
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(112)): // ERROR_DISK_FULL
		return privatedb.DiskFull("SQLite", "", where)
	case errors.Is(err, os.ErrPermission), code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database cannot be written in %s: run as the user who owns it, or elsewhere", where)
	case code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf(
			"the database cannot be opened in %s: see that it can be written to and that files are not limited "+
				"(ulimit -n)", where)
	case code == sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the file system of %s failed under the database (%w): look into the kernel's log, or use another "+
			"directory", where, err)
	}
	return errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
}
