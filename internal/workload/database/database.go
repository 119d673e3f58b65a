// Package database holds the private servers that workloads bring along.
package database

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload"
)

// Start starts a private server below cfg.Parent, the workload's own directory. The
// parameter param chose it: it is at fault where the host has no such server.
func Start(ctx context.Context, v *privatedb.Vendor, param string, cfg privatedb.Config) (*privatedb.Server, error) {
	cfg.Mark = workload.Mark(cfg.Parent)
	s, err := privatedb.Start(ctx, v, cfg)
	if missing, ok := errors.AsType[*privatedb.Missing](err); ok {
		return nil, workload.Wrong(param, missing.Error(), "")
	}
	return s, err
}

// Installed looks for the programs of the server that a parameter chose; what is no server
// takes none. The error is a *workload.ParamError of that parameter.
func Installed(ctx context.Context, param, server string) error {
	v := privatedb.Named(server)
	if v == nil {
		return ctx.Err()
	}
	if _, err := v.Find(ctx); err != nil && ctx.Err() == nil {
		return workload.Wrong(param, err.Error(), "")
	}
	return ctx.Err()
}

// Quiet returns settings of a PostgreSQL whose data are made anew for every experiment and
// whose commits are not what is measured: nothing runs in the background, and nothing is
// made durable.
func Quiet() map[string]string {
	return map[string]string{"autovacuum": "off", "fsync": "off", "full_page_writes": "off", "wal_level": "minimal",
		"max_wal_senders":    "0",
		"checkpoint_timeout": "1d", "max_wal_size": "64GB", "bgwriter_lru_maxpages": "0", "jit": "off",
		"synchronize_seqscans": "off"}
}

// Server holds the private PostgreSQL of a session and a connection to it. Close must be
// called. It is not safe for concurrent use.
type Server struct {
	Work  string // the workload's own directory
	Param string // the parameter that chose it
	Holds any    // what its tables hold, as the workload says it; nil after a start

	server *privatedb.Server // nil: none
	room   []int64           // what it was started for
	conn   *pgx.Conn
}

// Ready starts a server with these settings, unless one runs that has room for as much.
func (s *Server) Ready(ctx context.Context, settings map[string]string, room ...int64) (err error) {
	enough := len(s.room) == len(room)
	for i, n := range room {
		enough = enough && s.room[i] >= n
	}
	if enough && s.server != nil && s.server.Err() == nil {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.server, err = Start(ctx, privatedb.PostgreSQL, s.Param, privatedb.Config{Parent: s.Work, Settings: settings})
	s.room = room
	return err
}

// Private returns the server, nil before Ready.
func (s *Server) Private() *privatedb.Server { return s.server }

// Conn returns the session's connection, a new one where the last was lost.
func (s *Server) Conn(ctx context.Context) (_ *pgx.Conn, fresh bool, err error) {
	if s.conn != nil && !s.conn.IsClosed() && s.conn.PgConn().TxStatus() == 'I' {
		return s.conn, false, nil
	}
	s.disconnect()
	s.conn, err = s.server.Connect(ctx)
	return s.conn, true, err
}

func (s *Server) disconnect() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // broken, or its server ends anyway
	s.server.AwaitEnd(int(s.conn.PgConn().PID()))
	s.conn = nil
}

// Explain returns what a user can act on in an error of the server or of a connection.
func (s *Server) Explain(ctx context.Context, err error) error {
	if s.server == nil {
		return err
	}
	return s.server.Explain(ctx, err)
}

// Close ends the server and removes it. It may be called again.
func (s *Server) Close() error {
	s.Holds = nil
	if s.server == nil {
		return nil
	}
	s.disconnect()
	err := s.server.Close()
	s.server = nil
	return err
}
