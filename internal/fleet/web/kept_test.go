package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/testkit"
)

// A reader gets the last answer while the next is made, a program waits for the next, and a failure is said and tried
// again.
func TestKept(t *testing.T) {
	var k kept
	begun, end := make(chan struct{}, 1), make(chan string)
	work := func(context.Context) (*document.Document, error) {
		begun <- struct{}{}
		if title := <-end; title != "" {
			return &document.Document{Title: title}, nil
		}
		return nil, errors.New("away")
	}
	ask := func(last int64, program bool) <-chan string {
		said := make(chan string, 1)
		go func() {
			d, _, err := k.get(t.Context(), &request{Request: httptest.NewRequest(http.MethodGet, "/", nil),
				fleet: &snapshot{last: last}, now: time.Unix(1e9, 0), whole: program}, work)
			if err != nil {
				said <- err.Error()
				return
			}
			said <- d.Title
		}()
		return said
	}
	expect := func(said <-chan string, want string) {
		t.Helper()
		testkit.Is(t, want, <-said)
	}
	first := ask(1, false)
	<-begun
	end <- ""
	expect(first, "away")
	first = ask(1, false)
	<-begun
	end <- "one"
	expect(first, "one")
	expect(ask(1, false), "one") // nothing came: it is not made again
	program, reader := ask(2, true), ask(2, false)
	<-begun
	expect(reader, "one")
	end <- "two"
	expect(program, "two")
	expect(ask(2, false), "two")
}

// What takes long to make is made anew after a document when a multiple of that time has passed; what takes none, at
// once.
func TestKeptRests(t *testing.T) {
	start := time.Unix(1e9, 0)
	k := kept{pause: 20, took: time.Minute / 4, last: 1, made: start, answer: &document.Document{}}
	for _, c := range []struct {
		after time.Duration
		last  int64
		old   bool
	}{{time.Minute, 1, false}, {time.Minute, 2, false}, {5 * time.Minute, 2, true}, {5 * time.Minute, 1, false},
		{whole, 1, true}} {
		k.running = make(chan struct{}) // none is begun
		if old := k.begin(t.Context(), &request{fleet: &snapshot{last: c.last}, now: start.Add(c.after)}, nil); old != c.old {
			t.Errorf("after %s, at document %d: old %v", c.after, c.last, old)
		}
	}
}

// Only the answers that were asked for last are held.
func TestShelf(t *testing.T) {
	var s answers
	first := s.of("a")
	for _, name := range []string{"b", "c", "a", "d", "e"} {
		s.of(name)
	}
	if s.of("a") != first || len(s.by) != mostAnswers || s.by["b"] != nil {
		t.Errorf("held are %d", len(s.by))
	}
}
