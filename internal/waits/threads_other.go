//go:build !linux

package waits

import "errors"

// Threads sees nothing here: only Linux tells in which system call a thread waits.
type Threads struct{}

// OpenThreads returns why there is nothing to look at.
func OpenThreads(int, int) (*Threads, error) { return nil, errors.ErrUnsupported }

// Of looks at nothing.
func (*Threads) Of(int) (w Wait, at string, err error) { return w, "", errors.ErrUnsupported }

func (*Threads) Keep(map[int]bool) {}

func (*Threads) Close() {}
