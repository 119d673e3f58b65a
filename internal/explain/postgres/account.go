package postgres

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// Events of log I/O, as before 17 and since.
var (
	syncEvents  = []string{"IO:WALSync", "IO:WalSync"}
	writeEvents = []string{"IO:WALWrite", "IO:WalWrite"}
	// Since 18 a session waits for its own or an io worker's reads under these names.
	readEvents = []string{"IO:DataFileRead", "IO:AioIoCompletion", "IO:AioIoUringSubmit", "IO:AioIoUringExecution",
		"LWLock:AioUringCompletion"}
)

const us = 1e-6

// leastCommit is what a commit writes to the log, in bytes, at least: the head of its record (24), that
// of its data (2), its time (8), and what aligns it (access/xlogrecord.h, access/xact.h).
const leastCommit = 40

func (s *Source) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: int64(max(0,
		g.Get("transactions")-g.Get("own_transactions")-g.Get("sessions")))}
	a.Waits = map[explain.PartName]float64{}
	if g.Has("log_position") {
		a.Waits[explain.LogWait] = g.Get("log_position") / leastCommit
	}
	if g.Has("active") {
		a.Active = result.Finite(max(0, g.Get("active")-g.Get("own_active")) * us)
	}
	untold(s.readings, &a)
	if s.untold > 0 && (s.mute || !s.looked) {
		a.Missing = append(a.Missing,
			fmt.Sprintf("whether %d sessions wait for their clients within transactions: they tell no state, as where "+
				"track_activities is off for their role or database; an administrator can set it to on there, without a restart",
				s.untold))
	}
	if s.blind != "" {
		a.Missing = append(a.Missing, "waits from the server's memory, from some time on: "+s.blind+
			"; it was asked for each sample then")
	}
	if a.Told = s.memory != nil; a.Told {
		a.Unlooked = (s.memory.words.Missed().Time - s.memory.missed).Seconds()
	}
	s.delays(g, &a)
	s.log(g, &a)
	s.reads(g, &a)
	if s.threads != nil {
		s.cpu(g, &a)
	}
	s.workers(g, &a)
	return a
}

// own is how many transactions a parallel worker is counted for: to reach its database, and to take over its leader's
// state (InitPostgres, ParallelWorkerMain). That in which it works is its leader's.
const own = 2

// workers leaves open how many transactions there were where parallel workers may have had many of them. Nobody counts
// those before 18, but the processes that this host has begun.
func (s *Source) workers(g explain.Growth, a *explain.Account) {
	if s.parallel == 0 {
		return
	}
	most := float64(a.Transactions)
	if since := time.Since(s.begun.at).Seconds(); s.threads != nil && since > 0 {
		if now, err := forks(); err == nil && s.begun.err == nil {
			most = min(most, own*(now-s.begun.forks)*g.Seconds/since)
		}
	}
	if most < 0.1*float64(a.Transactions) {
		return
	}
	a.Transactions, a.TransactionsLow, a.TransactionsHigh = -1, a.Transactions-int64(most), a.Transactions
	a.Missing = append(a.Missing, "how many transactions there were: the server counts two more for each parallel worker")
}

// forks is how many processes and threads this host has begun since it booted (proc_stat(5)).
func forks() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	s, err := fs.Stat()
	return float64(s.ProcessCreated), err
}

// reads takes the time of data reads: from 16 on that of clients, before that of all
// sessions. Without their timing the number of reads shows only that there were none.
func (s *Source) reads(g explain.Growth, a *explain.Account) {
	c := explain.Counted{Part: explain.DataReads, Events: readEvents, Count: -1, Whole: true, Late: s.late(g),
		Early: s.early}
	a.Handed = s.settings["io_method"] == "worker"
	switch {
	case g.Has("read_time"):
		c.Seconds, c.Count, c.Source = g.Get("read_time")*us, int64(g.Get("reads")), "pg_stat_io"
	case s.ioTiming && g.Has("block_time"):
		c.Seconds, c.Count, c.Source = g.Get("block_time")*us, int64(g.Get("blocks_read")), "pg_stat_database"
	case g.Has("blocks_read") && g.Get("blocks_read") == 0:
		c.Count, c.Source = 0, "pg_stat_database"
	default:
		if g.Has("blocks_read") {
			a.Waits[explain.DataReads] = g.Get("blocks_read")
		}
		return
	}
	if c.Count == 0 {
		c.Source += ": no reads"
	}
	a.Counted = append(a.Counted, c)
}

// delays takes the sleeps before commits. Before 18 they are no wait event: such a session looks as one that runs, and
// is on no CPU.
func (s *Source) delays(g explain.Growth, a *explain.Account) {
	each := commitDelay(s.settings, s.peak)
	if n := g.Get("wal_sync"); each > 0 && a.Transactions > 0 && !s.sleeps {
		sleeps := float64(a.Transactions)
		if g.Has("wal_sync") { // one sleeps for all that commit with it
			sleeps = min(sleeps, n*float64(max(1, s.peak)))
		}
		a.Counted = append(a.Counted, explain.Counted{Part: explain.OtherWaits, Events: []string{sleeping},
			Seconds: 2 * sleeps * each, From: asleep,
			Count: int64(sleeps), Source: "commit_delay: neither on a CPU nor ready for one", Blocked: true})
	}
}

// sleeping is the event of a commit that sleeps, as 18 calls it.
const sleeping = "Timeout:CommitDelay"

// commitDelay is for how long a commit sleeps where as many sessions work at once, s; 0: it does not.
func commitDelay(settings map[string]string, peak int) float64 {
	delay, err := strconv.ParseFloat(settings["commit_delay"], 64)
	if err != nil || settings["fsync"] == "off" || float64(peak-1) < quantity(settings["commit_siblings"]) {
		return 0
	}
	return delay * us
}

// log takes the log's account, and the exact part of log waits. Waits for another
// session's write (LWLock:WALWrite) and for a standby stay sampled.
func (s *Source) log(g explain.Growth, a *explain.Account) {
	if !g.Has("wal_bytes") {
		return
	}
	a.Log.Source = s.walView
	a.Log.Bytes, a.Log.Writes, a.Log.Syncs = int64(g.Get("wal_bytes")), int64(g.Get("wal_write")), int64(g.Get("wal_sync"))
	if !s.walTiming {
		a.Log.Untimed = "track_wal_io_timing is off"
		return
	}
	write, sync := g.Get("wal_write_time")*us, g.Get("wal_sync_time")*us
	// open_datasync and open_sync write through and count no syncs.
	a.Log.Timed(write+sync, float64(cmp.Or(max(a.Log.Syncs, 0), a.Log.Writes)))
	counted := explain.Counted{Part: explain.LogWait, Source: s.walView + " by samples", All: true, Late: s.late(g),
		Early: s.early}
	whose := "wal_"
	if g.Has("client_write_time") {
		counted.Source, counted.All, whose = "pg_stat_io", false, "client_"
	}
	for kind, events := range map[string][]string{"sync": syncEvents, "write": writeEvents} {
		name := whose + kind
		counted.Events, counted.Seconds, counted.Count = events, g.Get(name+"_time")*us, int64(g.Get(name))
		a.Counted = append(a.Counted, counted)
	}
}

// late is the time of clients that the server's counters do not hold yet, in s.
func (s *Source) late(g explain.Growth) float64 {
	return min(s.open, g.Seconds*float64(s.clients))
}

// cpu takes the kernel's account of client sessions, unless too much of it was missed.
func (s *Source) cpu(g explain.Growth, a *explain.Account) {
	missed := s.threads.Missed()
	switch {
	case s.parallel > 0:
		a.Missing = append(a.Missing, "exact CPU time: parallel workers shared the work; CPU time is sampled")
	case float64(missed) > 0.5*g.Seconds:
		// Of each that ended, what it used since the last look is missing.
		a.Missing = append(a.Missing,
			fmt.Sprintf("exact CPU time: %d sessions ended meanwhile, too many to follow; CPU time is "+
				"sampled", missed))
	default:
		a.CPU = s.threads.Account(g)
	}
}
