package postgres

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// MoveWAL shuts the server down in good order, takes its write-ahead log to a directory
// of ours in dir and starts it again: the same cluster with its log on another
// device. The server must have been started with a WALDir, and nothing may be connected
// that is still needed. When it fails the server may have ended, and Close is due.
func (s *Server) MoveWAL(ctx context.Context, dir string) error {
	if s.wal == nil {
		return errors.New("the log is part of the cluster")
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	to, file, err := kind.Move(s.wal, dir, walName, s.account)
	if err != nil {
		return err
	}
	from := s.wal
	s.files[2].Close()
	s.wal, s.files[2], s.cfg.WALDir = to, file, dir
	return errors.Join(from.Remove(), s.start(ctx))
}

// stop is a fast shutdown, with a checkpoint.
func (s *Server) stop(ctx context.Context) error {
	return s.running.ShutDown(ctx, unix.SIGINT, startLimit, s.Err,
		fmt.Errorf("PostgreSQL did not shut down within %s; look for a very slow disk below %s", startLimit, s.cfg.Parent))
}

// start launches the server of a cluster that there is, and waits for it.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL did not start within %s; look for a full or very slow disk below %s", startLimit, s.cfg.Parent))
	defer cancel()
	if err := s.launch(); err != nil {
		return err
	}
	return s.ready(ctx)
}
