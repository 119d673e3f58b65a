package assess

import (
	"context"
	"fmt"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/service"
)

// Guard looks at a service while probes run beside it, and stops them where it becomes
// slower: where its threads wait longer for a CPU than in the worst stretch of the minute, or
// its transactions take longer.
type Guard struct {
	minute *Minute
	done   chan struct{}
	stop   context.CancelFunc

	why string // it stopped the probes; "" it did not
}

// What a service may lose while probes run.
const (
	slowerQueue = 1.1 // time on a CPU with the wait for it, over that in the worst stretch before
	slowerTrip  = 1.5 // time of a transaction, over that of the minute
	guardEach   = 3   // s, of a stretch
)

// NewGuard begins to look, until Stop; harmed is called where the service became slower.
func NewGuard(ctx context.Context, m *Minute, s *service.Service, source explain.Source,
	harmed context.CancelFunc) *Guard {
	g := &Guard{minute: m, done: make(chan struct{})}
	ctx, g.stop = context.WithCancel(ctx)
	go func() {
		defer close(g.done)
		var meter *service.Meter
		if s.Here() {
			if m, err := s.NewMeter(); err == nil { // else it has ended: there is nobody to harm
				defer m.Close()
				meter = m
			}
		}
		var before service.Reading
		for ctx.Err() == nil && g.why == "" {
			if source != nil && m.Connected {
				g.transactions(ctx, source)
			} else {
				wait(ctx, guardEach*time.Second)
			}
			if meter == nil {
				continue
			}
			r, err := meter.Read()
			if err != nil {
				return
			}
			g.queued(r.CPU-before.CPU, r.Queue-before.Queue, ctx.Err() == nil)
			before = r
		}
		if g.why != "" {
			harmed()
		}
	}()
	return g
}

// queued takes what the threads did in a stretch. A whole one is compared with the minute.
func (g *Guard) queued(cpu, queue float64, whole bool) {
	if worst := g.minute.worstQueue(); whole && cpu > 0.03 && 1+queue/cpu > slowerQueue*(1+worst) {
		g.why = fmt.Sprintf("its threads waited %s for a CPU per second of CPU time, and %s at most before",
			result.Format(queue/cpu, "s"), result.Format(worst, "s"))
	}
}

// worstQueue is the wait for each second on a CPU in the worst stretch of the minute.
func (m *Minute) worstQueue() (worst float64) {
	all := append([]service.Reading{{}}, m.Readings...)
	for i := guardEach; i < len(all); i++ {
		if cpu := all[i].CPU - all[i-guardEach].CPU; cpu > 0 {
			worst = max(worst, (all[i].Queue-all[i-guardEach].Queue)/cpu)
		}
	}
	return worst
}

// transactions watches the sessions for a stretch.
func (g *Guard) transactions(ctx context.Context, source explain.Source) {
	r, err := explain.Record(ctx, source, explain.Options{For: guardEach * time.Second})
	if err != nil || r.Ended != "" {
		wait(ctx, guardEach*time.Second)
		return
	}
	before, n := g.minute.Report, r.Transactions
	if n < 30 || before.Transactions <= 0 {
		return
	}
	now, usual := r.Busy/float64(n), before.Busy/float64(before.Transactions)
	if now > slowerTrip*usual {
		g.why = fmt.Sprintf("a transaction took %s, and %s before", result.Format(now, "s"), result.Format(usual, "s"))
	}
}

// Stop ends it, and says why it stopped the probes, a clause; "": it did not.
func (g *Guard) Stop() string {
	g.stop()
	<-g.done
	return g.why
}
