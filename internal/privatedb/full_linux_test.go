//go:build system

package privatedb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"

	"golang.org/x/sys/unix"
)

// TestFullDisk runs out of disk at the start and in the middle, on small file systems
// that are mounted in a name space of a child. That takes root, which a name space for
// users cannot give here: the server runs as another account.
func TestFullDisk(t *testing.T) {
	testkit.Root(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisks is that child. It says what was not as it should be.
func fillDisks(base string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, c := range []struct {
		size string
		want string
		run  func(dir string) error
	}{
		{"8m", "PostgreSQL's disk is full in " + filepath.Join(base, "8m") + ": a new cluster takes about 60 MB; make room, use less data, ", func(dir string) error {
			s, err := Start(context.Background(), PostgreSQL, Config{Parent: dir})
			if err == nil {
				return fmt.Errorf("it started: %w", s.Close())
			}
			return err
		}},
		{"100m", "PostgreSQL's disk is full in " + filepath.Join(base, "100m") + "/", func(dir string) error {
			ctx := context.Background()
			s, err := Start(ctx, PostgreSQL, Config{Parent: dir, Settings: map[string]string{"wal_level": "minimal", "max_wal_senders": "0"}})
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // what it leaves is looked at
			c, err := s.Connect(ctx)
			if err != nil {
				return err
			}
			_, err = c.Exec(ctx, "CREATE UNLOGGED TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 200000)")
			return s.Explain(ctx, err)
		}},
		{"10m", "PostgreSQL's disk is full in " + base + " or " + filepath.Join(base, "10m") + ": a new cluster takes about 40 MB in the first and 20 MB in the second", func(dir string) error {
			s, err := Start(context.Background(), PostgreSQL, Config{Parent: base, LogDir: dir})
			if err == nil {
				return fmt.Errorf("it started: %w", s.Close())
			}
			return err
		}},
		{"40m", "PostgreSQL's log has no room left in ", func(dir string) error {
			ctx := context.Background()
			s, err := Start(ctx, PostgreSQL, Config{Parent: base, LogDir: dir, Settings: map[string]string{"max_wal_size": "16GB", "checkpoint_timeout": "1d", "autovacuum": "off"}})
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // what it leaves is looked at
			c, err := s.Connect(ctx)
			if err != nil {
				return err
			}
			if _, err = c.Exec(ctx, "CREATE TABLE t (x text)"); err != nil {
				return err
			}
			_, err = c.Exec(ctx, "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 60000)")
			return s.Explain(ctx, err)
		}},
	} {
		dir := filepath.Join(base, c.size)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+c.size); err != nil {
			return err
		}
		err := c.run(dir)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			return fmt.Errorf("with %s: %w, want %q", c.size, err, c.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			return fmt.Errorf("with %s: left %v, error %w", c.size, left, err)
		}
	}
	return nil
}
