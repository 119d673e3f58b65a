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
	private.Server
	Programs Programs
}

// Start fails on this system.
func Start(context.Context, Config) (*Server, error) { return nil, errLinux }

// Err says that there is no server.
func (s *Server) Err() error { return errLinux }

// MoveWAL fails.
func (s *Server) MoveWAL(context.Context, string) error { return errLinux }

// Close does nothing.
func (s *Server) Close() error { return nil }

func (s *Server) serviceFile() string { return "" }
func (s *Server) socket(int) string   { return "" }

// AwaitEnd does nothing.
func (s *Server) AwaitEnd(int) {}

// CPU fails.
func (s *Server) CPU() (Usage, error) { return Usage{}, errLinux }
