package dialog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"hostlab/internal/workload/database"
)

// garbage is how much may gather before it is collected. The collector is off in
// workers, and the drivers leave some bytes for each row.
const garbage = 512 << 20

// clients are the connections of a run. The pool's lock guards all but the queries
// themselves.
type clients struct {
	more  *sync.Cond // of the pool's lock; nil: none
	asks  []query
	under int // queries under way
	over  bool
}

// query is what a step asks for.
type query struct {
	s        *step
	document int
}

// busy is how many steps wait for the database.
func (c *clients) busy() int { return len(c.asks) + c.under }

// drop forgets what has not begun.
func (c *clients) drop() { c.asks = nil }

// ask lets a step wait for the answer to a query, for the document at a share of all.
func (x *pool) ask(s *step, share float64, now time.Duration) {
	s.asked = now
	x.clients.asks = append(x.clients.asks, query{s, int(share * float64(x.plan.Source.Documents))})
	x.clients.more.Signal()
}

// hire connects the clients of a run. fire ends them; it must be called.
func (x *pool) hire() (fire func(), err error) {
	c := &x.clients
	if x.plan.Database == "" {
		return func() {}, nil
	}
	debug.SetMemoryLimit(garbage)
	c.more = sync.NewCond(&x.mu)
	var open []*reader
	closeAll := func() {
		for _, r := range open {
			r.close()
		}
	}
	for range x.plan.Source.Clients {
		r, err := x.plan.Source.connect(context.Background()) // a run that is cancelled ends with this process
		if err != nil {
			closeAll()
			return nil, err
		}
		open = append(open, r)
	}
	var done sync.WaitGroup
	for _, r := range open {
		done.Go(func() { x.serve(r) })
	}
	return func() {
		x.mu.Lock()
		c.over = true
		c.more.Broadcast()
		x.mu.Unlock()
		done.Wait()
		closeAll()
	}, nil
}

// serve is a client: it asks what steps want to know, one after the other. The answer
// makes the step's next slice ready.
func (x *pool) serve(r *reader) {
	c := &x.clients
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		for len(c.asks) == 0 && !c.over {
			c.more.Wait()
		}
		if c.over {
			return
		}
		q := c.asks[0]
		c.asks = c.asks[1:]
		c.under++
		x.mu.Unlock()
		n, err := r.read(q.document)
		if err == nil && n != x.plan.Source.Items {
			err = fmt.Errorf("the database gave %d items of document %d, and it has %d", n, q.document, x.plan.Source.Items)
		}
		x.mu.Lock()
		c.under--
		if err != nil && x.broken == nil {
			x.broken = fmt.Errorf("a query of a step: %w", err)
			x.drop()
		}
		if x.broken != nil {
			x.ringAll()
			continue
		}
		now := x.now()
		took := now - q.s.asked
		q.s.asleep += took
		if q.s.arrived >= x.from {
			x.result.Query = append(x.result.Query, took.Seconds())
		}
		x.push(now, q.s)
		x.fire(now)
		x.hand(nil)
	}
}

// byKey reads a document, on either database.
const byKey = "SELECT item, body FROM items WHERE document = $1 ORDER BY item"

// reader is a connection to a database.
type reader struct {
	db *sql.DB
	by *sql.Stmt
}

func (s source) connect(ctx context.Context) (r *reader, err error) {
	r = &reader{}
	if s.File != "" {
		r.db, err = database.OpenFile(s.File, "ro")
	} else {
		r.db, err = s.Server.Open()
	}
	if err != nil {
		return nil, err
	}
	r.db.SetMaxOpenConns(1)
	if r.by, err = r.db.PrepareContext(ctx, byKey); err != nil {
		return nil, errors.Join(err, r.db.Close())
	}
	return r, nil
}

func (r *reader) read(document int) (n int, err error) {
	rows, err := r.by.Query(document)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for number, body := 0, (sql.RawBytes)(nil); rows.Next(); n++ {
		if err := rows.Scan(&number, &body); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

func (r *reader) close() {
	_ = r.by.Close()
	_ = r.db.Close()
}
