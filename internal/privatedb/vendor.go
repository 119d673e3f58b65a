// Package privatedb runs database servers of our own for the time of an experiment: from the
// programs that are installed, with new data in a temporary directory, reached through a
// Unix socket only, and removed afterwards.
//
// A server never runs as root. Started by root it runs as the account that the vendor's
// packages make, or as "nobody" where there is none, without any other group. Started by
// another user it runs as that user. Its directories belong to that account and nobody else
// can enter them, so that no password is needed and none exists.
//
// The server gets its directories as open files and names them /proc/self/fd/N. So they may
// lie below a directory that its account cannot enter, such as /root, and the path of the
// socket does not count against the 107 bytes that unix(7) allows.
//
// Servers take Linux; elsewhere Start fails.
package privatedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"hostlab/internal/lazyre"
)

// Vendor is a make of server: all that differs between them. A new one is a value of this
// type and an entry in Vendors.
type Vendor struct {
	Name    string // in parameters: postgres
	Product string // for people: PostgreSQL

	// Programs. Servers are names of the server's own program, needs of others beside it.
	servers, needs []string
	places         []string // patterns of directories, tried after PATH
	variable       string   // of the environment: the directory of the programs; empty: none
	versionArgs    []string
	version        *lazyre.Regexp // whole, major and minor number
	oldest         [2]int
	install        string // what to do where there is none

	prefix   string   // of the names of our directories, and of no other's: hostlab-postgres-
	accounts []string // that it runs as where we are root: the first that exists
	// leftover is asked before what runs in a data directory is ended, and returns what
	// removes more than files; both may be nil.
	leftover func(data *os.Root) (remove func())

	prepare   func(s *Server) error     // what it needs beside its directories
	create    func(s *Server) *exec.Cmd // makes the data
	serve     func(s *Server) *exec.Cmd
	takes     func(s *Server) string // disk space of new data, for people
	ready     string                 // in its log once it takes connections
	connector func(s *Server) (driver.Connector, error)
	stop      syscall.Signal   // a shutdown that leaves the data whole without the log
	end       []syscall.Signal // one that does not
	forks     bool             // a process for each session
	logName   string           // in its messages; empty: it does not end for want of room for its log

	// answer is what a server said, where err is that, in one line for people; ending where
	// it said that it ends. where is its directory.
	answer func(err error, where string) (said error, ending bool)
	broken func(err error) bool // the connection, rather than what was asked
}

// Vendors returns all that can be started privately.
func Vendors() []*Vendor { return []*Vendor{PostgreSQL, MariaDB} }

// Named returns the vendor of that name, nil for none.
func Named(name string) *Vendor {
	for _, v := range Vendors() {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Config says what server to start.
type Config struct {
	Parent   string            // an existing directory, in which the data get one of their own; absolute
	LogDir   string            // the same for the write-ahead or redo log; empty: it is among the data
	LogBytes int64             // of a redo log of fixed size; 0: the vendor's own
	Settings map[string]string // of the server, by their names in its configuration: shared_buffers -> 256MB
	Mark     string            // NAME=value for the environment of its processes, by which others find them; may be empty
}

// diskFull returns the error of a database that found no room in dirs; cause may be empty.
func diskFull(product, cause string, dirs ...string) error {
	if cause != "" {
		cause = ": " + cause
	}
	return fmt.Errorf(
		"%s's disk is full in %s%s; make room, use less data, or choose another directory (TMPDIR, or --out of "+
			"a study)", product, strings.Join(dirs, " or "), cause)
}

// Open returns a pool of connections to a server, none of which is made yet.
func (s *Server) Open() (*sql.DB, error) {
	c, err := s.Vendor.connector(s)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// Answer returns what a server said in err in one line, nil where err is something else.
func (v *Vendor) Answer(err error, where string) error {
	said, _ := v.answer(err, where)
	return said
}

// Explain returns what a user can act on in an error of a connection, in one line: the
// server has died, or its disk is full. A cancelled context's error comes before all
// others. nil stays nil.
func (s *Server) Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	said, ending := s.Vendor.answer(err, s.Dir())
	if said != nil && !ending {
		return said
	}
	// A dead server comes before all that follows from it; its end may take a moment longer
	// than that of a connection.
	broken := s.Vendor.broken(err)
	wait := time.Duration(0)
	if ending || broken {
		wait = 2 * time.Second
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(wait):
	}
	switch {
	case said != nil:
		return said
	case !broken:
		return err
	}
	return fmt.Errorf("the connection to %s broke: %w%s", s.Vendor.Product, err, s.Log.LastWords())
}
