package logcommit

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"hostlab/internal/hot"
)

// mapping is the file in memory, with Mapped.
type mapping struct{ mem []byte }

// mapFile maps the whole file such that stores are durable once their cache lines are
// written back: MAP_SYNC, which file systems have on persistent memory with DAX alone
// (mmap(2), since Linux 4.15).
func (l *Log) mapFile() error {
	if err := hot.CanFlush(); err != nil {
		return &DirError{Dir: l.cfg.Dir, Err: err, Problem: err.Error(), Remedy: "make blocks durable in another way"}
	}
	mem, err := unix.Mmap(int(l.f.Fd()), 0, int(l.cfg.Bytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED_VALIDATE|unix.MAP_SYNC)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return &DirError{Dir: l.cfg.Dir, Err: err, Problem: "no mapping of persistent memory there (MAP_SYNC)",
			Remedy: "name a directory of ext4 or XFS on an NVDIMM that is mounted with -o dax, or make blocks durable in another way"}
	case err != nil:
		return dirError(l.cfg.Dir, wrap("mmap", l.f, err))
	}
	l.mem = mem
	return nil
}

// store copies b to offset off and writes its cache lines back. Memory that is
// broken, or a file system that is full, gives a signal rather than an error.
func (m *mapping) store(b []byte, off int64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", unix.EIO, r)
		}
	}()
	to := m.mem[off : off+int64(len(b))]
	copy(to, b)
	hot.Flush(to)
	return nil
}

func (m *mapping) unmap() error {
	if m.mem == nil {
		return nil
	}
	err := unix.Munmap(m.mem)
	m.mem = nil
	return err
}
