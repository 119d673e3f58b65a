package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"hostlab/internal/explain"
)

// application is how the session calls itself.
const application = "hostlab"

// patience bounds the time that connecting may take, and an answer to a question of ours.
const patience = 10 * time.Second

// statement is the longest that the server may work on one question of ours.
const statement = 5 * time.Second

// Open connects and asks what server it is. The session can only read. Errors are one
// line without a password.
func Open(ctx context.Context, d *DSN) (explain.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g, err := d.start(ctx, (*DSN).begin)
	if err != nil {
		return nil, err
	}
	src, err := d.Vendor.source(ctx, g, g.dsn.Target(), d.Local())
	if err != nil {
		_ = g.Close() // what went wrong before counts
		return nil, g.dsn.Problem(err)
	}
	return src, nil
}

// Session opens a session for the statements of a workload, which take as long as they do. Errors are one line without
// a password.
func Session(ctx context.Context, d *DSN) (explain.Asker, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g, err := d.start(ctx, (*DSN).begin)
	if err != nil {
		return nil, err
	}
	g.within = 0
	return g, nil
}

// In opens a session like this one in another database of a PostgreSQL server.
func (g guarded) In(ctx context.Context, database string) (explain.Asker, error) {
	d := *g.dsn
	d.Postgres = d.Postgres.Copy()
	d.Postgres.Database = database
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.start(ctx, (*DSN).begin)
}

// start opens a session, whose answers are bounded. A server that was found gets a password only where it wants one,
// and where it is trusted. An error says if it is not.
func (d *DSN) start(ctx context.Context, open func(*DSN, context.Context) (explain.Asker, error)) (g guarded,
	err error) {
	for _, s := range d.attempts() {
		s.answer = &answer{}
		s.answer.next(greeting, patience)
		began := time.Now()
		a, failed := s.opened(ctx, open)
		if failed == nil {
			return guarded{a, s, patience, time.Since(began)}, nil
		}
		kept := errors.Is(failed, errKeptBack)
		if !kept && (err == nil || s.trusted) { // who came with a password tells more
			err = s.Problem(failed)
		}
		if !kept && !wantsSecret(failed) {
			break
		}
	}
	if p, ok := errors.AsType[*Problem](err); ok && d.Doubt() != "" {
		doubted := *p
		doubted.text += "; " + d.Doubt()
		err = &doubted
	}
	return g, err
}

// guarded keeps passwords out of a server's errors, makes them one line, and bounds answers.
type guarded struct {
	explain.Asker
	dsn    *DSN
	within time.Duration // that an answer takes at most; 0: as long as it does
	opened time.Duration // that the login took
}

// Opened is how long the login took.
func (g guarded) Opened() time.Duration { return g.opened }

func (g guarded) Ask(ctx context.Context, q explain.Query) (rows []explain.Row, err error) {
	defer func() { err = g.dsn.Problem(err) }()
	defer g.dsn.answer.garbled(&err)
	g.dsn.answer.next(q.Bytes(), g.within)
	return g.Asker.Ask(ctx, q)
}

func (d *DSN) opened(ctx context.Context, open func(*DSN, context.Context) (explain.Asker, error)) (_ explain.Asker,
	err error) {
	defer d.answer.garbled(&err)
	return open(d, ctx)
}

// Pooled reports that a pooler passes the session on.
func (g guarded) Pooled() bool {
	p, ok := g.Asker.(interface{ Pooled() bool })
	return ok && p.Pooled()
}

// Peer is the process of this host that holds the other end; 0: not known.
func (g guarded) Peer() int {
	for _, c := range g.dsn.answer.conns {
		if pid := g.dsn.Vendor.peer(c.Conn); pid != 0 {
			return pid
		}
	}
	return 0
}

func (g guarded) Close() error {
	g.dsn.answer.next(greeting, time.Second) // for what it has to put back
	return g.Asker.Close()
}

// begin opens a session, where this program has the driver.
func (d *DSN) begin(ctx context.Context) (explain.Asker, error) {
	v := d.Vendor
	switch {
	case v.connect != nil:
		return v.connect(ctx, d)
	case v.connector == nil:
		return nil, fmt.Errorf("this hostlab was built without %s's driver; build one with it: make build TAGS=%s",
			v.Product, v.tag)
	}
	c, err := v.connector(d)
	if err != nil {
		return nil, err
	}
	db, err := begin(ctx, c, v.first...)
	if err != nil || v.kept.SQL == "" {
		return db, err
	}
	r, err := explain.One(ctx, db, v.kept)
	if err == nil && !r.Bool(0) {
		err = errNotKept
	}
	if err != nil {
		_ = db.Close() // what went wrong before counts
		return nil, err
	}
	return db, nil
}

// errNotKept is a session of which the server says that it does not keep to what was asked of it.
var errNotKept = errors.New(
	"the session does not read only, or has no time limits, though both were asked for: something between " +
		"hostlab and the server, such as a proxy, drops them; connect to the server itself")

// network opens a connection for a driver. What was found here must be what answers.
func (d *DSN) network(ctx context.Context, network, address string) (net.Conn, error) {
	dial := d.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	c, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if d.found != nil {
		if err := d.found.check(c, d); err != nil {
			c.Close()
			return nil, err
		}
	}
	return d.answer.through(c), nil
}

// begin takes one connection, which all questions go through, and executes statements on
// it first.
func begin(ctx context.Context, c driver.Connector, first ...string) (explain.DB, error) {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return explain.DB{}, err
	}
	for _, s := range first {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			err = fmt.Errorf("%s: %w", s, err)
			return explain.DB{}, errors.Join(err, explain.DB{DB: db, Conn: conn}.Close())
		}
	}
	return explain.DB{DB: db, Conn: conn}, nil
}

// IsUsage reports whether an error is a mistake in what was typed: a DSN that names
// nothing that answers, a wrong password.
func IsUsage(err error) bool {
	_, ok := errors.AsType[*Problem](err)
	return ok
}
