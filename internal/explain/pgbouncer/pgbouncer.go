// Package pgbouncer asks a pooler of this host how long clients wait for a slot, a session to the server. Its console
// shows sums by database, and who waits now by pool (pgbouncer(5), SHOW STATS and SHOW POOLS). Their columns differ by
// version, so they go by name.
package pgbouncer

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/explain"
)

// Pool is what a pooler said of the clients of one database, who are one user.
type Pool struct {
	Pooler   int     `json:"pooler"` // its process
	File     string  `json:"file"`   // its configuration; "": not known
	Database string  `json:"database"`
	User     string  `json:"user"`
	Mode     string  `json:"mode,omitempty"` // for how long a client keeps one: session, transaction, statement
	Slots    int     `json:"slots"`          // that it may have; 0: not known
	Waiting  float64 `json:"waiting"`        // clients that waited for one, the mean of all looks
	Working  float64 `json:"working"`        // slots that clients had, likewise
	Looks    int     `json:"looks"`
	// Transactions are those of all of its clients.
	Transactions int64 `json:"transactions"`
}

// Seen is what a pooler said.
type Seen struct {
	Pools   []Pool
	Servers map[int]bool // processes that served its slots
}

// between is the mean time between two looks, and most how many pools and servers are kept: any process may call itself
// a pooler.
const (
	between = time.Second
	most    = 1000
)

// Watch asks a pooler until ctx ends. An error says why the pooler was not asked, or stopped to answer; what was seen
// until then counts.
func Watch(ctx context.Context, console explain.Asker, pid int) (seen Seen, err error) {
	w := watching{pid: pid, console: console, pools: map[[2]string]*Pool{}, slots: map[string]int{}}
	seen.Servers = map[int]bool{}
	first, err := w.totals(ctx)
	if err != nil {
		return seen, err
	}
	if err := w.configuration(ctx); err != nil {
		return seen, err
	}
	last := first
	for {
		for _, ask := range []func(context.Context) error{w.look,
			func(ctx context.Context) error { return w.servers(ctx, seen.Servers) }} {
			if err = ask(ctx); err != nil {
				return w.seen(seen, first, last), ended(ctx, err)
			}
		}
		if now, err := w.totals(ctx); err == nil {
			last = now
		} else {
			return w.seen(seen, first, last), ended(ctx, err)
		}
		select {
		case <-ctx.Done():
			return w.seen(seen, first, last), nil
		case <-time.After(between/2 + rand.N(between)): // at random, since clients may have a rhythm of their own
		}
	}
}

// ended takes an error as none where the time was over.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

type watching struct {
	pid     int
	console explain.Asker
	file    string
	slots   map[string]int // by database
	pools   map[[2]string]*Pool
	order   [][2]string
}

// totals are how many transactions each database has had. Times are left out: 1.18 counts the wait within a
// transaction's time, and its documentation does not.
func (w *watching) totals(ctx context.Context) (map[string]int64, error) {
	rows, err := show(ctx, w.console, "STATS")
	out := map[string]int64{}
	for _, r := range rows {
		out[r["database"]] = whole(r["total_xact_count"])
	}
	return out, err
}

// configuration reads what does not change.
func (w *watching) configuration(ctx context.Context) error {
	rows, err := show(ctx, w.console, "DATABASES")
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.slots[r["name"]] = int(whole(r["pool_size"]))
	}
	rows, err = show(ctx, w.console, "CONFIG")
	for _, r := range rows {
		if r["key"] == "conffile" {
			w.file = r["value"]
		}
	}
	return err
}

func (w *watching) look(ctx context.Context) error {
	rows, err := show(ctx, w.console, "POOLS")
	for _, r := range rows {
		if r["database"] == "pgbouncer" { // the console's own
			continue
		}
		name := [2]string{r["database"], r["user"]}
		p := w.pools[name]
		if p == nil && len(w.pools) >= most {
			continue
		}
		if p == nil {
			p = &Pool{Pooler: w.pid, File: w.file, Database: name[0], User: name[1], Mode: r["pool_mode"], Slots: w.slots[name[0]]}
			w.pools[name], w.order = p, append(w.order, name)
		}
		p.Waiting += float64(whole(r["cl_waiting"])) // sums, until seen divides them
		p.Working += float64(whole(r["sv_active"]))
		p.Looks++
	}
	return err
}

func (w *watching) servers(ctx context.Context, into map[int]bool) error {
	rows, err := show(ctx, w.console, "SERVERS")
	for _, r := range rows {
		if pid := int(whole(r["remote_pid"])); pid > 0 && len(into) < most {
			into[pid] = true
		}
	}
	return err
}

func (w *watching) seen(s Seen, first, last map[string]int64) Seen {
	for _, name := range w.order {
		p := *w.pools[name]
		p.Waiting, p.Working = p.Waiting/float64(p.Looks), p.Working/float64(p.Looks)
		p.Transactions = max(0, last[p.Database]-first[p.Database])
		s.Pools = append(s.Pools, p)
	}
	slices.SortStableFunc(s.Pools, func(a, b Pool) int { return cmp.Compare(b.Waiting, a.Waiting) })
	return s
}

// show asks for one of the console's lists, its columns by name.
func show(ctx context.Context, console explain.Asker, what string) (out []map[string]string, err error) {
	rows, err := console.Ask(ctx, explain.Query{Name: "SHOW " + what, SQL: "SHOW " + what, Most: explain.Sessions})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	for _, r := range rows[1:] {
		named := map[string]string{}
		for i, name := range rows[0] {
			named[name.String] = r.Text(i)
		}
		out = append(out, named)
	}
	return out, nil
}

func whole(text string) int64 {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
