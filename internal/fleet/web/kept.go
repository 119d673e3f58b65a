package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"hostlab/internal/document"
)

// kept is an answer that takes long to make of a large fleet. One reader at a time begins that, it goes on without the
// reader, and all see the last answer until the next is there. Programs wait for the next.
type kept struct {
	mu      sync.Mutex
	last    int64     // the newest document that it knows
	made    time.Time // when
	answer  *document.Document
	failed  error         // why the last try made none
	running chan struct{} // closed when it has ended; nil: none is under way
	// After a document it is made anew when pause times as long as making it took have passed: 0 at once.
	pause int
	took  time.Duration
}

// A reader waits so long for what is newer, and so long for the first answer.
const (
	waitNewer = 50 * time.Millisecond
	waitFirst = patience / 2
)

// get is the answer, and when it was made.
func (k *kept) get(ctx context.Context, r *request,
	work func(context.Context) (*document.Document, error)) (*document.Document, time.Time, error) {
	k.mu.Lock()
	old := k.begin(ctx, r, work)
	running, wait := k.running, waitFirst
	if k.answer != nil && !r.whole {
		wait = waitNewer
	}
	k.mu.Unlock()
	if old {
		select {
		case <-running:
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, time.Time{}, ctx.Err()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.answer != nil:
		return k.answer, k.made, nil
	case k.running == nil:
		return nil, time.Time{}, k.failed
	}
	return nil, time.Time{}, &answer{http.StatusServiceUnavailable,
		"The server is making this page for the first time, which takes up to a minute. Reload it then."}
}

// begin has an old answer made anew, and reports whether it is old. The caller holds the lock.
func (k *kept) begin(ctx context.Context, r *request,
	work func(context.Context) (*document.Document, error)) (old bool) {
	age := r.now.Sub(k.made)
	old = k.answer == nil || age >= whole || k.last != r.fleet.last && age >= time.Duration(k.pause)*k.took
	if old && k.running == nil {
		k.running = make(chan struct{})
		go k.remake(context.WithoutCancel(ctx), r, work)
	}
	return old
}

// peek is the last answer, and waits for none; nil: there is none yet.
func (k *kept) peek(ctx context.Context, r *request,
	work func(context.Context) (*document.Document, error)) *document.Document {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(ctx, r, work)
	return k.answer
}

// remake makes the answer anew.
func (k *kept) remake(ctx context.Context, r *request, work func(context.Context) (*document.Document, error)) {
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	began := time.Now()
	d, err := work(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.took = time.Since(began)
	if k.failed = err; err == nil {
		k.answer, k.made, k.last = d, r.now, r.fleet.last
	} else {
		slog.Error("fleet serve: a page was not made anew", "page", r.URL.Path, "error", err) //nolint:gosec // slog quotes
	}
	close(k.running)
	k.running = nil
}

// own is a copy of a kept answer for one request, with the rows of its page alone. change may change each table.
func (r *request) own(kept *document.Document, change func(*document.Table)) (*document.Document, error) {
	d := *kept
	d.About, d.Sections = slices.Clone(d.About), slices.Clone(d.Sections)
	for i, s := range d.Sections {
		d.Sections[i].Blocks = slices.Clone(s.Blocks)
		for k, b := range s.Blocks {
			t, is := b.(*document.Table)
			if !is || t == nil {
				continue
			}
			one := *t
			one.Columns, one.Links.List = slices.Clone(t.Columns), slices.Clone(t.Links.List)
			if err := r.paged(&one, "row"); err != nil {
				return nil, err
			}
			one.Rows = slices.Clone(one.Rows)
			for n := range one.Rows {
				one.Rows[n].Cells = slices.Clone(one.Rows[n].Cells)
			}
			change(&one)
			d.Sections[i].Blocks[k] = &one
		}
	}
	return &d, nil
}

// answers holds the answers that were asked for last, by their names.
type answers struct {
	mu   sync.Mutex
	by   map[string]*kept
	used []string // the one asked for last comes last
}

// mostAnswers are as many: one of a large fleet takes megabytes.
const mostAnswers = 4

func (s *answers) of(name string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*kept{}
	}
	if s.by[name] == nil {
		s.by[name] = &kept{}
	}
	s.used = append(slices.DeleteFunc(s.used, func(n string) bool { return n == name }), name)
	if len(s.used) > mostAnswers {
		delete(s.by, s.used[0])
		s.used = s.used[1:]
	}
	return s.by[name]
}

// turns let each token have one document taken at a time: one that sends many holds one place.
type turns struct {
	mu sync.Mutex
	by map[string]*turn
}

type turn struct {
	free    chan struct{} // one may go in
	waiting int           // or be in
}

// turn waits for the token's turn, and then for a place. ok is false where the time is over.
func (s *Server) turn(ctx context.Context, token string) (leave func(), ok bool) {
	s.turns.mu.Lock()
	t := s.turns.by[token]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		s.turns.by[token] = t
	}
	t.waiting++
	s.turns.mu.Unlock()
	gone := func() {
		s.turns.mu.Lock()
		defer s.turns.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(s.turns.by, token)
		}
	}
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		gone()
		return nil, false
	}
	select {
	case s.posts <- struct{}{}:
		return func() { <-s.posts; <-t.free; gone() }, true
	case <-ctx.Done():
		<-t.free
		gone()
		return nil, false
	}
}

// bodies are bytes that hosts are sending or have sent, by token.
type bodies struct {
	most, each int64
	mu         sync.Mutex
	all        int64
	by         map[string]int64
}

// errRoom is that there is no room for more.
var errRoom = errors.New("too many documents come at once")

// room counts a body while it is read, and until it is freed.
type room struct {
	io.Reader
	of    *bodies
	token string
	took  int64
}

func (r *room) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	more := int64(n)
	if r.of.all+more > r.of.most || r.of.by[r.token]+more > r.of.each {
		return 0, errRoom
	}
	r.took += more
	r.of.all += more
	r.of.by[r.token] += more
	return n, err
}

func (r *room) free() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.all -= r.took
	if r.of.by[r.token] -= r.took; r.of.by[r.token] == 0 {
		delete(r.of.by, r.token)
	}
	r.took = 0
}
