package demo

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// engine is what holds the shop's accounts.
type engine struct {
	open    func(dir string) (*sql.DB, *privatedb.Server, error)
	fill    string // takes the number of accounts
	begin   string
	numbers bool // parameters are $1, $2
	alone   bool // it takes one writer at a time
}

// engines by the name that they are asked for by.
var engines = map[string]engine{
	"": {
		open: func(dir string) (*sql.DB, *privatedb.Server, error) {
			db, err := database.OpenFile(filepath.Join(dir, "shop.db"), "",
				"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)", "cache_size(-8192)")
			return db, nil, err
		},
		fill: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) " +
			"INSERT INTO account SELECT i, 1000, printf('%%0100d', i) FROM n",
		begin: "BEGIN IMMEDIATE", alone: true,
	},
	database.Postgres: {
		open: func(dir string) (*sql.DB, *privatedb.Server, error) {
			s, err := privatedb.Start(context.Background(), privatedb.PostgreSQL, privatedb.Config{Parent: dir,
				Settings: map[string]string{"track_wal_io_timing": "on", "track_io_timing": "on", "max_connections": "400"}})
			if err != nil {
				return nil, nil, err
			}
			db, err := s.Open()
			return db, s, err
		},
		fill:  "INSERT INTO account SELECT i, 1000, lpad(i::text, 100, '0') FROM generate_series(1, %d) i",
		begin: "BEGIN", numbers: true,
	},
}

// text is a statement with its parameters as the engine takes them.
func (e engine) text(statement string) string {
	for i := 1; e.numbers && strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", "$"+strconv.Itoa(i), 1)
	}
	return statement
}

// filling are the statements that make the shop.
func (e engine) filling() []string {
	const table = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, name TEXT NOT NULL)"
	return []string{table, fmt.Sprintf(e.fill, accounts)}
}
