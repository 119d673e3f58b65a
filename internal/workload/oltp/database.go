package oltp

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// syncs are SQLite's own words for when a commit reaches the disk.
var syncs = []string{"off", "normal", "full"}

// open opens a database file. In write-ahead mode readers and the one writer do not
// wait for each other; without a sync, the file is only to be filled and needs none.
func open(file, sync string, maxPages int) (*sql.DB, error) {
	q := url.Values{}
	pragma := func(name string, value any) { q.Add("_pragma", fmt.Sprintf("%s(%v)", name, value)) }
	pragma("busy_timeout", 10000) // a checkpoint may be in the writer's way
	pragma("cache_size", -16<<10) // KiB, of each connection
	if sync != "" {
		pragma("journal_mode", "wal")
		pragma("synchronous", sync)
	} else {
		pragma("journal_mode", "off")
		pragma("synchronous", "off")
	}
	if maxPages > 0 {
		pragma("max_page_count", maxPages)
	}
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive: https://www.sqlite.org/uri.html
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
}

// plain puts an error of the database or the file system in one line that says what
// to do. A name of a file in dir, which is gone soon, is left out.
func plain(dir string, err error) error {
	if err == nil {
		return nil
	}
	where := filepath.Dir(dir)
	const room = "make room there, take fewer rows, or run where there is more"
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff // the primary code: https://www.sqlite.org/rescode.html
	}
	switch {
	case code == sqlite3.SQLITE_FULL || isFull(err):
		return fmt.Errorf("no space left for the database in %s: %s", where, room)
	case errors.Is(err, os.ErrPermission), code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database cannot be written in %s: run as the user who owns it, or elsewhere", where)
	case code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("the database cannot be opened in %s: see that it can be written to and that files are not limited (ulimit -n)", where)
	case code == sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the file system of %s failed under the database (%w): look into the kernel's log, or %s", where, err, room)
	}
	return errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
}

// isFull: Windows has an error of its own for it (ERROR_DISK_FULL).
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(112))
}

// copyFile makes to a copy of from.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// remove removes a database file with what SQLite keeps beside it.
func remove(file string) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
