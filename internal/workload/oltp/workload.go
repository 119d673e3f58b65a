// Package oltp is the workload of a database that many short transactions read and
// few write: orders of customers in an embedded SQLite or a private PostgreSQL, with a thread beside it that
// scans memory, if wanted, as a lazy writer does.
package oltp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
)

// Workload implements workload.Workload.
type Workload struct{ cpus.Placed }

const (
	maxRows  = 10_000_000
	maxCount = 1_000_000
	maxScan  = 1 << 30
)

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "oltp",
		Title: "short transactions on a database of its own, most of which read",
		About: "Workers make transactions on customers, items and orders in SQLite or PostgreSQL: reads of a customer by number (70 " +
			"% of the reads) and of 20 orders that follow each other, and new orders, which change three tables. What each transaction " +
			"does follows from the block's seed, and a run ends when all are made; sums of what was read, and of all orders, balances " +
			"and stock, are checked after it. SQLite lets readers go on beside one writer, and writers one after the other: they wait " +
			"in a queue of our own, and the wait counts. A scanner overwrites memory without a pause meanwhile, as the lazy writer of a " +
			"database does. It shows what siblings, clocks and placement do to such a mix; it sends nothing over a network, and unless " +
			"sync is full or normal it waits for no disk. SQLite is no server: other databases lock otherwise, and scale further. With " +
			"database postgres, a PostgreSQL of its own makes the same transactions for a connection of each worker, over a Unix " +
			"socket; its sessions are kept to the workers' CPUs, its CPU time counts, and it locks rows. It takes the programs of " +
			"PostgreSQL, never runs as root (but as postgres, or nobody), and is removed afterwards.",
		Params: []workload.Param{
			{Name: "rows", Kind: workload.Int, Default: int64(20000), Min: 1, Max: maxRows,
				Help: "customers; with their orders and items 0.25 kB each, on disk and in its cache"},
			{Name: "count", Kind: workload.Int, Default: int64(10000), Min: 1, Max: maxCount, Help: "transactions of a run"},
			{Name: "reads", Kind: workload.Float, Default: 0.9, Max: 1, Help: "share of the transactions that only read"},
			{Name: "database", Kind: workload.String, Default: database.SQLite,
				Choices: []string{database.SQLite, database.Postgres}, Help: "in the worker's process, or a private PostgreSQL"},
			cpus.CountParam("workers", cpus.Threads, "sessions"),
			cpus.Param(),
			{Name: "rate", Kind: workload.Float, Default: 0.0, Unit: "1/s", Max: 1e6,
				Help: "transactions that arrive a second; 0: each worker makes one after the other"},
			{Name: "arrivals", Kind: workload.String, Default: "random", Choices: []string{"random", "even"},
				Help: "how they arrive with a rate"},
			{Name: "scanner", Kind: workload.String, Default: none, Choices: scanners,
				Help: "where a thread scans memory: nowhere, on the sibling of a CPU that has workers, on a core without workers, or where " +
					"the system puts it"},
			{Name: "scan_size", Kind: workload.Bytes, Default: int64(2 << 20), Min: 128, Max: maxScan,
				Help: "memory that the scanner overwrites"},
			{Name: "leave_room", Kind: workload.Bool, Default: false,
				Help: "workers keep off the CPUs of the scanner's levels sibling and core, at each of its levels, so that these compare"},
			{Name: "sync", Kind: workload.String, Default: "off", Choices: syncs,
				Help: "as SQLite's synchronous, on either database: full makes each commit wait for the disk, normal checkpoints"},
		},
		Responses: []workload.Response{
			{Name: "tx_rate", Title: "Transactions per second", Unit: "1/s", Better: "higher"},
			{Name: "wall", Title: "Elapsed time of a run", Unit: "s", Better: "lower"},
			{Name: "cpu_s", Title: "CPU time of a transaction, the server's included, without the scanner's", Unit: "s",
				Better: "lower"},
			{Name: "read_p50", Title: "Median read", Unit: "s", Better: "lower"},
			{Name: "read_p95", Title: "95th percentile of a read", Unit: "s", Better: "lower"},
			{Name: "read_p99", Title: "99th percentile of a read", Unit: "s", Better: "lower"},
			{Name: "write_p50", Title: "Median write, its wait for other writers included", Unit: "s", Better: "lower"},
			{Name: "write_p95", Title: "95th percentile of a write", Unit: "s", Better: "lower"},
			{Name: "scan_rate", Title: "Memory that the scanner overwrote per second", Unit: "B/s", Better: "higher"},
		},
	}
}

func (Workload) Validate(cfg workload.Config) error {
	return errors.Join(cpus.CheckCount("workers", cfg.Params.String("workers")), cpus.Check("cpus", cfg.Params.String("cpus")))
}

func (w Workload) Offers(cfg workload.Config, param string, levels []string, m workload.Machine) map[string]string {
	if param != "scanner" {
		return w.Placed.Offers(cfg, param, levels, m)
	}
	h, out := cpus.Of(m), map[string]string{}
	if why := h.NoSMT(); why != "" && slices.Contains(levels, sibling) {
		out[sibling] = why
	}
	if workers, err := h.Choose("cpus", cfg.Params.String("cpus")); err == nil && len(workers) > 0 &&
		slices.Contains(levels, apart) {
		if _, lone, why := places(h, workers); lone == nil {
			out[apart] = why
		}
	}
	return out
}

func (Workload) Context(cfg workload.Config, m workload.Machine) map[string]string {
	h := cpus.Of(m)
	out := h.Context()
	for _, level := range []string{sibling, apart} {
		p := maps.Clone(cfg.Params)
		p["scanner"] = level
		if r, err := roomOf(h, p); err == nil {
			out["scanner "+level] = fmt.Sprintf("CPU %d", r.Scanner[0])
		}
	}
	return out
}

func (Workload) Needs(ctx context.Context, p workload.Values) error {
	return database.Installed(ctx, "database", p.String("database"))
}

func (w Workload) Open(ctx context.Context, cfg workload.Config) (_ workload.Session, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	s := &session{worker: worker.Kept{Job: job}, postgres: database.Server{Work: cfg.Work, Param: "database"}}
	if s.dir, err = os.MkdirTemp(cfg.Work, "oltp-"); err != nil {
		return nil, database.ExplainFile(filepath.Join(cfg.Work, "oltp"), err)
	}
	q, _, err := s.question(ctx, cfg.Params)
	if err == nil {
		q.Count = 0 // makes the database that runs start from
		_, err = s.call(ctx, q)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

type session struct {
	worker   worker.Kept
	postgres database.Server
	dir      string
	did      uint64        // sum of what the last run read
	stall    time.Duration // a test's
}

// question is what a run asks of the worker, with the words of the parameters in
// this host's numbers as they are now.
func (s *session) question(ctx context.Context, p workload.Values) (q question, notes []string, err error) {
	here, err := cpus.Here(ctx)
	if err != nil {
		return q, nil, err
	}
	q = question{Dir: s.dir, Rows: p.Int("rows"), Count: p.Int("count"), Reads: p.Float("reads"), Sync: p.String("sync"),
		Rate: p.Float("rate"), Even: p.String("arrivals") == "even", Stall: s.stall}
	if q.Workers, err = here.Count("workers", p.String("workers")); err != nil {
		return q, nil, err
	}
	if p.String("scanner") != none {
		q.Scan = int(p.Int("scan_size"))
	}
	if q.Room, err = roomOf(here, p); err == nil && p.String("database") == database.Postgres {
		q.Server, err = s.server(ctx, q)
	}
	return q, here.Notes(p, "cpus", "workers"), err
}

func (s *session) call(ctx context.Context, q question) (a answer, err error) {
	if err := s.worker.Call(ctx, q.Workers+1, q, &a); err != nil {
		return a, s.postgres.EndOr(ctx, cpus.Unusable("cpus", err))
	}
	return a, nil
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if s.dir == "" {
		return out, errors.New("the workload is closed")
	}
	q, notes, err := s.question(ctx, r.Params)
	if err != nil {
		return out, err
	}
	q.Seed = r.Seed
	a, err := s.call(ctx, q)
	if err != nil {
		return out, err
	}
	s.did = a.Check
	out = sample(q, a)
	out.Warnings = append(notes, out.Warnings...)
	return out, nil
}

// waitedShare is the share of a run's time that the scanner may wait for others
// before it is said.
const waitedShare = 0.05

func sample(q question, a answer) workload.Sample {
	n := float64(len(a.Reads) + len(a.Writes))
	out := workload.Sample{Operations: int64(n), Latency: workload.Distribution("transaction", slices.Concat(a.Reads, a.Writes)),
		Values: map[string]float64{"tx_rate": n / a.Wall, "wall": a.Wall}}
	workload.SomeLatency(&out, "read_", "read", a.Reads, "p50", "p95", "p99")
	workload.SomeLatency(&out, "write_", "write", a.Writes, "p50", "p95")
	if a.HasCPU {
		out.Set("cpu_s", a.CPU/n)
	} else {
		out.Lack(cmp.Or(a.NoCPU, "this system does not tell the CPU time of workers and scanner apart"), "cpu_s")
	}
	if q.Scan == 0 {
		out.Lack("nothing scans", "scan_rate")
		return out
	}
	out.Set("scan_rate", a.Scan.Bytes/a.Scan.Wall)
	if a.Scan.HasWaited && q.Room.Scanner != nil && a.Scan.Waited.Seconds() > waitedShare*a.Scan.Wall {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("the scanner waited more than %.0f %% of the time for other work on CPU %d", 100*waitedShare,
				q.Room.Scanner[0]))
	}
	return out
}

func (s *session) Close() error {
	err := errors.Join(s.worker.Close(), s.postgres.Close())
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return err
}
