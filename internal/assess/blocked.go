package assess

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/waits"
)

// blocked looks at what the service's threads wait for in the kernel.
type blocked struct {
	tally  *waits.Tally // nil: nobody looked
	pace   time.Duration
	unread unread
	// holders are how often programs held the lock of a file that the service waited for.
	holders map[program]*held
	next    time.Time // that they are looked at
	systems map[string]fileSystem
	synced  map[string]bool // files of which a thread waited for a sync
}

// Between two looks, at least: 3,000 in a minute. Looking takes at most a part of one CPU.
const (
	leastPace = 20 * time.Millisecond
	looking   = 0.0035

	holdersEach = time.Second / 2
)

func (b *blocked) watch(ctx context.Context, s *service.Service, lasts time.Duration) {
	w := waits.Open(s.Members)
	defer w.Close()
	b.tally, b.pace = w.Tally(), leastPace
	looks := 0
	for end := time.Now().Add(lasts); ctx.Err() == nil && time.Now().Before(end); {
		w.Look()
		looks++
		b.unread.look(s.Members)
		b.lookAtHolders(s.Members)
		b.pace = max(leastPace, time.Duration(float64(b.tally.CPU)/float64(looks)/looking))
		wait(ctx, b.pace)
	}
}

// parts are those of a service that tells no sessions: what its threads waited for until a device had done it, or a
// server had answered. Waits for locks, clients and timers are none: an idle pool waits as they do. short: it reached a
// limit of its memory, so that it reads pages again which it had.
func (b *blocked) parts(short bool) (list []explain.Part) {
	if b.tally == nil || b.tally.N == 0 { // as on Windows
		return nil
	}
	seconds := map[explain.PartName]float64{explain.LogWait: 0, explain.DataReads: 0, explain.Peers: 0,
		explain.OtherWaits: 0}
	if s := b.fileLocks(); s > 0 {
		seconds[explain.Locks] = s
	}
	for _, s := range b.servers() {
		seconds[explain.Peers] += s
	}
	for _, s := range b.children() {
		seconds[explain.OtherWaits] += s
	}
	between := 0.0 // any of them, where no look fell
	for w, s := range b.tally.ByWait() {
		switch {
		case w.Kind == waits.Between:
			between += s
		case w.Kind == waits.Unseen:
			return nil // this user may not look
		case b.logs(w):
			seconds[explain.LogWait] += s
		case w.Kind == waits.Read && w.Blocked && !b.served(w.On), w.Kind == waits.AsyncIO && w.Blocked,
			w.Kind == waits.Fault && !short:
			seconds[explain.DataReads] += s
		case w.Blocked, w.Kind == waits.Path, b.pushes(w), b.served(w.On):
			seconds[explain.OtherWaits] += s
		}
	}
	source := fmt.Sprintf("%s at system calls, one every %s", screen.Count(b.tally.N, "look"),
		result.Format(b.pace.Seconds(), "s"))
	for _, name := range []explain.PartName{explain.LogWait, explain.DataReads, explain.Locks, explain.Peers, explain.OtherWaits} {
		s, is := seconds[name]
		if !is {
			continue
		}
		off := 1.96 * math.Sqrt(2*s*b.pace.Seconds()) // looks are counted (Poisson), and neighbours are alike
		list = append(list, explain.Part{Name: name, Seconds: s, Source: source,
			Share: result.Estimate{Value: s, Low: max(0, s-off),
				High: s + off + between + unseen*b.pace.Seconds(), N: b.tally.N, Evidence: result.Measured}})
	}
	return list
}

// withLocks adds the waits for locks as windows showed them, unless looks saw more of them: locks of files, which may be
// held for longer than windows last.
func withLocks(parts, windows []explain.Part) []explain.Part {
	for _, p := range windows {
		i := slices.IndexFunc(parts, func(x explain.Part) bool { return x.Name == p.Name })
		switch {
		case i < 0:
			parts = append(parts, p)
		case parts[i].Seconds < p.Seconds:
			parts[i] = p
		}
	}
	return parts
}
