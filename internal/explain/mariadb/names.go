package mariadb

import (
	"context"
	"strconv"
	"strings"

	"hostlab/internal/explain"
)

// Sessions that run something, and what. MySQL has a number for statements that differ in values alone.
var (
	runningMaria = explain.Query{Name: "running", Most: explain.Sessions, SQL: `select id, command, coalesce(state, ''), null, left(info, ` + longestText + `), user, host from information_schema.processlist
 where id <> connection_id() and info is not null`}
	runningThreads = explain.Query{Name: "running", Most: explain.Sessions, SQL: `select t.processlist_id, t.processlist_command, coalesce(t.processlist_state, ''), s.digest, left(t.processlist_info, ` + longestText + `), t.processlist_user, t.processlist_host
 from performance_schema.threads t left join performance_schema.events_statements_current s on s.thread_id = t.thread_id and s.nesting_event_id is null
 where t.type = 'FOREGROUND' and t.processlist_id <> connection_id() and t.processlist_info is not null`}
)

var longestText = strconv.Itoa(explain.LongestText)

// Transactions that wait for a row of others, and what those do.
var (
	blockedMaria = explain.Query{Name: "blocked", SQL: `select r.trx_mysql_thread_id, b.trx_mysql_thread_id, l.lock_table, coalesce(p.command, ''), coalesce(p.state, ''), coalesce(p.user, ''), coalesce(p.host, '')
 from information_schema.innodb_lock_waits w join information_schema.innodb_trx r on r.trx_id = w.requesting_trx_id join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id
 join information_schema.innodb_locks l on l.lock_id = w.requested_lock_id left join information_schema.processlist p on p.id = b.trx_mysql_thread_id limit 5000`}
	blockedThreads = explain.Query{Name: "blocked", SQL: `select r.processlist_id, b.processlist_id, concat(l.object_schema, '.', l.object_name), coalesce(b.processlist_command, ''), coalesce(b.processlist_state, ''), coalesce(b.processlist_user, ''), coalesce(b.processlist_host, '')
 from performance_schema.data_lock_waits w join performance_schema.threads r on r.thread_id = w.requesting_thread_id join performance_schema.threads b on b.thread_id = w.blocking_thread_id
 join performance_schema.data_locks l on l.engine_lock_id = w.requesting_engine_lock_id limit 5000`}
)

// Name implements explain.Names. InnoDB's row locks do not show in the process list, so that a counter says when to ask
// for them.
func (s *Source) Name(ctx context.Context, texts bool) (n explain.Naming, err error) {
	running, blocked := runningMaria, blockedMaria
	if !s.maria && s.processes.SQL == processThreads.SQL {
		running, blocked = runningThreads, blockedThreads
	}
	waiters := map[int64]explain.Waiter{}
	if s.waiting > 0 {
		rows, err := s.Ask(ctx, blocked)
		if s.asked++; err != nil {
			return n, err
		}
		n.Blocks, waiters = blocks(rows)
	}
	rows, err := s.Ask(ctx, running)
	if s.asked++; err != nil {
		return n, err
	}
	var still []int64 // who waits for locks of which nobody tells the holder
	var others []explain.Holder
	for _, r := range rows {
		d := explain.Doing{ID: r.Text(3), Kind: explain.Digest}
		event, background := "", false
		if d.Part, event, background = s.classify(r.Text(1), r.Text(2)); background {
			continue
		}
		_, waits := waiters[r.Int(0)]
		if waits && event == explain.Executing {
			d.Part = explain.Locks
		}
		switch {
		case d.Part != explain.Locks:
			others = append(others, explain.Holder{PID: r.Int(0), Part: d.Part, Event: event, User: r.Text(5),
				Client: r.Text(6)})
		case !waits:
			still = append(still, r.Int(0))
		}
		if d.ID == "" {
			d.ID, d.Kind = explain.FingerprintOf(r.Text(4), true), explain.Fingerprint
		}
		if texts {
			d.Text = r.Text(4)
		}
		n.Doing = append(n.Doing, d)
	}
	if len(others) < 2 && len(still) > 0 {
		h, found, err := s.keeper(ctx, others)
		if err != nil {
			return n, err
		}
		for range still {
			if found {
				n.Blocks = append(n.Blocks, explain.Block{Holder: h, Depth: 1})
			}
		}
	}
	n.Queue, err = s.queue(ctx)
	return n, err
}

// keeper is who holds the lock of a table, which the server does not tell: the only session that runs a statement and
// does not wait, or, where none does, the only one that is within a transaction.
func (s *Source) keeper(ctx context.Context, others []explain.Holder) (h explain.Holder, found bool, err error) {
	rows, err := s.Ask(ctx, sleepers)
	if s.asked++; err != nil || len(rows) != 1 {
		return h, false, err
	}
	r := rows[0]
	switch asleep, within := r.Int(0), r.Int(1); {
	case len(others) == 1:
		return others[0], asleep == 0, nil
	case within == 1:
		return explain.Holder{PID: r.Int(2), Part: explain.Application, Event: inTransaction, User: r.Text(3),
			Client: r.Text(4)}, true, nil
	}
	return h, false, nil
}

// sleepers are sessions that run nothing, and may hold locks: how many, how many within a transaction, and one of these.
var sleepers = explain.Query{Name: "sleepers",
	SQL: `select count(*), count(t.trx_id), max(case when t.trx_id is not null then p.id end), max(case when t.trx_id is not null then p.user end),
 max(case when t.trx_id is not null then p.host end) from information_schema.processlist p left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id
 where p.command = 'Sleep' and p.id <> connection_id()`}

// queued are requests that wait for one of the threads that serve sessions in turn (MariaDB 10.5).
var queued = explain.Query{Name: "queued",
	SQL: "select sum(queue_length), sum(threads) from information_schema.thread_pool_groups"}

// queue asks how many; nil: each session has a thread, or the server does not tell.
func (s *Source) queue(ctx context.Context) (*explain.Queue, error) {
	if !s.pool {
		return nil, nil //nolint:nilnil // that is said above
	}
	rows, err := s.Ask(ctx, queued)
	if s.asked++; err != nil || len(rows) == 0 {
		return nil, err //nolint:nilnil // as above, without rows
	}
	// The question itself has a thread.
	return &explain.Queue{Waiting: rows[0].Float(0), Working: max(0, rows[0].Float(1)-1)}, nil
}

// blocks makes chains of pairs: who waits, and for whom.
func blocks(rows []explain.Row) ([]explain.Block, map[int64]explain.Waiter) {
	waiters, holders := map[int64]explain.Waiter{}, map[int64]explain.Holder{}
	for _, r := range rows {
		w := waiters[r.Int(0)]
		w.Relation, w.By = strings.ReplaceAll(r.Text(2), "`", ""), append(w.By, r.Int(1))
		waiters[r.Int(0)] = w
		h := explain.Holder{PID: r.Int(1), User: r.Text(5), Client: r.Text(6)}
		if h.Part, h.Event, _ = Classify(r.Text(3), r.Text(4)); h.Part == explain.Idle {
			h.Part, h.Event = explain.Application, inTransaction
		}
		holders[h.PID] = h
	}
	return explain.Chains(waiters, holders), waiters
}
