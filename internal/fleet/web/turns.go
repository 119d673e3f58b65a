package web

import (
	"context"
	"errors"
	"io"
	"sync"
)

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
