// Package postgres asks PostgreSQL 10 to 18 where its sessions' time goes: samples of
// what they do, and counters of the log.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
)

type Source struct {
	explain.Asked
	number int // 150004
	version
	user string

	walTiming, ioTiming bool
	threads             *explain.Threads
	memory              *memory // nil: samples are questions
	blind               string  // why it is no longer looked at
	blinded             time.Time
	questions           int
	names               struct {
		rows                 []explain.Row // sessions at work, as they came with the counters
		wanted, texts, fresh bool
	}
	used struct {
		questions int
		cpu       float64
		ok        bool
	}
	elsewhere map[string]string // tables of other databases by database and number, as they are shown
	named     time.Duration     // for their names
	clients   int               // in the last sample
	peak      int               // most that worked at once
	settings  map[string]string // as it says; nil: it did not
	plain     map[int64]string  // pages that a process without a compiler has mapped
	told      struct {
		answer explain.Telling // the last one
		at     time.Time
	}
	untold          int  // sessions at once whose state did not show
	looked          bool // its memory showed them all
	parallel, shots int
	begun           struct { // a recording
		at    time.Time
		forks float64
		err   error
	}
	own, asked int64           // our backend, 0 where it is not known, and the transactions that it made for us
	server     int             // the postmaster
	waited     time.Duration   // for its answers
	known      map[string]bool // questions that are prepared, each in a transaction too; nil: none is
	open       float64         // s, of clients' transactions that were open at the last sample
	early      float64         // the same at the first count
	readings   []reading
}

// flush is how old a transaction has to be, in s, that a session's counters lag behind:
// they are reported when one ends, at most once a second (pgstat.c).
const flush = 1.0

// New asks what server it is. here: the connection does not leave this host, so that a
// process number of the server may be one of ours. The error is one line.
func New(ctx context.Context, a explain.Asker, target string, here bool) (explain.Source, error) {
	r, err := explain.One(ctx, a, server)
	if err != nil {
		return nil, err
	}
	s := &Source{Asked: explain.Asked{Asker: a, Meanings: meanings}, number: int(r.Int(1)),
		version: versionOf(int(r.Int(1))), user: r.Text(3), walTiming: r.Bool(5), ioTiming: r.Bool(6)}
	if p, ok := a.(interface{ Pooled() bool }); !ok || !p.Pooled() {
		s.known = map[string]bool{}
	}
	s.Info = explain.Server{Vendor: "PostgreSQL", Version: r.Text(0), Target: target}
	major := s.number / 10000
	switch {
	case s.number == 0:
		return nil, fmt.Errorf("the server does not report its version as PostgreSQL does (server_version_num %q)", r.Text(1))
	case major < oldest:
		return nil, fmt.Errorf("this is PostgreSQL %s; explain needs 10 or later, which show what kind of process waits",
			r.Text(0))
	}
	if !r.Bool(7) {
		return nil, fmt.Errorf(
			"track_activities is off, so the server does not report what sessions do; an administrator can set it " +
				"to on for all, without a restart")
	}
	s.local(r.Int(2), here)
	s.remember(ctx)
	switch {
	case r.Bool(8):
	case s.memory != nil:
		s.Miss("which statements sessions of other roles run, and since when: grant pg_read_all_stats (or pg_monitor) to %s",
			quote(s.user))
	default:
		s.Info.Hidden = true
		s.Miss("what sessions of other roles do: grant pg_read_all_stats (or pg_monitor) to %s", quote(s.user))
	}
	switch {
	case s.wal.SQL == "":
		s.Miss("how long log writes take, and how often clients connect: PostgreSQL counts that from 14 on; log waits are " +
			"sampled only")
	case !s.walTiming:
		s.Miss("how long log writes take: track_wal_io_timing is off; log waits are sampled only, and short ones are overstated. An " +
			"administrator can set it to on without a restart")
	}
	if !s.ioTiming {
		s.Miss("how long data reads take: track_io_timing is off; they are sampled only")
	}
	if major > newest {
		s.Miss("PostgreSQL %d is newer than what this was written for (%d to %d); views may have changed", major, oldest,
			newest)
	}
	s.Info.Platform = explain.AskSettings(ctx, a, "pg_settings", platform)
	return s, nil
}

// local finds out whether the server's processes are ours to read.
func (s *Source) local(own int64, here bool) {
	if err := explain.Here(here, own, "post"); err != nil { // postgres, postmaster
		s.Miss("exact CPU time: %v; sampled CPU time includes run-queue wait", err)
		return
	}
	s.threads, s.own = &explain.Threads{}, own
	if s.known == nil {
		s.own = 0
		s.Miss("which time is hostlab's own: a pooler such as pgbouncer passes its session on, so that it counts as a client's; connect to " +
			"the server itself")
	}
	if stat, err := proc.Read(int(own)); err == nil {
		s.server = stat.Parent
		// Every session is a child of the postmaster, which waits for all that end.
		s.threads.Gone = func(time.Duration) (time.Duration, error) {
			stat, err := proc.Read(stat.Parent)
			return stat.Reaped, err
		}
	}
}

// remember opens the server's memory, where the process that serves us is known to be a child of the one that we are
// connected to.
func (s *Source) remember(ctx context.Context) {
	if s.server == 0 || s.own == 0 {
		return // as is said already
	}
	var err error
	if peer := int64(s.Peer()); peer != s.own && peer != int64(s.server) {
		err = errors.New("the kernel does not show that the connection leads to its processes")
	} else if s.memory, err = openMemory(s.server, int(s.own), s.number/10000); err == nil {
		err = s.memory.agree(func() ([]explain.Row, error) { return s.put(ctx, waiting) })
	}
	if err != nil {
		s.memory = nil
		s.Miss("waits from the server's memory, 50 times a second: %v; it is asked for each sample", err)
	}
}

// quote writes an identifier as SQL does.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (s *Source) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.put(ctx, s.activity())
	if err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	s.open = 0
	for _, r := range rows {
		if r.Bool(6) {
			shot.Masked++
			continue
		}
		x := explain.Session{ID: r.Int(0), Background: r.Text(4) != "client backend"}
		x.Part, x.Event = Classify(r.Text(1), r.Text(2), r.Text(3))
		if r.Text(4) == "parallel worker" {
			// The time of a worker without a known leader (before 13) belongs to no session.
			if x.Leader = r.Int(5); x.Leader == 0 {
				continue
			}
		}
		if age := r.Float(7); age > flush && !x.Background {
			s.open += age
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	s.tally(shot)
	return []explain.Snapshot{shot}, nil
}

// tally counts what a sample shows.
func (s *Source) tally(shot explain.Snapshot) {
	s.clients = 0
	untold, working := 0, 0
	for _, x := range shot.Sessions {
		if x.Leader != 0 {
			s.parallel++
		}
		if x.Part == explain.Unexplained {
			untold++
		}
		if !x.Background {
			if s.clients += max(1, x.Times); x.Part != explain.Idle {
				working++
			}
		}
	}
	s.peak = max(s.peak, working)
	s.shots, s.untold = s.shots+1, max(s.untold, untold)
}

func (s *Source) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	// Ours reach the counters once a second, unless we ask for it: one answer for all asks for the next one.
	if s.flush.SQL != "" && (s.memory == nil || len(s.readings) == 0) {
		if _, err := s.put(ctx, s.flush); err != nil {
			return c, err
		}
	}
	own, waited := s.asked, s.waited
	r, reads, log, err := s.counters(ctx)
	if err != nil {
		return c, err
	}
	c.Epoch = r.Text(0) + " " + r.Text(4)
	c.Values["transactions"], c.Values["own_transactions"], c.Values["sessions"] = r.Int(1), own, r.Int(5)
	s.readings = append(s.readings, reading{time.Now(), r.Int(1) - own - r.Int(5)})
	c.Values["blocks_read"], c.Values["block_time"] = r.Int(2), r.Int(3)
	if !r.Null(6) {
		c.Values["log_position"] = r.Int(6)
	}
	if !r.Null(7) {
		c.Values["active"], c.Values["own_active"] = r.Int(7), waited.Microseconds()
	}
	if len(log) > 0 {
		for i, name := range []string{"wal_bytes", "wal_write", "wal_sync", "wal_write_time", "wal_sync_time", "",
			"client_write",
			"client_sync", "client_write_time", "client_sync_time"} {
			if name != "" && !log.Null(i) {
				c.Values[name] = log.Int(i)
			}
		}
		c.Epoch += " " + log.Text(5)
	}
	if s.ioTiming && !reads.Null(0) {
		c.Values["reads"], c.Values["read_time"] = reads.Int(0), reads.Int(1)
	}
	if s.shots == 0 { // the first count comes before the first sample
		if _, err := s.Sample(ctx); err != nil {
			return c, err
		}
		s.shots, s.early = 0, s.open
	}
	if s.threads != nil {
		if err := s.watch(ctx); err != nil {
			return c, err
		}
		s.threads.Count(c.Values)
	}
	return c, nil
}

// counters are those of the database, of reads and of the log: in one answer where no samples are asked for, too.
func (s *Source) counters(ctx context.Context) (database, reads, log explain.Row, err error) {
	if s.memory != nil {
		if database, err = s.counted(ctx, s.version.counters(s.ioTiming)); err != nil {
			return nil, nil, nil, err
		}
		const width = columnsDatabase + columnsReads
		if len(database) <= width {
			return nil, nil, nil, errors.New("the server's answer lacks counters that it was asked for")
		}
		s.open = database.Float(width)
		return database[:columnsDatabase], database[columnsDatabase:width], database[width+1:], nil
	}
	if database, err = s.one(ctx, s.databases()); err != nil {
		return nil, nil, nil, err
	}
	if s.wal.SQL != "" {
		if log, err = s.one(ctx, s.wal); err != nil {
			return nil, nil, nil, err
		}
	}
	if s.clientReads != nil && s.ioTiming {
		reads, err = s.one(ctx, *s.clientReads)
	}
	return database, reads, log, err
}

// put asks, and counts the transactions that this makes.
func (s *Source) put(ctx context.Context, q explain.Query) ([]explain.Row, error) {
	if s.asked++; s.known != nil && !s.known[q.Name] {
		s.known[q.Name] = true
		s.asked++
	}
	s.questions++
	began := time.Now()
	rows, err := s.Ask(ctx, q)
	s.waited += time.Since(began)
	return rows, err
}

func (s *Source) one(ctx context.Context, q explain.Query) (explain.Row, error) {
	rows, err := s.put(ctx, q)
	if err != nil || len(rows) == 0 {
		return explain.Row{}, err
	}
	return rows[0], nil
}

// watch reads what the processes have used.
func (s *Source) watch(ctx context.Context) error {
	if s.memory != nil {
		s.threads.Watch(s.memory.processes())
		s.memory.settle(s.threads.Moved)
		return nil
	}
	rows, err := s.put(ctx, backends)
	if err != nil {
		return err
	}
	var clients, others []int64
	for _, r := range rows {
		if r.Text(1) == "client backend" && r.Int(0) != s.own {
			clients = append(clients, r.Int(0))
		} else {
			others = append(others, r.Int(0))
		}
	}
	s.threads.Watch(clients, others)
	return nil
}

// Begin implements explain.Begins.
func (s *Source) Begin() {
	if s.threads != nil {
		s.threads.Forget()
	}
	if s.blind != "" && time.Since(s.blinded) > again { // it may have fewer processes now, and this host more time
		if m, err := openMemory(s.server, int(s.own), s.number/10000); err == nil {
			s.memory = m
		}
		s.blinded = time.Now()
	}
	if s.memory != nil {
		s.blind = ""
		s.memory.begin()
	}
	s.looked = false
	s.untold, s.parallel, s.shots, s.peak, s.open, s.early, s.readings = 0, 0, 0, 0, 0, 0, nil
	s.begun.at = time.Now()
	s.begun.forks, s.begun.err = forks()
}

// Process implements explain.Hosted.
func (s *Source) Process() (server int, own int64, ok bool) {
	return s.server, s.own, s.server != 0
}

func (s *Source) OwnCPU() (float64, bool) {
	if s.used.questions != s.questions || s.memory == nil { // it works for questions alone
		s.used.questions = s.questions
		s.used.cpu, s.used.ok = s.threads.Used(s.own)
	}
	return s.used.cpu, s.used.ok
}

// Close implements explain.Source.
func (s *Source) Close() error {
	if s.memory != nil {
		s.memory.words.Close()
	}
	return s.Asked.Close()
}

// Look implements explain.Looker.
func (s *Source) Look(ctx context.Context, until time.Time, mean time.Duration) ([]explain.Snapshot, bool) {
	if s.memory == nil {
		return nil, false
	}
	shots, err := s.memory.watch(ctx, until, mean)
	if err != nil {
		s.forget(err)
		return nil, false
	}
	for _, shot := range shots {
		s.looked = true
		s.tally(shot)
	}
	if s.memory.churning() { // what they use between two counts would be missed
		s.threads.Watch(s.memory.processes())
	}
	return shots, true
}

// forget goes on by questions.
func (s *Source) forget(why error) {
	s.memory.words.Close()
	s.memory, s.blind, s.blinded = nil, why.Error(), time.Now()
}

// again is after how long a recording tries to look once more.
const again = time.Minute

// Looks implements explain.Looker.
func (s *Source) Looks() (questions int, cpu float64, ok bool) {
	if s.memory == nil {
		return s.questions, 0, false
	}
	return s.questions, s.memory.cpu().Seconds(), true
}
