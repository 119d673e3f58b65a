package assess

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/explain/pgbouncer"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

// poolers asks those of this host that stand before a PostgreSQL, or that are the service, how long clients wait for a slot.
type poolers struct {
	all sync.WaitGroup

	mu     sync.Mutex
	pools  []pgbouncer.Pool
	missed []string
}

// start begins to ask, for a time.
func (x *poolers) start(ctx context.Context, s *service.Service, lasts time.Duration) {
	ours := s.Members()
	own := func(pid int) bool { return slices.Contains(ours, pid) }
	for _, p := range proc.All() {
		if p.Name != "pgbouncer" {
			continue
		}
		x.all.Go(func() {
			seen, err := ask(ctx, p.PID, lasts)
			before := own(p.PID) || slices.ContainsFunc(s.Members(), func(pid int) bool { return seen.Servers[pid] })
			x.mu.Lock()
			defer x.mu.Unlock()
			if before {
				x.pools = append(x.pools, seen.Pools...)
			}
			if err != nil && before {
				x.missed = append(x.missed, fmt.Sprintf("how long clients of pgbouncer (PID %d) wait for a slot: %v", p.PID, err))
			}
		})
	}
}

func ask(ctx context.Context, pid int, lasts time.Duration) (seen pgbouncer.Seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	console, err := connect.Console(ctx, pid)
	if err != nil {
		return seen, err
	}
	defer console.Close()
	return pgbouncer.Watch(ctx, console, pid)
}

// fill waits for the answers.
func (x *poolers) fill(m *Minute) {
	x.all.Wait()
	m.Pools = x.pools
	m.Report.Missing = append(m.Report.Missing, x.missed...)
}

// pooled are the pools whose clients wait.
func (m *Minute) pooled() []explain.Finding { return pgbouncer.Findings(m.Pools, m.Host.Busy) }
