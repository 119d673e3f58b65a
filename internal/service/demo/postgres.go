package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"hostlab/internal/privatedb"
)

// accounts are those of the shop on PostgreSQL.
const accounts = 20000

// postgres is a private server as the shop's store.
type postgres struct {
	own *privatedb.Server
	db  *sql.DB
}

func openPostgres(dir string) (store, error) {
	ctx := context.Background()
	s, err := privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: dir,
		Settings: map[string]string{"track_wal_io_timing": "on", "track_io_timing": "on"}})
	if err != nil {
		return nil, err
	}
	p := &postgres{own: s}
	if p.db, err = s.Open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p.db.SetMaxIdleConns(most)
	for _, statement := range []string{
		"CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, name TEXT NOT NULL)",
		fmt.Sprintf("INSERT INTO account SELECT i, 1000, lpad(i::text, 100, '0') FROM generate_series(1, %d) i", accounts),
	} {
		if _, err := p.db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return p, nil
}

func (p *postgres) server() *privatedb.Server { return p.own }
func (p *postgres) close()                    { _ = p.own.Close() }

func (p *postgres) till(ctx context.Context) (till, error) {
	conn, err := p.db.Conn(ctx)
	return &session{ctx, conn}, err
}

// session is a client's.
type session struct {
	ctx  context.Context //nolint:containedctx // of the process
	conn *sql.Conn
}

func (s *session) exec(statement string, args ...any) error {
	_, err := s.conn.ExecContext(s.ctx, statement, args...)
	return err
}

func (s *session) read(r *rand.Rand) error {
	var name string
	return s.conn.QueryRowContext(s.ctx, "SELECT name FROM account WHERE id = $1", 1+r.IntN(accounts)).Scan(&name)
}

func (s *session) pay(r *rand.Rand) error {
	const take = "UPDATE account SET balance = balance - $1 WHERE id = $2"
	amount, from, to := r.IntN(10), 1+r.IntN(accounts), 1+r.IntN(accounts)
	if from > to { // each takes its locks in one order, so that no two wait for each other
		from, to = to, from
	}
	return errors.Join(s.exec("BEGIN"), s.exec(take, amount, from), s.exec(take, -amount, to))
}

func (s *session) commit() error { return s.exec("COMMIT") }
