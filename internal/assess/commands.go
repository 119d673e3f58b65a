package assess

import (
	"context"
	"fmt"
	"os"

	"hostlab/internal/explain"
	"hostlab/internal/explain/redis"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// commands asks a Redis or Valkey at both ends of a minute for the times of its commands.
type commands struct {
	pid    int // 0: it is none
	before []redis.Command
	err    error
}

func (c *commands) start(ctx context.Context, s *service.Service) {
	if p, err := proc.Read(s.PID); err == nil && (p.Name == "redis-server" || p.Name == "valkey-server") {
		c.pid = s.PID
		c.before, c.err = c.ask(ctx)
	}
}

// ask tries all addresses at which it listens.
func (c *commands) ask(ctx context.Context) (list []redis.Command, err error) {
	err = fmt.Errorf("process %d listens at no address that shows here", c.pid)
	ours := func() bool { return proc.ClientsAmong([]int{os.Getpid()}, []int{c.pid})[os.Getpid()] }
	for _, address := range proc.Listens(c.pid) {
		if list, err = redis.Ask(ctx, address, ours); err == nil {
			return list, nil
		}
	}
	return nil, err
}

func (c *commands) fill(ctx context.Context, m *Minute) {
	if c.pid == 0 {
		return
	}
	after, err := c.before, c.err
	if err == nil {
		after, err = c.ask(ctx)
	}
	if err != nil {
		m.Report.Missing = append(m.Report.Missing, "how long its commands take: "+screen.OneLine(err))
		return
	}
	list := redis.Since(c.before, after)
	m.Commands = list[:min(mostAsked, len(list))]
}

// slow are commands that keep all others waiting: a short one is over before another came.
func (m *Minute) slow() (list []explain.Finding) {
	cpu, queue := m.share(explain.DatabaseCPU), m.share(explain.RunQueue)
	for _, c := range m.Commands {
		each := c.Seconds / float64(c.Calls)
		if m.Report.Busy <= 0 || each < heavily {
			continue
		}
		share := min(1, c.Seconds/m.Report.Busy)
		list = append(list, explain.Finding{Parameter: "command " + c.Name, Part: explain.DatabaseCPU,
			Number: each, Unit: "s", N: c.Calls, Explains: &share, AtMost: result.Finite(min(1, max(share, cpu.High+queue.High))),
			Unseen: "it does not show how long others wait behind one",
			Text: fmt.Sprintf("command %s has %s of active time, %s each, while the others wait for the one thread",
				c.Name, result.Share(share), result.Format(each, "s")),
			Step: "have its clients ask for less at a time, as by SCAN for KEYS; SLOWLOG GET shows its arguments and clients"})
	}
	return list
}
