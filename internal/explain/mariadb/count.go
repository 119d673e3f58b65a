package mariadb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/explain"
)

// waitingNow is how many transactions wait for a row.
const waitingNow = "innodb_row_lock_current_waits"

// dataFile is the event of a read.
const dataFile = "wait/io/file/innodb/innodb_data_file"

// pending is our own counter, ms, of waits for a row that lasted from one count to the next: the server's own grows when
// they end.
const pending = "row_lock_pending"

func (s *Source) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	rows, err := s.Ask(ctx, status)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		c.Values[strings.ToLower(r.Text(0))] = r.Int(1)
	}
	now, waiting := time.Now(), float64(c.Values[waitingNow])
	if !s.last.IsZero() { // as many as at both ends, or fewer
		s.pending += min(s.waiting, waiting) * now.Sub(s.last).Seconds()
	}
	s.waiting, s.last = waiting, now
	c.Values[pending] = int64(s.pending * 1000)
	delete(c.Values, waitingNow) // it is no counter: it falls
	if s.files {
		if rows, err = s.Ask(ctx, files); err != nil {
			return c, err
		}
		for _, r := range rows {
			kind := "log_"
			if strings.HasSuffix(r.Text(0), "data_file") {
				kind = "data_"
			}
			for i, name := range []string{"reads", "read_time", "writes", "write_time", "syncs", "sync_time"} {
				c.Values[kind+name] = r.Int(i + 1)
			}
		}
	}
	if s.counted {
		r, err := explain.One(ctx, s, counted)
		if err != nil {
			return c, err
		}
		s.asked++
		c.Values["counted"] = r.Int(0)
	}
	if s.metrics.SQL != "" {
		r, err := explain.One(ctx, s, s.metrics)
		if err != nil {
			return c, err
		}
		s.asked++
		if r.Null(0) { // disabled meanwhile: it says nothing
			s.metrics = explain.Query{}
		} else {
			c.Values["metrics"] = r.Int(0)
		}
	}
	if s.threads != nil {
		if err := s.watch(ctx); err != nil {
			return c, err
		}
		s.threads.Count(c.Values)
	}
	c.Values["own"] = s.asked
	s.counts = append(s.counts, c.Values)
	return c, nil
}

func (s *Source) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: -1}
	s.transactions(g, &a)
	a.Log.Source = "Innodb_os_log_written"
	if g.Has("innodb_os_log_written") {
		a.Log.Bytes = int64(g.Get("innodb_os_log_written"))
	}
	if g.Has("innodb_log_writes") {
		a.Log.Writes, a.Log.Source = int64(g.Get("innodb_log_writes")), "Innodb_log_writes"
	}
	if g.Has("innodb_os_log_fsyncs") {
		a.Log.Syncs = int64(g.Get("innodb_os_log_fsyncs"))
	}
	if writes := g.Get("innodb_log_writes"); g.Has("innodb_log_writes") {
		// MariaDB 10.8 and later count no syncs: there is one for each write at most.
		syncs := writes
		if g.Has("innodb_os_log_fsyncs") {
			syncs = g.Get("innodb_os_log_fsyncs")
		}
		a.Waits = map[explain.PartName]float64{explain.LogWait: writes + syncs + g.Get("binlog_cache_use") +
			g.Get("binlog_stmt_cache_use")}
	}
	if s.lazy != "" {
		delete(a.Waits, explain.LogWait)
		a.Counted = append(a.Counted, explain.Counted{Part: explain.LogWait, Events: []string{"Commit"}, Source: s.lazy,
			Whole: true})
		a.AtMost = map[explain.PartName]float64{explain.LogWait: g.Get("innodb_log_waits") * explain.Longest}
	}
	switch {
	case s.maria:
		a.Log.Untimed = "MariaDB has no counter for it"
	case !s.files:
		a.Log.Untimed = "the performance schema, which times it, is off or hidden"
	}
	const ns = 1e-9
	if g.Has("log_writes") && g.Get("log_writes")+g.Get("log_syncs") > 0 {
		a.Log.Writes, a.Log.Syncs = int64(g.Get("log_writes")), int64(g.Get("log_syncs"))
		a.Log.Timed((g.Get("log_write_time")+g.Get("log_sync_time"))*ns, max(1, min(g.Get("log_writes"), g.Get("log_syncs"))))
		a.Log.Source = "performance_schema.file_summary_by_event_name"
	}
	if waits, long := g.Get("innodb_row_lock_waits"), g.Get(pending)*1e-3; waits > 0 || long > 0 {
		rest := 0.5e-3 * waits // each counts in whole ms
		rows := explain.Counted{Part: explain.Locks, Events: []string{"InnoDB row lock"},
			Seconds: g.Get("innodb_row_lock_time")*1e-3 + rest, Early: rest,
			Count: int64(waits), Source: "Innodb_row_lock_time", From: explain.Executing}
		if s.looks.took() {
			rows.From = latch.event
		}
		if long > 2*rows.Seconds { // of waits that have not ended
			rows.Seconds, rows.Early, rows.Source = long, 0, "Innodb_row_lock_current_waits"
		}
		a.Counted = append(a.Counted, rows)
	}
	switch {
	case g.Has("innodb_data_reads") && g.Get("innodb_data_reads") == 0:
		a.Counted = append(a.Counted, explain.Counted{Part: explain.DataReads,
			Events: []string{dataFile}, Source: "Innodb_data_reads: no reads", Whole: true})
	case s.looks.took() && g.Has("innodb_data_reads"): // looks see those that wait
		if a.Waits == nil {
			a.Waits = map[explain.PartName]float64{}
		}
		a.Waits[explain.DataReads] = g.Get("innodb_data_reads")
	case g.Get("data_reads") > 0 && g.Get("data_reads") >= 0.9*g.Get("innodb_data_reads"):
		a.Counted = append(a.Counted, explain.Counted{Part: explain.DataReads,
			Events:  []string{dataFile},
			Seconds: g.Get("data_read_time") * ns, Count: int64(g.Get("data_reads")),
			Source: "performance_schema, threads of the server's own included", From: explain.Executing})
	case g.Has("innodb_data_reads"): // MariaDB 10.11 times one of 50 of them
		a.Counted = append(a.Counted, explain.Counted{Part: explain.DataReads,
			Events:  []string{dataFile},
			Seconds: g.Get("innodb_data_reads") * explain.Longest, Count: int64(g.Get("innodb_data_reads")),
			Source: "executing and neither on a CPU nor ready for one", Blocked: true})
	}
	if s.threads != nil {
		if missed := s.threads.Missed(); float64(missed) > 0.5*g.Seconds {
			a.Missing = append(a.Missing,
				fmt.Sprintf("CPU time: %d sessions ended meanwhile, too many to follow; what executes is "+
					"taken for CPU", missed))
		} else {
			a.CPU = s.threads.Account(g)
		}
	}
	s.untold(&a)
	return a
}
