package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/explain"
)

// running are sessions at work, and what they run: its number (14 and later, where compute_query_id is on), or else its
// text.
func (v *version) running(texts bool) explain.Query {
	id, text, name := v.statement, "left(query, "+strconv.Itoa(explain.LongestText)+")", "running"
	if texts {
		name = "running texts"
	} else {
		text = "case when " + id + " is null then " + text + " end"
	}
	return explain.Query{Name: name, Most: explain.Sessions, SQL: `select coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), backend_type, ` + id + `, ` + text + `
 from pg_stat_get_activity(null) where pid <> pg_backend_pid() and backend_type in ('client backend', 'parallel worker', 'autovacuum worker')
 and state is distinct from 'idle' and query <> '<insufficient privilege>'`}
}

// mostWaiters are asked about, as each takes the server some time.
const mostWaiters = 100

// blocked are sessions that wait for locks of others, and those that they wait for. A row's lock shows as one on its
// tuple, by who waits first, or as one on a transaction, which names no table. Who has sent a NOTIFY commits alone, by a
// lock on no database (PreCommit_Notify in async.c).
var blocked = explain.Query{Name: "blocked", Most: explain.Sessions, SQL: `with a as (select pid, state, wait_event_type, wait_event, backend_type, application_name, usesysid, client_addr, client_port from pg_stat_get_activity(null)),
 b as (select pid, pg_blocking_pids(pid) as by from a where wait_event_type = 'Lock' limit ` + strconv.Itoa(mostWaiters) + `),
 l as (select distinct on (pid) pid, database, relation, locktype, classid from pg_locks where (relation is not null or locktype in ('advisory', 'object')) and (locktype = 'tuple' or not granted) and pid in (select pid from b) order by pid, locktype = 'tuple' desc)
 select a.pid, coalesce(a.state, ''), coalesce(a.wait_event_type, ''), coalesce(a.wait_event, ''), coalesce(pg_get_userbyid(a.usesysid)::text, ''), coalesce(a.application_name, ''),
 coalesce(host(a.client_addr), ''), coalesce(a.client_port, 0), coalesce(array_to_string(b.by, ','), ''),
 case when l.locktype = 'advisory' then 'an advisory lock' when l.locktype = 'object' and l.database = 0 and l.classid = 'pg_database'::regclass then 'the lock of those who commit a NOTIFY'
 when l.database in (0, (select oid from pg_database where datname = current_database())) then l.relation::regclass::text end,
 (select datname from pg_database d where d.oid = l.database), l.relation
 from a left join b on a.pid = b.pid left join l on a.pid = l.pid where b.pid is not null or a.pid in (select unnest(by) from b)`}

const columnsRunning = 6

// beside is the question for counters with the sessions at work in the same answer, so that both are one statement.
// Each row has the counters; without sessions there is one.
func beside(counters, running explain.Query) explain.Query {
	return explain.Query{Name: counters.Name + ", " + running.Name, Most: explain.Sessions,
		SQL: "select counted.*, ran.* from (" + counters.SQL + ") counted left join (" + running.SQL + ") ran on true"}
}

// counted asks for counters, and keeps what came beside them for the next look.
func (s *Source) counted(ctx context.Context, q explain.Query) (explain.Row, error) {
	if !s.names.wanted {
		return s.one(ctx, q)
	}
	rows, err := s.put(ctx, beside(q, s.running(s.names.texts)))
	if err != nil || len(rows) == 0 || len(rows[0]) <= columnsRunning {
		return explain.Row{}, err
	}
	n := len(rows[0]) - columnsRunning
	s.names.rows, s.names.fresh = nil, true
	for _, r := range rows {
		if !r.Null(n + 3) { // the kind of process
			s.names.rows = append(s.names.rows, r[n:])
		}
	}
	return rows[0][:n], nil
}

// runs are sessions at work. Where counters are asked for once a second and nothing else is, they come with those.
func (s *Source) runs(ctx context.Context, texts bool) ([]explain.Row, error) {
	if s.memory == nil {
		s.names.wanted = false
		return s.put(ctx, s.running(texts))
	}
	s.names.wanted, s.names.texts = true, texts
	if !s.names.fresh {
		return nil, explain.ErrNotYet
	}
	s.names.fresh = false
	return s.names.rows, nil
}

func (s *Source) Name(ctx context.Context, texts bool) (n explain.Naming, err error) {
	rows, err := s.runs(ctx, texts)
	if err != nil {
		return n, err
	}
	locks, untold := false, 0
	for _, r := range rows {
		if s.mute && r.Text(0) == "disabled" {
			untold++
		}
		d := explain.Doing{ID: r.Text(4), Kind: explain.QueryID}
		d.Part, _ = Classify(r.Text(0), r.Text(1), r.Text(2))
		if r.Text(3) == "autovacuum worker" {
			if strings.EqualFold(r.Text(1), "timeout") { // VacuumDelay
				d.Part = explain.Idle
			}
			n.Vacuum = append(n.Vacuum, d)
			continue
		}
		if d.ID == "" && r.Text(5) != "" {
			d.ID, d.Kind = explain.FingerprintOf(r.Text(5), false), explain.Fingerprint
		}
		if texts {
			d.Text = r.Text(5)
		}
		locks = locks || r.Text(1) == "Lock"
		n.Doing = append(n.Doing, d)
	}
	s.untold = max(s.untold, untold)
	if locks {
		before := s.named
		n.Blocks, err = s.blocks(ctx)
		n.Once = s.named - before
	}
	return n, err
}

// blocks asks who holds what sessions wait for.
func (s *Source) blocks(ctx context.Context) ([]explain.Block, error) {
	rows, err := s.put(ctx, blocked)
	if err != nil {
		return nil, err
	}
	waiters, holders := map[int64]explain.Waiter{},
		map[int64]explain.Holder{0: {Part: explain.OtherWaits, Event: explain.Prepared}}
	for _, r := range rows {
		h := explain.Holder{PID: r.Int(0), User: r.Text(4), Application: r.Text(5), Client: clientOf(r.Text(6), r.Int(7))}
		if h.Part, h.Event = Classify(r.Text(1), r.Text(2), r.Text(3)); h.Part == explain.Application &&
			strings.HasPrefix(r.Text(1), "idle in") {
			h.Event = r.Text(1)
		}
		holders[h.PID] = h
		w := explain.Waiter{Relation: s.relation(ctx, r[min(9, len(r)):])}
		for id := range strings.SplitSeq(r.Text(8), ",") {
			if pid, err := strconv.ParseInt(id, 10, 64); err == nil {
				w.By = append(w.By, pid)
			}
		}
		if len(w.By) > 0 {
			waiters[h.PID] = w
		}
	}
	return explain.Chains(waiters, holders), nil
}

// mostElsewhere is how many tables of other databases are asked for their names.
const mostElsewhere = 10

// relation is the name of a table, in its own database's words: by its name here, or else by its database and number.
// Each is asked for once.
func (s *Source) relation(ctx context.Context, r explain.Row) string {
	database, number := r.Text(1), r.Text(2)
	if name := r.Text(0); name != "" || database == "" {
		return name
	}
	shown := database + "." + number
	if _, known := s.elsewhere[shown]; !known && len(s.elsewhere) < mostElsewhere {
		if s.elsewhere == nil {
			s.elsewhere = map[string]string{}
		}
		began := time.Now()
		s.elsewhere[shown] = shown
		if name := s.nameIn(ctx, database, r.Int(2)); name != "" {
			s.elsewhere[shown] = database + "." + name
		}
		s.named += time.Since(began)
	}
	return cmp.Or(s.elsewhere[shown], shown)
}

// nameIn asks a session of another database for the name of a table there; "": it has none, or cannot be asked.
func (s *Source) nameIn(ctx context.Context, database string, number int64) string {
	server, ok := s.Asker.(interface {
		In(context.Context, string) (explain.Asker, error)
	})
	if !ok {
		return ""
	}
	a, err := server.In(ctx, database)
	if err != nil {
		return "" // this user may not enter it
	}
	defer func() { _ = a.Close() }()
	r, err := explain.One(ctx, a, explain.Query{Name: "relation",
		SQL: "select " + strconv.FormatInt(number, 10) + "::regclass::text"})
	if err != nil {
		return ""
	}
	return r.Text(0)
}

// clientOf is where a session's client is; "": on the socket of the server's host.
func clientOf(address string, port int64) string {
	if address == "" {
		return ""
	}
	return address + " port " + strconv.FormatInt(port, 10)
}
