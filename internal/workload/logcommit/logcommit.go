// Package logcommit is the workload of a database's log writer: append a block, make it
// durable, repeat. What it times is what a session waits for at commit. Several writers
// commit together, as sessions of a database do (group.go); how a block is made durable
// is one of Syncs.
//
// By default the pattern is that of
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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	crand "crypto/rand"

	"hostlab/internal/trust"
)

// CommitBytes is the size of one commit unless a Config says otherwise: a page, and the
// largest block that every device writes atomically in practice.
const CommitBytes = 4096

// A block is within these, a multiple of sector.
const (
	LeastBlock = 512
	MostBlock  = 64 << 10
	sector     = 512
)

// MaxFileBytes bounds what a run may take from a file system that others need.
const MaxFileBytes = 64 << 20

// prefix starts the name of every file of this package, and of no other's.
const prefix = ".hostlab-commit-"

// Layout says what a commit meets in the file.
type Layout string

const (
	Allocated   Layout = "allocated"   // allocated, never written: fio's
	Extending   Layout = "extending"   // each commit makes the file longer
	Overwritten Layout = "overwritten" // written before: a recycled log
)

// Sync says how a block is made durable.
type Sync string

// The ways. Direct goes past the page cache too, and Mapped is a store into a mapping of
// persistent memory whose cache lines are written back, without a system call.
const (
	DataSync Sync = "fdatasync"    // write, then fdatasync
	DSync    Sync = "dsync"        // a write with O_DSYNC
	Direct   Sync = "direct-dsync" // a write with O_DIRECT and O_DSYNC
	Mapped   Sync = "mapped"       // MAP_SYNC on DAX
)

// Syncs are all ways.
var Syncs = []Sync{DataSync, DSync, Direct, Mapped}

// Config says where and how to commit.
type Config struct {
	Dir    string
	Bytes  int64 // of the file before it starts again at 0; a multiple of Block, at most MaxFileBytes
	Block  int64 // bytes of one commit, a multiple of 512 from LeastBlock to MostBlock; 0: CommitBytes
	Layout Layout
	Sync   Sync   // "": DataSync
	Seed   uint64 // of the content, which does not compress

	// NoLinks refuses a link on the way to Dir: for one that was found rather than named,
	// whose owner could lead root elsewhere.
	NoLinks bool

	named bool //nolint:unused // a test's, on Linux: as where the file system makes no files without a name
}

// DefaultConfig has the size of a PostgreSQL log segment and fio's layout.
func DefaultConfig(dir string) Config {
	return Config{Dir: dir, Bytes: 16 << 20, Block: CommitBytes, Layout: Allocated, Sync: DataSync, Seed: 1}
}

// check fills in defaults, and says what cannot be.
func (c *Config) check() error {
	c.Block = cmp.Or(c.Block, CommitBytes)
	c.Sync = cmp.Or(c.Sync, DataSync)
	switch {
	case c.Block < LeastBlock || c.Block > MostBlock || c.Block%sector != 0:
		return fmt.Errorf("commits of %d bytes: want a multiple of %d from %d to %d", c.Block, sector, LeastBlock, MostBlock)
	case c.Bytes < c.Block || c.Bytes > MaxFileBytes || c.Bytes%c.Block != 0:
		return fmt.Errorf("a log of %d bytes: want a multiple of %d up to %d", c.Bytes, c.Block, int64(MaxFileBytes))
	case c.Layout != Allocated && c.Layout != Extending && c.Layout != Overwritten:
		return fmt.Errorf("unknown layout %q", c.Layout)
	case !slices.Contains(Syncs, c.Sync):
		return fmt.Errorf("unknown way to make a block durable: %q", c.Sync)
	case c.Sync == Mapped && c.Layout == Extending:
		return errors.New("a mapped log cannot grow with each commit: its layout is allocated or overwritten")
	}
	return nil
}

// Log is a file that is being committed to. It is not safe for concurrent use.
type Log struct {
	cfg   Config
	dir   *os.Root
	f     *os.File
	buf   []byte // of one commit, on a page's boundary, as O_DIRECT asks for
	off   int64
	count uint64
	mapping
}

// Open makes the log file in cfg.Dir, after removing those that killed runs left
// there. It has a name only where it must.
//
// Errors are *DirError when the directory is at fault.
func Open(cfg Config) (*Log, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	open := os.OpenRoot
	if cfg.NoLinks {
		open = trust.OpenDir
	}
	dir, err := open(cfg.Dir)
	if err != nil {
		return nil, dirError(cfg.Dir, err)
	}
	sweep(dir)
	f, err := create(dir, cfg)
	if err != nil {
		dir.Close()
		return nil, dirError(cfg.Dir, err)
	}
	l := &Log{cfg: cfg, dir: dir, f: f, buf: aligned(int(cfg.Block))}
	l.fill(cfg.Seed)
	err = l.prepare()
	if err == nil && cfg.Sync == Mapped {
		err = l.mapFile()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// aligned returns n bytes that start on a page's boundary.
func aligned(n int) []byte {
	const page = 4096
	b := make([]byte, n+page)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (page - 1)
	return b[off : off+n : off+n]
}

// fill draws the content of the commits to come.
func (l *Log) fill(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x6c6f67))
	for i := range l.buf {
		l.buf[i] = byte(rng.Uint32())
	}
}

// newName returns a name that tells whose file it is. The process id is for
// people; the lock on it shows whether its owner lives, since a process id
// means nothing outside of its container.
func newName() string {
	return fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strings.ToLower(crand.Text()[:10]))
}

// Layout is the one in force: Extending where the file system cannot allocate.
func (l *Log) Layout() Layout { return l.cfg.Layout }

// Commit appends a block and makes it durable. It returns the time from before the
// write until it was durable. It starts the file again when it is full, outside of
// that time.
func (l *Log) Commit() (time.Duration, error) {
	if l.full(1) {
		if err := l.prepare(); err != nil {
			return 0, err
		}
	}
	l.stamp(l.buf)
	return l.put(l.buf)
}

// put appends blocks that have their stamps, and makes them durable together. There
// has to be room for them.
func (l *Log) put(b []byte) (time.Duration, error) {
	start := time.Now()
	var err error
	if l.cfg.Sync == Mapped {
		if err = l.store(b, l.off); err != nil {
			err = &os.PathError{Op: "store", Path: l.f.Name(), Err: err}
		}
	} else if err = writeAt(l.f, b, l.off); err == nil && l.cfg.Sync == DataSync {
		err = datasync(l.f)
	}
	took := time.Since(start)
	if err != nil {
		return took, l.failed(fmt.Errorf("commit %d: %w", l.count, err))
	}
	l.off += int64(len(b))
	return took, nil
}

// failed is the error of a write. O_DIRECT takes whole blocks of the device only.
func (l *Log) failed(err error) error {
	if l.cfg.Sync == Direct && errors.Is(err, syscall.EINVAL) {
		return &DirError{Dir: l.cfg.Dir, Err: err,
			Problem: fmt.Sprintf("blocks of %d bytes cannot be written past the cache there (O_DIRECT)", l.cfg.Block),
			Remedy:  "commit 4 KiB or more, or make blocks durable in another way"}
	}
	return dirError(l.cfg.Dir, err)
}

// full reports whether the next n commits start the file again.
func (l *Log) full(n int) bool { return l.off+int64(n)*l.cfg.Block > l.cfg.Bytes }

// Block commits n times and appends the times in seconds to into, which it
// returns. It makes room before the first of them, never in between, and ends
// early with ctx's error when that is cancelled; one commit is not interrupted.
func (l *Log) Block(ctx context.Context, n int, into []float64) ([]float64, error) {
	if l.full(n) {
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
	err := l.unmap()
	err = errors.Join(err, discard(l.dir, l.f), l.dir.Close())
	l.f = nil
	return err
}

// prepare brings the file into its layout, durably, and goes back to its start.
func (l *Log) prepare() error {
	if l.cfg.Layout == Overwritten && l.count > 0 {
		l.off = 0 // everything is there, and durable
		return nil
	}
	err := l.layOut()
	if err == nil {
		err = l.f.Sync()
	}
	l.off = 0
	if err != nil {
		return l.failed(fmt.Errorf("lay out %d MiB: %w", l.cfg.Bytes>>20, err))
	}
	return nil
}

func (l *Log) layOut() error {
	if l.cfg.Layout == Overwritten {
		// In large pieces: with O_DSYNC each is a commit of its own.
		piece := aligned(int(min(l.cfg.Bytes, 1<<20/l.cfg.Block*l.cfg.Block)))
		for n := 0; n < len(piece); {
			n += copy(piece[n:], l.buf)
		}
		for off := int64(0); off < l.cfg.Bytes; off += int64(len(piece)) {
			if err := writeAt(l.f, piece[:min(int64(len(piece)), l.cfg.Bytes-off)], off); err != nil {
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
func (l *Log) stamp(b []byte) {
	l.count++
	for s := 0; s < len(b); s += sector {
		x := (l.count + uint64(s)) * 0x9e3779b97f4a7c15
		for i := range 8 {
			b[s+i] = byte(x >> (8 * i))
		}
	}
}

// leftBehind lists the files in dir that have a name of ours.
func leftBehind(dir *os.Root) (names []string) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil // Open's create says why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type()&fs.ModeType == 0 {
			names = append(names, e.Name())
		}
	}
	return names
}
