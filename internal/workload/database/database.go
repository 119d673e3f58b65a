// Package database starts the databases that workloads bring along.
package database

import (
	"context"
	"errors"
	"time"

	"hostlab/internal/mariadb"
	"hostlab/internal/postgres"
	"hostlab/internal/workload"
)

// Postgres starts a private server below the workload's own directory. The parameter
// of that name chose it: it is at fault where the host has no PostgreSQL.
func Postgres(ctx context.Context, work, param string, settings map[string]string) (*postgres.Server, error) {
	return PostgresWith(ctx, work, "", param, settings)
}

// PostgresWith is Postgres with its log in a directory of its own below logDir, from
// which it can move; empty: within the cluster.
func PostgresWith(ctx context.Context, work, logDir, param string, settings map[string]string) (*postgres.Server, error) {
	s, err := postgres.Start(ctx, postgres.Config{Parent: work, WALDir: logDir, Settings: settings, Mark: workload.Mark(work)})
	if missing, ok := errors.AsType[*postgres.Missing](err); ok {
		return nil, &workload.ParamError{Name: param, Text: missing.Error()}
	}
	return s, err
}

// MariaDB is PostgresWith for a MariaDB, whose log has a fixed size.
func MariaDB(ctx context.Context, work, logDir string, logBytes int64, param string, settings map[string]string) (*mariadb.Server, error) {
	s, err := mariadb.Start(ctx, mariadb.Config{Parent: work, LogDir: logDir, LogBytes: logBytes, Settings: settings, Mark: workload.Mark(work)})
	if missing, ok := errors.AsType[*mariadb.Missing](err); ok {
		return nil, &workload.ParamError{Name: param, Text: missing.Error()}
	}
	return s, err
}

// Installed looks for the programs of a server that a parameter chose: postgres or
// mariadb; other values take none. The error is a *workload.ParamError of that parameter.
func Installed(ctx context.Context, param, server string) (err error) {
	switch server {
	case "postgres":
		_, err = postgres.Find(ctx)
	case "mariadb":
		_, err = mariadb.Find(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return &workload.ParamError{Name: param, Text: err.Error()}
	}
	return ctx.Err()
}

// Quiet are settings of a server whose data are made anew for every experiment and
// whose commits are not what is measured: nothing runs in the background, and
// nothing is made durable.
func Quiet() map[string]string {
	return map[string]string{"autovacuum": "off", "fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0",
		"checkpoint_timeout": "1d", "max_wal_size": "64GB", "bgwriter_lru_maxpages": "0", "jit": "off", "synchronize_seqscans": "off"}
}

// Cause puts the end of a server, if that is what happened, in the place of what followed
// from it in a worker. Without a server the error stays.
func Cause(ctx context.Context, s *postgres.Server, err error) error {
	if err == nil || ctx.Err() != nil || s == nil {
		return err
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(time.Second): // its end may take a moment longer than that of a connection
		return err
	}
}
