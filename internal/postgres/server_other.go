//go:build !linux

package postgres

import (
	"context"
	"errors"

	"hostlab/internal/private"
)

var errLinux = errors.New("a private PostgreSQL takes Linux; use the embedded engine here")

// Server does not exist on this system.
type Server struct {
	Programs Programs
	log      private.Tail
}

// Start fails on this system.
func Start(context.Context, Config) (*Server, error) { return nil, errLinux }

// Done is never closed.
func (s *Server) Done() <-chan struct{} { return nil }

// Err says that there is no server.
func (s *Server) Err() error { return errLinux }

// Dir is empty.
func (s *Server) Dir() string { return "" }

// SocketDir is empty.
func (s *Server) SocketDir() string { return "" }

// PID is 0.
func (s *Server) PID() int { return 0 }

// MoveWAL fails.
func (s *Server) MoveWAL(context.Context, string) error { return errLinux }

// Close does nothing.
func (s *Server) Close() error { return nil }

func (s *Server) serviceFile() string { return "" }
func (s *Server) socket(int) string   { return "" }

// CPU fails.
func (s *Server) CPU() (Usage, error) { return Usage{}, errLinux }
