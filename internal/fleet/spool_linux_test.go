package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// What hosts may leave in a spool beside documents is refused, and never waited for.
func TestSpoolOfOtherThings(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{syscall.Mkfifo(at("fifo.json"), 0o600), os.Symlink("/dev/zero", at("zero.json")),
		os.Symlink("fifo.json", at("link.json")), os.Symlink(".", at("loop")), os.Mkdir(at("dir.json"), 0o700)} {
		testkit.OK(t, err)
	}
	said := make(chan string)
	go func() {
		var lines []string
		err := Spool(dir, time.Now(), func(d Spooled) error {
			if d.Err != nil {
				lines = append(lines, d.Path+": "+d.Err.Error())
			}
			return nil
		})
		if err != nil {
			lines = append(lines, err.Error())
		}
		said <- strings.Join(lines, "\n")
	}()
	select {
	case got := <-said:
		if n := strings.Count(got, "\n") + 1; n != 3 || !strings.Contains(got,
			"fifo.json: it is not a regular file") || !strings.Contains(got, "zero.json") {
			t.Errorf("%d lines:\n%s", n, got)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a FIFO")
	}
}
