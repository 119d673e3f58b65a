package postgres

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// MoveWAL shuts the server down in good order, takes its write-ahead log to a directory
// of ours in dir and starts it again: the same cluster with its log on another
// device. The server must have been started with a WALDir, and nothing may be connected
// that is still needed. When it fails the server may have ended, and Close is due.
func (s *Server) MoveWAL(ctx context.Context, dir string) error {
	return s.Move(ctx, dir, s.stop, s.start)
}

// stop is a fast shutdown, with a checkpoint.
func (s *Server) stop(ctx context.Context) error {
	return s.ShutDown(ctx, unix.SIGINT, startLimit, s.Err,
		fmt.Errorf("PostgreSQL did not shut down within %s; look for a very slow disk below %s", startLimit, s.cfg.Parent))
}
