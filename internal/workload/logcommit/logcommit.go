// Package logcommit is the workload of a database's log writer: append 4 KiB,
// make them durable, repeat. What it times is what a session waits for at commit.
//
// The pattern is that of
//
//	fio --rw=write --bs=4k --fdatasync=1 --ioengine=sync --numjobs=1
//
// on a new file. fio 3.33 (filesetup.c, as strace shows it) gives such a file its
// size with fallocate(2), mode 0, and then only writes and syncs. On ext4 and XFS
// that leaves extents that are allocated but marked unwritten; each commit turns
// one block of them into written ones, which is a change of metadata, so that
// fdatasync has to commit the file system's journal besides the data. Appending to
// a file that grows costs a journal commit as well (its size changes).
// Overwriting blocks that were written before, as databases do with recycled log
// segments, costs none. The three are Layouts, because their times differ on the
// same device; Allocated, fio's, is the default.
package logcommit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	crand "crypto/rand"
)

// CommitBytes is the size of one commit: a page, and the largest block that every
// device writes atomically in practice.
const CommitBytes = 4096

// MaxFileBytes bounds what a run may take from a file system that others need.
const MaxFileBytes = 64 << 20

// prefix starts the name of every file of this package, and of no other's.
const prefix = ".hostlab-commit-"

// Layout says what a commit meets in the file.
type Layout string

// The layouts.
const (
	Allocated   Layout = "allocated"   // allocated, never written: fio's
	Extending   Layout = "extending"   // each commit makes the file longer
	Overwritten Layout = "overwritten" // written before: a recycled log
)

// Config says where and how to commit.
type Config struct {
	Dir    string
	Bytes  int64 // of the file before it starts again at 0; a multiple of CommitBytes, at most MaxFileBytes
	Layout Layout
	Seed   uint64 // of the content, which does not compress
}

// DefaultConfig has the size of a PostgreSQL log segment and fio's layout.
func DefaultConfig(dir string) Config {
	return Config{Dir: dir, Bytes: 16 << 20, Layout: Allocated, Seed: 1}
}

// Log is a file that is being committed to. It is not safe for concurrent use.
type Log struct {
	cfg   Config
	f     *os.File
	path  string
	buf   []byte
	off   int64
	count uint64
}

// Open makes the log file in cfg.Dir, after removing those that killed runs left
// there. The file has a name, unlike one of O_TMPFILE, for two reasons. btrfs long
// left inodes without links out of its log, as nobody could find them after a
// crash, so that their sync is not a commit (btrfs_log_inode_parent in
// fs/btrfs/tree-log.c of Linux 6.12). And who looks into the directory shall see
// whose file takes the space.
//
// Errors are *DirError when the directory is at fault.
func Open(cfg Config) (*Log, error) {
	if cfg.Bytes < CommitBytes || cfg.Bytes > MaxFileBytes || cfg.Bytes%CommitBytes != 0 {
		return nil, fmt.Errorf("a log of %d bytes: want a multiple of %d up to %d", cfg.Bytes, CommitBytes, int64(MaxFileBytes))
	}
	switch cfg.Layout {
	case Allocated, Extending, Overwritten:
	default:
		return nil, fmt.Errorf("unknown layout %q", cfg.Layout)
	}
	sweep(cfg.Dir)
	f, err := create(cfg.Dir)
	if err != nil {
		return nil, dirError(cfg.Dir, err)
	}
	l := &Log{cfg: cfg, f: f, path: f.Name(), buf: make([]byte, CommitBytes)}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x6c6f67))
	for i := range l.buf {
		l.buf[i] = byte(rng.Uint32())
	}
	if err := l.prepare(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// newName returns a name that tells whose file it is. The process id is for
// people; whether its owner lives is told by the lock on it, since a process id
// means nothing outside of its container.
func newName() string {
	return fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strings.ToLower(crand.Text()[:10]))
}

// Layout is the one in force: Extending where the file system cannot allocate.
func (l *Log) Layout() Layout { return l.cfg.Layout }

// Path is where the file is, until Close.
func (l *Log) Path() string { return l.path }

// Commit appends CommitBytes and makes them durable. It returns the time from
// before the write until the sync returned. It starts the file again when it is
// full, outside of that time.
func (l *Log) Commit() (time.Duration, error) {
	if l.full() {
		if err := l.prepare(); err != nil {
			return 0, err
		}
	}
	l.count++
	stamp(l.buf, l.count)
	start := time.Now()
	err := writeAt(l.f, l.buf, l.off)
	if err == nil {
		err = datasync(l.f)
	}
	took := time.Since(start)
	if err != nil {
		return took, dirError(l.cfg.Dir, fmt.Errorf("commit %d: %w", l.count, err))
	}
	l.off += CommitBytes
	return took, nil
}

// full reports whether the next commit starts the file again.
func (l *Log) full() bool { return l.off+CommitBytes > l.cfg.Bytes }

// Block commits n times and appends the times in seconds to into, which it
// returns. It makes room before the first of them, never in between, and ends
// early with ctx's error when that is cancelled; one commit is not interrupted.
func (l *Log) Block(ctx context.Context, n int, into []float64) ([]float64, error) {
	if l.off+int64(n)*CommitBytes > l.cfg.Bytes {
		if err := l.prepare(); err != nil {
			return into, err
		}
	}
	for range n {
		if err := ctx.Err(); err != nil {
			return into, err
		}
		took, err := l.Commit()
		if err != nil {
			return into, err
		}
		into = append(into, took.Seconds())
	}
	return into, nil
}

// Close removes the file. It may be called again.
func (l *Log) Close() error {
	if l.f == nil {
		return nil
	}
	err := discard(l.f, l.path)
	l.f = nil
	return err
}

// prepare brings the file into its layout, durably, and goes back to its start.
func (l *Log) prepare() error {
	err := l.layOut()
	if err == nil {
		err = l.f.Sync()
	}
	l.off = 0
	if err != nil {
		return dirError(l.cfg.Dir, fmt.Errorf("lay out %d MiB: %w", l.cfg.Bytes>>20, err))
	}
	return nil
}

func (l *Log) layOut() error {
	if l.cfg.Layout == Overwritten {
		if l.count > 0 {
			return nil
		}
		for off := int64(0); off < l.cfg.Bytes; off += CommitBytes {
			if err := writeAt(l.f, l.buf, off); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	if l.cfg.Layout == Extending {
		return nil
	}
	err := allocate(l.f, l.cfg.Bytes)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		l.cfg.Layout, err = Extending, nil // as fio goes on when fallocate fails
	}
	return err
}

// stamp makes each commit differ from the last in every sector, lest a device or
// file system that deduplicates write nothing.
func stamp(b []byte, n uint64) {
	for s := 0; s < len(b); s += 512 {
		x := (n + uint64(s)) * 0x9e3779b97f4a7c15
		for i := range 8 {
			b[s+i] = byte(x >> (8 * i))
		}
	}
}

// leftBehind lists the files in dir that have a name of ours.
func leftBehind(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // Open's create says why
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type()&fs.ModeType == 0 {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
