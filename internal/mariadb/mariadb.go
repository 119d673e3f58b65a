// Package mariadb runs a MariaDB server of our own for the time of an experiment, as
// package postgres does with PostgreSQL: from the program that is installed, with new
// data in a temporary directory, reached through a Unix socket only, and removed
// afterwards.
//
// The server never runs as root. Started by root it runs as the account "mysql", which
// the packages make, or as "nobody" where there is none. The directory of its socket
// belongs to that account and nobody else can enter it; that is what keeps others out,
// since the server asks for no password (--skip-grant-tables).
//
// The data are made by the server itself (--bootstrap) without the tables of accounts,
// time zones and help, which mariadb-install-db adds in some seconds of syncs and which
// nobody uses here.
//
// Directories of temporary tables are the exception to open files: MariaDB resolves
// their names, and 10.11 crashes where its account cannot walk there.
//
// It takes Linux.
package mariadb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/private"
)

// Database is the one that the server has for its user.
const Database = "hostlab"

// Config says what server to start.
type Config struct {
	Parent   string            // an existing directory, in which the data get one of their own; absolute
	LogDir   string            // the same for the redo log; empty: it is among the data
	LogBytes int64             // of the redo log, whose size is fixed; 0: MariaDB's own
	Settings map[string]string // of the server, by their names in my.cnf: innodb_buffer_pool_size -> 256M
	Mark     string            // NAME=value for the environment of its process, by which others find it; may be empty
}

const socketName = "mariadb.sock"

// Usage is CPU time of the server's process. Its sessions are threads, and not told
// apart.
type Usage = private.Usage

// DriverConfig is how to connect. Nothing of the environment takes part.
func (s *Server) DriverConfig() *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName, cfg.Net, cfg.Addr = "hostlab", Database, "unix", s.SocketDir()+"/"+socketName
	cfg.Collation, cfg.InterpolateParams, cfg.Timeout = "utf8mb4_bin", true, 10*time.Second
	cfg.Logger = quiet{} // what a connection says of its end is in its errors too
	address := s.socket()
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", address)
	}
	return cfg
}

type quiet struct{}

// Print implements mysql.Logger.
func (quiet) Print(...any) {}

// Explain turns an error of a connection into what the user can do something about,
// in one line: the server has died, or its disk is full. A cancelled context's error
// comes before all others. nil stays nil.
func (s *Server) Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	if answer, ok := errors.AsType[*mysql.MySQLError](err); ok && answer.Number != 1053 { // ER_SERVER_SHUTDOWN: the log has the cause
		return Problem(answer, s.Dir())
	}
	wait := time.Duration(0)
	if Broken(err) {
		wait = 2 * time.Second // its end may take a moment longer than that of a connection
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(wait):
	}
	if wait == 0 {
		return err
	}
	return fmt.Errorf("the connection to MariaDB broke: %w%s", err, s.Log.LastWords())
}

// Problem puts what a server answered in one line, with what to do where that is known.
// where is its directory, as far as it is known.
func Problem(answer *mysql.MySQLError, where string) error {
	switch answer.Number {
	case 1021, 1114: // ER_DISK_FULL, ER_RECORD_FILE_FULL
		return fmt.Errorf("MariaDB's disk is full: %s; make room, or use a directory elsewhere (%s)", answer.Message, where)
	case 1041, 1037: // ER_OUT_OF_RESOURCES, ER_OUTOFMEMORY
		return fmt.Errorf("MariaDB is out of memory: %s; make the tables smaller", answer.Message)
	}
	return fmt.Errorf("MariaDB: %s (%d)", strings.ReplaceAll(answer.Message, "\n", " "), answer.Number)
}

// Broken reports an error of the connection rather than of what was asked.
func Broken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, os.ErrClosed) || strings.Contains(err.Error(), "bad connection")
}
