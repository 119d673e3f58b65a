//go:build !linux

package privatedb

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// The names that the server's programs have for its directories.
const dataFile, runFile, logFile = "", "", ""

// Server does not exist on this system.
type Server struct {
	Vendor    *Vendor
	Programs  Programs
	Log       Tail
	cfg       Config
	temporary string
}

// Start fails on this system.
func Start(_ context.Context, v *Vendor, _ Config) (*Server, error) { return nil, errLinux(v) }

// The rest is what a Server does elsewhere.
func (s *Server) Err() error                            { return errLinux(s.Vendor) }
func (s *Server) MoveLog(context.Context, string) error { return errLinux(s.Vendor) }
func (s *Server) CPU() (Usage, error)                   { return Usage{}, errLinux(s.Vendor) }
func (s *Server) Close() error                          { return nil }
func (s *Server) Done() <-chan struct{}                 { return nil }
func (s *Server) Dir() string                           { return "" }
func (s *Server) SocketDir() string                     { return "" }
func (s *Server) PID() int                              { return 0 }
func (s *Server) AwaitEnd(int)                          {}
func (s *Server) socket(string) string                  { return "" }
func (s *Server) home() string                          { return "" }
func (s *Server) separateLog() bool                     { return false }

func (s *Server) command(string, []string, syscall.Signal) *exec.Cmd { return nil }

func writeService(s *Server) error  { return errLinux(s.Vendor) }
func makeTemporary(s *Server) error { return errLinux(s.Vendor) }
func segmentOf(*os.Root) (f func()) { return nil }

// errLinux is the error of other systems.
func errLinux(v *Vendor) error {
	return errors.New("a private " + v.Product + " takes Linux; use the embedded engine here")
}

// Meter does not exist on this system.
type Meter struct{ Server int }

func (*Meter) Read() (Usage, error) { return Usage{}, errors.New("CPU times of servers take Linux") }
