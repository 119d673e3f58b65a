//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
)

// counts are of the kernel, read by this program itself.
type counts struct {
	at         time.Time
	run, queue float64 // s of the service's threads
}

// sessions are the system's numbers of the threads that serve our clients.
func (s *server) sessions(ctx context.Context) (ids []int64, err error) {
	text := "select pid from pg_stat_activity where application_name = '" + mark + "' and pid <> pg_backend_pid()"
	if s.place.Vendor == privatedb.MariaDB {
		text = "select tid from information_schema.processlist where id <> connection_id() and command <> 'Daemon'"
	}
	rows, err := s.db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// count reads schedstat of clients' threads, or of all threads of the process.
func (r *running) count() (c counts) {
	c.at = time.Now()
	var files []string
	for _, id := range r.sessions {
		files = append(files, fmt.Sprintf("/proc/%d/task/%d/schedstat", id, id))
	}
	if r.server == nil {
		dir := fmt.Sprintf("/proc/%d/task", r.work.PID())
		tasks, _ := os.ReadDir(dir)
		for _, t := range tasks {
			files = append(files, dir+"/"+t.Name()+"/schedstat")
		}
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		var run, queue float64
		if _, err := fmt.Sscan(strings.TrimSpace(string(b)), &run, &queue); err == nil {
			c.run, c.queue = c.run+run*1e-9, c.queue+queue*1e-9
		}
	}
	return c
}

// slack is by how much two counts of one thing may differ as they begin and end at other
// moments, and as a client's wake-up is none of the server's: a share of active time.
const slack = 0.03

// truths puts parts beside independent counts.
func (r *running) truths(m *assess.Minute, s0, s1 seen, c0, c1 counts) (out []truth) {
	rep := &m.Report
	if rep.Busy <= 0 {
		return nil
	}
	active := rep.Busy / rep.Wall // s per s
	wall := c1.at.Sub(c0.at).Seconds()
	run, queue := (c1.run-c0.run)/wall/active, (c1.queue-c0.queue)/wall/active
	add := func(source string, low, high float64, names ...explain.PartName) {
		var got part
		label := make([]string, 0, len(names))
		for _, name := range names {
			p := shareOf(rep, rep.Part(name).Share)
			got.Value, got.Low, got.High = got.Value+p.Value, got.Low+p.Low, got.High+p.High
			label = append(label, string(name))
		}
		t := truth{Part: strings.Join(label, "+"), Got: got, Low: low, High: high, Counters: source}
		t.Agree = got.High >= low-slack && got.Low <= high+slack
		out = append(out, t)
	}
	add("schedstat", run, run, explain.DatabaseCPU)
	add("schedstat", queue, queue, explain.RunQueue)
	if r.server == nil {
		return out
	}
	lasted := s1.At - s0.At
	by := func(c class) float64 { return (s1.By[c] - s0.By[c]) / lasted / active }
	// What a client waits for a statement holds what the server computes in it, and waits for a CPU.
	within := func(source string, c class, names ...explain.PartName) {
		if v := by(c); v > 0 {
			add(source, max(0, v-run-queue), v, names...)
		}
	}
	if r.Clients.Trip > 0 {
		each := float64(len(r.Clients.Steps)-1) * r.Clients.Trip.Seconds() // the first begins the transaction
		trips := float64(s1.Transactions-s0.Transactions) * each / lasted / active
		if !r.Clients.Together {
			add("round trips of the clients", trips, (s1.Inside-s0.Inside)/lasted/active, explain.Application)
		}
		return out
	}
	if by(locked) > 0 {
		within("clients' commits", commits, explain.LogWait)
		within("clients' updates", locked, explain.Locks)
	} else { // who changes a row waits for others in its commit, too
		within("clients' commits", commits, explain.LogWait, explain.Locks)
	}
	within("clients' reads", reads, explain.DataReads)
	if v := by(pauses); v > 0 {
		add("clients' pauses", v, v, explain.Application)
	}
	return out
}
