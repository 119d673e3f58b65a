package main

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// reread is what a file says now, as read returns it: a second after it has changed at the latest. While it cannot be
// used, what it said before stays, and the log says so once.
func reread[T any](name string, read func() (T, error)) (func() T, error) {
	last, _ := os.Stat(name)
	said, err := read()
	if err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex
		looked time.Time
		failed string // why it could not be used at the last look; "": it could
	)
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(looked) < time.Second {
			return said
		}
		looked = time.Now()
		is, _ := os.Stat(name)
		// A new mode or owner, which may make it usable, changes none of these.
		if failed == "" && (is == nil && last == nil ||
			is != nil && last != nil && os.SameFile(is, last) && is.ModTime().Equal(last.ModTime()) &&
				is.Size() == last.Size()) {
			return said
		}
		last = is
		now, err := read()
		switch {
		case err == nil:
			said, failed = now, ""
		case err.Error() != failed:
			failed = err.Error()
			slog.Error("fleet serve: what the file said before stays", "error", err) //nolint:gosec // slog quotes
		}
		return said
	}, nil
}
