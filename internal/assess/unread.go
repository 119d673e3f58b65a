package assess

import (
	"fmt"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/result"
)

// Requests are those that clients have sent and the service has not read yet, the means of all looks.
type Requests struct {
	Connections float64 `json:"connections"`
	Unread      float64 `json:"unread"` // of them, with something to read
	Looks       int     `json:"looks"`
}

// unread looks at connections now and then.
type unread struct {
	sum  Requests
	next time.Time
}

// A look at all connections comes once a second, and more seldom where it takes long.
const (
	unreadEach  = time.Second
	unreadPause = 1000 // times as long as the look took
)

func (u *unread) look(members func() []int) {
	began := time.Now()
	if began.Before(u.next) {
		return
	}
	if connections, waits := proc.Requests(members()); connections > 0 {
		u.sum.Connections, u.sum.Unread, u.sum.Looks = u.sum.Connections+float64(connections), u.sum.Unread+float64(waits),
			u.sum.Looks+1
	}
	u.next = began.Add(max(unreadEach, unreadPause*time.Since(began)))
}

// mean is what the looks showed; nil: no connection.
func (u *unread) mean() *Requests {
	n := float64(u.sum.Looks)
	if n == 0 {
		return nil
	}
	return &Requests{u.sum.Connections / n, u.sum.Unread / n, u.sum.Looks}
}

// crowded is the share of the CPUs' time in use from which the CPUs are why requests wait.
const crowded = 0.9

// untaken are requests that wait though CPUs are idle: too few threads take them, or something holds those.
func (m *Minute) untaken() []explain.Finding {
	r := m.Requests
	if r == nil || m.Connected || r.Unread < 1 || m.Host.Busy == nil || *m.Host.Busy >= crowded || m.Host.Bound() ||
		m.Throttled != nil && *m.Throttled > 0 {
		return nil
	}
	share := r.Unread / r.Connections
	return []explain.Finding{{Parameter: "threads that take requests", Part: explain.Application, Number: r.Unread,
		Unit: "connections", N: int64(r.Looks),
		Explains: &share, AtMost: result.Finite(1),
		Text: fmt.Sprintf("on %s of %s connections a request waits to be read, while CPUs are %s busy",
			explain.Plain(r.Unread), explain.Plain(r.Connections),
			result.Share(*m.Host.Busy)),
		Step: "raise the number of threads or workers of its pool, or find what holds them"}}
}
