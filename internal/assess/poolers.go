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

// poolers asks those of this host that stand before a PostgreSQL, or that are the service, how long clients wait for a
// slot.
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
	asked := 0
	for _, p := range proc.All() {
		if p.Name != "pgbouncer" || asked >= mostPoolers {
			continue
		}
		asked++
		x.all.Go(func() {
			seen, err := ask(ctx, p.PID, lasts)
			before := own(p.PID) || connects(p.PID, seen.Servers, s.Members())
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

// mostPoolers is how many are asked.
const mostPoolers = 16

// connects reports that a pooler is the client of one of the service's processes, by the kernel: it says itself of
// which.
func connects(pooler int, servers map[int]bool, members []int) bool {
	tried := 0
	return slices.ContainsFunc(members, func(pid int) bool {
		if !servers[pid] || tried >= 3 {
			return false
		}
		tried++
		return proc.ClientOf(pid) == pooler
	})
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
