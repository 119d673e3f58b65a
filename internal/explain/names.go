package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Names is a Source that tells which statements run and who blocks whom. It is asked once a second at most.
type Names interface {
	// Name looks once. texts: those of statements are wanted, too.
	Name(ctx context.Context, texts bool) (Naming, error)
}

// ErrNotYet is a source that has nothing new to tell.
var ErrNotYet = errors.New("nothing new is known")

// Naming is one look.
type Naming struct {
	Doing  []Doing
	Blocks []Block
	Vacuum []Doing       // workers that clean up tables by themselves
	Queue  *Queue        // nil: each session has a thread
	Once   time.Duration // of it, that no other look takes
}

// Doing is what a session does at a look.
type Doing struct {
	Part PartName
	ID   string // of its statement; "": it does not show
	Kind string // of ID
	Text string // "": not asked for
}

// Block is one session that waits for a lock, and who holds it at the end of the chain.
type Block struct {
	Holder   Holder
	Relation string // "": not known
	Depth    int    // holders on the way, that one included
}

// Holder is a session that others wait for. What it does is its part.
type Holder struct {
	PID         int64
	Part        PartName
	Event       string
	User        string
	Application string
	Client      string // its address, or the process of this host
}

// Statement is one of those that ran in a part.
type Statement struct {
	Part PartName `json:"part"`
	// ID is the server's number for statements that differ in their values alone, or a hash that hostlab made of the text
	// without its values, as Kind says.
	ID    string          `json:"id"`
	Kind  string          `json:"kind"`
	Share result.Estimate `json:"share"` // of the part, by looks at the server
	Text  string          `json:"text,omitempty"`
}

// Blocker is a kind of sessions for which others waited: by relation and by what the last in the chain did.
type Blocker struct {
	Relation string   `json:"relation"` // "": not known
	Part     PartName `json:"part"`     // what the holder did; locks: each waited for the other
	Event    string   `json:"event"`    // in the vendor's words
	// Share is of the time of sessions that waited for such locks. Where looks found no holder, Part is Unexplained.
	Share    result.Estimate `json:"share"`
	Depth    int             `json:"depth"`    // longest chain
	Sessions int             `json:"sessions"` // different ones that held
	Alike    bool            `json:"alike"`    // all of one user and one application
	// Of the session that held most often.
	PID         int64   `json:"pid"`
	Held        float64 `json:"held"`  // its share of this kind, 0 to 1
	Still       bool    `json:"still"` // it held at the last look, too
	User        string  `json:"user"`
	Application string  `json:"application"`
	Client      string  `json:"client"`
}

// Vacuum is what workers did that clean up tables by themselves.
type Vacuum struct {
	Looks   int     `json:"looks"`
	Watched float64 `json:"watched"` // s
	Seconds float64 `json:"seconds"` // of all of them
	Running float64 `json:"running"` // of those, on a CPU or in I/O, and not in a pause
}

// Queue is the one of a server whose threads serve sessions in turn: requests that wait for a thread, and threads, the
// means of all looks.
type Queue struct {
	Waiting float64 `json:"waiting"`
	Working float64 `json:"working"`
	Looks   int     `json:"looks"`
}

type names struct {
	looks []Naming
	off   string // why no more are made
	next  time.Time
	began time.Time
	last  time.Time
}

// A look comes once a second, and more seldom where it takes long.
const (
	lookEach  = time.Second
	lookPause = 500 // times as long as the look took
	mostLooks = 3600

	leastLooks = 10 // of a watch that is short, but long enough for one every other second
)

func (r *recorder) name(ctx context.Context, now time.Time) {
	src, ok := r.src.(Names)
	if !ok || r.names.off != "" || now.Before(r.names.next) || len(r.names.looks) >= mostLooks {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begin := time.Now()
	asked, _, looks := r.looks()
	n, err := src.Name(ctx, r.Texts)
	if errors.Is(err, ErrNotYet) {
		return
	}
	if err != nil {
		r.names.off = screen.Cut(err.Error(), 2*longest)
		return
	}
	if len(r.names.looks) == 0 {
		r.names.began = now
	}
	r.names.looks, r.names.last = append(r.names.looks, n), now
	each := lookEach
	if looks {
		more, _, _ := r.looks()
		each = eased * time.Duration(more-asked)
		if r.Rarely == 1 && r.For > 0 { // a short watch needs some looks, too; a ring adds those of many
			each = min(each, max(eased, r.For/leastLooks))
		}
	}
	begin = begin.Add(n.Once)
	r.names.next = now.Add(time.Duration(r.Rarely) * max(each, lookPause*time.Duration(r.pay(begin)*float64(time.Second))))
}

// fill puts what the looks showed into a report.
func (n *names) fill(r *Report) {
	if n.off != "" {
		r.Missing = append(r.Missing, "which statements run, and who holds locks: "+n.off)
	}
	if len(n.looks) == 0 {
		return
	}
	r.Statements, r.Blockers = n.statements(r), n.blockers()
	v := Vacuum{Looks: len(n.looks), Watched: n.last.Sub(n.began).Seconds() + lookEach.Seconds()}
	each := v.Watched / float64(v.Looks)
	var q Queue
	for _, l := range n.looks {
		for _, x := range l.Vacuum {
			if v.Seconds += each; x.Part != Idle {
				v.Running += each
			}
		}
		if l.Queue != nil {
			q = Queue{q.Waiting + l.Queue.Waiting, q.Working + l.Queue.Working, q.Looks + 1}
		}
	}
	if q.Looks > 0 {
		r.Queue = &Queue{q.Waiting / float64(q.Looks), q.Working / float64(q.Looks), q.Looks}
	}
	if v.Seconds > 0 {
		r.Vacuum = &v
	}
}

// local names the process of this host that is the client of a session that sits still within a transaction.
func (r *recorder) local(list []Blocker) {
	src, ok := r.src.(Hosted)
	if !ok {
		return
	}
	server, own, here := src.Process()
	for i := range list {
		b := &list[i]
		if !here || b.Part != Application || b.Held < half || b.PID <= 0 || own <= 0 {
			continue
		}
		// Where each session has a process, it is the server's child.
		if stat, err := proc.Read(int(b.PID)); err != nil || stat.Parent != server {
			continue
		}
		if client := proc.ClientOf(int(b.PID)); client != 0 {
			if stat, err := proc.Read(client); err == nil {
				b.Client = fmt.Sprintf("%s (PID %d)", screen.Cut(stat.Name, longest), client)
			}
		}
	}
}

// half is the share from which one session is the holder.
const half = 0.5

// top is how many statements a part shows, and notable the share of active time from which it shows any.
const (
	top     = 3
	notable = 0.05
)

// counts are looks by key, each as the weight that a key had in it.
type counts[K comparable] struct {
	by    map[K][]float64
	all   []float64
	looks int
}

func newCounts[K comparable](looks int) *counts[K] {
	return &counts[K]{by: map[K][]float64{}, all: make([]float64, looks), looks: looks}
}

func (c *counts[K]) add(look int, k K, weight float64) {
	if c.by[k] == nil {
		c.by[k] = make([]float64, c.looks)
	}
	c.by[k][look] += weight
	c.all[look] += weight
}

// share is that of a key among all, with its interval; n is looks that had any.
func (c *counts[K]) share(k K) result.Estimate {
	n := 0
	for _, v := range c.all {
		if v > 0 {
			n++
		}
	}
	p, low, high, _ := ratio(c.by[k], c.all, n, float64(n))
	return result.Estimate{Value: p, Low: low, High: high, N: n, Evidence: result.Measured}
}

func (n *names) statements(r *Report) (out []Statement) {
	type key struct{ id, kind string }
	parts, texts := map[PartName]*counts[key]{}, map[key]string{}
	for i, l := range n.looks {
		for _, d := range l.Doing {
			if parts[d.Part] == nil {
				parts[d.Part] = newCounts[key](len(n.looks))
			}
			k := key{d.ID, d.Kind}
			if parts[d.Part].add(i, k, 1); d.Text != "" && texts[k] == "" {
				texts[k] = screen.Cut(d.Text, 10*longest)
			}
		}
	}
	for _, name := range PartNames {
		c := parts[name]
		if c == nil || name == Idle || r.Busy <= 0 || r.Part(name).Seconds < notable*r.Busy {
			continue
		}
		var list []Statement
		for k := range c.by {
			list = append(list, Statement{Part: name, ID: k.id, Kind: k.kind, Share: c.share(k), Text: texts[k]})
		}
		slices.SortFunc(list, func(a, b Statement) int {
			return cmp.Or(cmp.Compare(b.Share.Value, a.Share.Value), cmp.Compare(a.ID, b.ID))
		})
		out = append(out, list[:min(top, len(list))]...)
	}
	return out
}

// mostBlockers is how many kinds of holders a report has.
const mostBlockers = 10

func (n *names) blockers() (out []Blocker) {
	type key struct {
		relation string
		part     PartName
		event    string
	}
	c := newCounts[key](len(n.looks))
	depth, held := map[key]int{}, map[key]map[int64]float64{}
	who, still := map[int64]Holder{}, map[int64]bool{}
	for i, l := range n.looks {
		for _, b := range l.Blocks {
			still[b.Holder.PID] = i == len(n.looks)-1
			k := key{screen.Cut(b.Relation, longest), b.Holder.Part, screen.Cut(b.Holder.Event, longest)}
			c.add(i, k, 1)
			if depth[k] = max(depth[k], b.Depth); held[k] == nil {
				held[k] = map[int64]float64{}
			}
			held[k][b.Holder.PID]++
			who[b.Holder.PID] = b.Holder
		}
	}
	for k := range c.by {
		x := Blocker{Relation: k.relation, Part: k.part, Event: k.event, Share: c.share(k), Depth: depth[k],
			Sessions: len(held[k])}
		sum, like := 0.0, map[Holder]bool{}
		for pid, v := range inOrder(held[k], cmp.Compare[int64]) {
			like[Holder{User: who[pid].User, Application: who[pid].Application}] = true
			if sum += v; v > x.Held {
				h := who[pid]
				x.PID, x.Held, x.Still = pid, v, still[pid]
				x.User, x.Application, x.Client = screen.Cut(h.User, longest), screen.Cut(h.Application, longest),
					screen.Cut(h.Client, longest)
			}
		}
		x.Held, x.Alike = x.Held/sum, len(like) == 1
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(b.Share.Value, a.Share.Value), cmp.Compare(a.Relation+a.Event, b.Relation+b.Event))
	})
	return out[:min(mostBlockers, len(out))]
}
