//go:build !linux

package private

// Server does not exist on this system.
type Server struct{ Log Tail }

// Done is never closed.
func (s *Server) Done() <-chan struct{} { return nil }

// Dir is empty.
func (s *Server) Dir() string { return "" }

// SocketDir is empty.
func (s *Server) SocketDir() string { return "" }

// PID is 0.
func (s *Server) PID() int { return 0 }
