package oltp

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"hostlab/internal/workload/database"
)

// syncs are SQLite's own words for when a commit reaches the disk.
var syncs = []string{"off", "normal", "full"}

// open opens a database file. In write-ahead mode readers and the one writer do not
// wait for each other; without a sync, the file is only to be filled and needs none.
func open(file, sync string, maxPages int) (*sql.DB, error) {
	pragmas := []string{
		"busy_timeout(10000)", // a checkpoint may be in the writer's way
		"cache_size(-16384)",  // KiB, of each connection
	}
	if sync != "" {
		pragmas = append(pragmas, "journal_mode(wal)", "synchronous("+sync+")")
	} else {
		pragmas = append(pragmas, "journal_mode(off)", "synchronous(off)")
	}
	if maxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", maxPages))
	}
	return database.OpenFile(file, "", pragmas...)
}

// copyFile makes to, which is not there, a copy of from.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
