package oltp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
)

// kind is what a transaction does.
type kind int

const (
	pointRead kind = iota // a customer by number
	rangeRead             // orders that follow each other
	newOrder              // takes stock, charges the customer, adds the order
)

// transaction is one, decided by the seed and its number alone: which worker makes
// it, and when, changes nothing of what it does.
type transaction struct {
	kind kind
	n    int64 // the transaction's number in its run, from 0
	at   int64 // customer of a point read, first order of a range read
	new  order
}

// load is what the transactions of a run are drawn from.
type load struct {
	rows  int64
	reads float64 // share of all, 0 to 1
	seed  uint64
}

// rangeShare is that of all reads.
const rangeShare = 0.3

func (l load) transaction(n int64) transaction {
	r := rand.New(rand.NewPCG(l.seed, uint64(n)))
	t := transaction{n: n}
	switch p := r.Float64(); {
	case p >= l.reads:
		t.kind = newOrder
		t.new = order{id: ordersEach*l.rows + 1 + n, customer: 1 + r.Int64N(l.rows), item: 1 + r.Int64N(items(l.rows)),
			quantity: 1 + r.Int64N(9)}
		t.new.amount = t.new.quantity * priceOf(t.new.item)
	case p >= l.reads*(1-rangeShare):
		t.kind = rangeRead
		t.at = 1 + r.Int64N(max(1, ordersEach*l.rows-rangeRows+1))
	default:
		t.at = 1 + r.Int64N(l.rows)
	}
	return t
}

// last is the last order of a range read.
func (t transaction) last(rows int64) int64 { return min(t.at+rangeRows-1, ordersEach*rows) }

// want is what a transaction's reads must sum up to.
func (t transaction) want(rows int64) (sum uint64) {
	switch t.kind {
	case pointRead:
		return checkCustomer(creditOf(t.at), len(nameOf(t.at)))
	case rangeRead:
		for id := t.at; id <= t.last(rows); id++ {
			sum += firstOrder(id, rows).check()
		}
		return sum
	}
	return mix(uint64(priceOf(t.new.item)))
}

func checkCustomer(credit int64, name int) uint64 { return mix(uint64(credit)) + mix(uint64(name)) }

// add is what a transaction changes.
func (t *totals) add(x transaction) {
	if x.kind == newOrder {
		t.Orders++
		t.Amount += x.new.amount
		t.Balance += x.new.amount
		t.Stock -= x.new.quantity
	}
}

// client is one worker's connection, with its statements.
type client struct {
	conn                                          *sql.Conn
	customer, orders, price, stock, charge, order *sql.Stmt
	begin, commit, rollback                       *sql.Stmt
	// writers is the queue in front of the one writer that SQLite allows; nil: the server
	// locks rows, an item before a customer, so that no two transactions wait for each other.
	// Without the queue waiting writers would poll, asleep in between for up to 100 ms.
	writers *sync.Mutex
	rows    int64
	all     []*sql.Stmt
}

func newClient(ctx context.Context, db *sql.DB, rows int64, writers *sync.Mutex) (*client, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, writers: writers, rows: rows}
	begin := "BEGIN"
	if writers != nil {
		begin = "BEGIN IMMEDIATE"
	}
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&c.customer, readCustomer}, {&c.orders, readOrders}, {&c.price, readPrice}, {&c.stock, takeStock}, {&c.charge, charge},
		{&c.order, addOrder},
		{&c.begin, begin}, {&c.commit, "COMMIT"}, {&c.rollback, "ROLLBACK"},
	} {
		if *s.to, err = conn.PrepareContext(ctx, s.text); err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.all = append(c.all, *s.to)
	}
	return c, nil
}

// close ends the statements before their connection. SQLite keeps a connection with
// statements and its files open (sqlite3_close_v2): removed files would take room
// until the worker ends, and on Windows they cannot be removed.
func (c *client) close() error {
	var errs []error
	for _, s := range c.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// do makes a transaction and returns the sum of what it read.
func (c *client) do(ctx context.Context, t transaction) (sum uint64, err error) {
	switch t.kind {
	case pointRead:
		var credit int64
		var name string
		if err := c.customer.QueryRowContext(ctx, t.at).Scan(&credit, &name); err != nil {
			return 0, fmt.Errorf("customer %d: %w", t.at, err)
		}
		return checkCustomer(credit, len(name)), nil
	case rangeRead:
		return c.readOrders(ctx, t)
	}
	if c.writers != nil {
		c.writers.Lock()
		defer c.writers.Unlock()
	}
	if _, err := c.begin.ExecContext(ctx); err != nil {
		return 0, err
	}
	if sum, err = c.write(ctx, t.new); err == nil {
		_, err = c.commit.ExecContext(ctx)
	}
	if err != nil {
		_, _ = c.rollback.ExecContext(ctx) // the first error counts; it may have been rolled back already
		return 0, fmt.Errorf("order %d: %w", t.new.id, err)
	}
	return sum, nil
}

func (c *client) readOrders(ctx context.Context, t transaction) (sum uint64, err error) {
	rows, err := c.orders.QueryContext(ctx, t.at, t.last(c.rows))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.customer, &o.item, &o.quantity, &o.amount); err != nil {
			return 0, err
		}
		sum += o.check()
	}
	return sum, rows.Err()
}

func (c *client) write(ctx context.Context, o order) (uint64, error) {
	var price int64
	if err := c.price.QueryRowContext(ctx, o.item).Scan(&price); err != nil {
		return 0, err
	}
	for _, s := range []struct {
		stmt *sql.Stmt
		args []any
	}{
		{c.stock, []any{o.quantity, o.item}}, {c.charge, []any{o.quantity * price, o.customer}},
		{c.order, []any{o.id, o.customer, o.item, o.quantity, o.quantity * price}},
	} {
		if _, err := s.stmt.ExecContext(ctx, s.args...); err != nil {
			return 0, err
		}
	}
	return mix(uint64(price)), nil
}
