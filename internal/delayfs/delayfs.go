// Package delayfs is a file system that shows another directory and makes each sync of
// it take longer by a chosen time: fsync, fdatasync, and writes to files that were
// opened with O_DSYNC or O_SYNC. It stands for a log device behind a network, such as a
// SAN, on a host that has none. What is measured on it is emulated, never measured.
//
// It is FUSE, served by a process of ours, and every access passes through that: also
// without a delay a sync takes some 50 us longer than in the directory behind it. It is
// no access control. RWF_DSYNC of pwritev2(2) and sync_file_range(2) are not delayed:
// the kernel tells a FUSE server of neither.
package delayfs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Type is its name in mount tables.
const Type = "fuse.hostlab-delay"

// Place is a directory as a level names it: plain, or with a delay.
type Place struct {
	Dir   string        // "": none was named
	Delay time.Duration // 0: plain
}

// prefix begins what is slowed.
const prefix = "delay:"

// mostDelay is far above any device that still works.
const mostDelay = time.Minute

// ParsePlace reads DIRECTORY, delay:TIME or delay:TIME:DIRECTORY.
func ParsePlace(s string) (Place, error) {
	rest, slow := strings.CutPrefix(s, prefix)
	if !slow {
		if strings.ContainsRune(s, 0) {
			return Place{}, errors.New("a directory has no zero byte in its name")
		}
		return Place{Dir: s}, nil
	}
	text, dir, named := strings.Cut(rest, ":")
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return Place{}, fmt.Errorf("%q is not a delay: write %sTIME or %sTIME:DIRECTORY, with a time such as 500us or 1ms", s, prefix, prefix)
	case d <= 0 || d > mostDelay:
		return Place{}, fmt.Errorf("a delay of %s: expected above 0, up to %s", text, mostDelay)
	case named && dir == "":
		return Place{}, fmt.Errorf("%q names no directory behind the last colon", s)
	}
	return Place{dir, d}, nil
}
