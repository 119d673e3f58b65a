package logcommit

import "errors"

type mapping struct{}

// mapFile: Windows has DAX volumes, but nothing that promises stores to be durable
// without FlushViewOfFile.
func (l *Log) mapFile() error {
	return &DirError{Dir: l.cfg.Dir, Problem: "no mapping of persistent memory (MAP_SYNC) on Windows",
		Remedy: "make blocks durable in another way"}
}

func (*mapping) store([]byte, int64) error { return errors.ErrUnsupported }

func (*mapping) unmap() error { return nil }
