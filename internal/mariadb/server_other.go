//go:build !linux

package mariadb

import (
	"context"
	"database/sql"
	"errors"

	"hostlab/internal/private"
)

var errLinux = errors.New("a private MariaDB takes Linux; use the embedded engine here")

// Server does not exist on this system.
type Server struct {
	private.Server
	Programs Programs
}

// Start fails on this system.
func Start(context.Context, Config) (*Server, error) { return nil, errLinux }

// Open fails.
func (s *Server) Open() (*sql.DB, error) { return nil, errLinux }

// MoveLog fails.
func (s *Server) MoveLog(context.Context, string) error { return errLinux }

// Err says that there is no server.
func (s *Server) Err() error { return errLinux }

// CPU fails.
func (s *Server) CPU() (Usage, error) { return Usage{}, errLinux }

// Close does nothing.
func (s *Server) Close() error { return nil }

func (s *Server) socket() string { return "" }
