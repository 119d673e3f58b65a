//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/delayfs"
	"hostlab/internal/privatedb"
)

// place is a server and where its files lie: the log behind a delay, the data in memory or,
// where cold, on a disk and in no cache.
type place struct {
	Vendor *privatedb.Vendor
	Delay  time.Duration // of a sync of the log
	Big    bool          // has a table of bigRows, read from the disk
	Cached bool          // the same with a cache for all of it
}

const (
	bigRows  = 200_000 // of 1 KiB
	memory   = "/dev/shm"
	evicting = 5 * time.Millisecond
)

// server is one that runs.
type server struct {
	*privatedb.Server
	place
	db    *sql.DB
	mount *delayfs.Mount
	dir   string
	files []*os.File // of the big table
}

// servers are kept until the end: a new one takes seconds.
type servers map[place]*server

func (all servers) get(ctx context.Context, p place) (*server, error) {
	if s := all[p]; s != nil {
		return s, nil
	}
	s, err := start(ctx, p)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	all[p] = s
	return s, nil
}

func (all servers) close() (err error) {
	for _, s := range all {
		err = errors.Join(err, s.close())
	}
	return err
}

func start(ctx context.Context, p place) (s *server, err error) {
	s = &server{place: p}
	if s.dir, err = os.MkdirTemp(memory, "live"); err != nil {
		return s, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // the server's account enters it
		return s, err
	}
	c := privatedb.Config{Parent: memory, LogDir: s.dir, LogBytes: 512 << 20, Settings: p.settings()}
	if p.Big {
		c.Parent = os.TempDir()
	}
	if p.Delay > 0 {
		behind, at := filepath.Join(s.dir, "behind"), filepath.Join(s.dir, "at")
		if err := errors.Join(os.Mkdir(behind, 0o755), os.Mkdir(at, 0o755)); err != nil { //nolint:gosec // as above
			return s, err
		}
		if s.mount, err = delayfs.New(ctx, behind, at, p.Delay); err != nil {
			return s, err
		}
		c.LogDir = at
	}
	if s.Server, err = privatedb.Start(ctx, p.Vendor, c); err != nil {
		return s, err
	}
	if s.db, err = open(p.Vendor.Name, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", s.socket())
	}); err != nil {
		return s, err
	}
	s.db.SetMaxIdleConns(0) // an idle session is time of the server's
	return s, s.fill(ctx)
}

func (p place) settings() map[string]string {
	if p.Vendor == privatedb.MariaDB {
		set := map[string]string{"innodb_buffer_pool_size": "64M", "performance_schema": "ON"}
		switch {
		case p.Cached:
			set["innodb_buffer_pool_size"] = "512M"
		case p.Big:
			set["innodb_buffer_pool_size"] = "8M"
		}
		return set
	}
	set := map[string]string{"track_wal_io_timing": "on", "track_io_timing": "on", "autovacuum": "off", "shared_buffers": "64MB",
		"checkpoint_timeout": "1h", "max_wal_size": "4GB", "min_wal_size": "512MB"}
	switch {
	case p.Cached:
		set["shared_buffers"] = "512MB"
	case p.Big:
		set["shared_buffers"] = "1MB"
	}
	return set
}

func (s *server) socket() string {
	if s.place.Vendor == privatedb.MariaDB {
		return s.SocketDir() + "/mariadb.sock"
	}
	return s.SocketDir() + "/.s.PGSQL.5432"
}

func (s *server) dsn() string {
	if s.place.Vendor == privatedb.MariaDB {
		return "mariadb://hostlab@localhost/hostlab?socket=" + s.socket()
	}
	return "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"
}

// fill makes the tables: a small one with a row for each client, each row in a page of its own,
// and the big one.
func (s *server) fill(ctx context.Context) error {
	maria := s.place.Vendor == privatedb.MariaDB
	texts := []string{
		"create table t (id int primary key, n int not null, pad char(100)) with (fillfactor = 10)",
		"insert into t select i, 0, 'x' from generate_series(1, 64) i",
	}
	if maria {
		texts = []string{
			"create table t (id int primary key, n int not null, pad char(100))",
			"insert into t select seq, 0, 'x' from seq_1_to_64",
		}
	}
	if s.Big {
		series := "generate_series(1, %d) i(seq)"
		if maria {
			series = "seq_1_to_%d"
		}
		texts = append(texts, "create table big (id int primary key, pad varchar(1024))",
			fmt.Sprintf("insert into big select seq, repeat('x', 900) from "+series, bigRows))
	}
	if !maria {
		texts = append(texts, "checkpoint")
	}
	if s.Cached {
		texts = append(texts, "select sum(length(pad)) from big")
	}
	for _, text := range texts {
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	if s.Big && !s.Cached && !maria {
		return s.find(ctx)
	}
	return nil
}

// find opens the files of the big table, so that they can be dropped from the page cache.
// MariaDB reads past that cache.
func (s *server) find(ctx context.Context) error {
	for _, of := range []string{"big", "big_pkey"} {
		var path string
		if err := s.db.QueryRowContext(ctx, "select pg_relation_filepath('"+of+"')").Scan(&path); err != nil {
			return err
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/cwd/%s", s.PID(), path))
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
	}
	return nil
}

// evict keeps the big table out of the page cache until ctx ends.
func (s *server) evict(ctx context.Context) {
	if len(s.files) == 0 {
		return
	}
	runtime.LockOSThread() // the thread ends with it
	rank(0, 2)
	for ctx.Err() == nil {
		for _, f := range s.files {
			_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		time.Sleep(evicting)
	}
}

func (s *server) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	if s.Server != nil {
		errs = append(errs, s.Close())
	}
	if s.mount != nil {
		errs = append(errs, s.mount.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
