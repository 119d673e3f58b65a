package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
)

// The first page has hosts compared, and is there before they are.
func TestOutliersOnFirstPage(t *testing.T) {
	goOn := make(chan bool)
	web := serving(t, Config{Outliers: func(ctx context.Context, at time.Time,
		stale time.Duration) (*document.Document, error) {
		<-goOn
		return apart(ctx, at, stale)
	}})
	for range 2 {
		if r, body := get(t, web.URL+"/"); r.StatusCode != http.StatusOK || !strings.Contains(body, "being compared") {
			t.Errorf("before hosts are compared: %d", r.StatusCode)
		}
	}
	close(goOn)
	if r, _ := get(t, web.URL+"/outliers"); r.StatusCode != http.StatusOK {
		t.Fatalf("outliers: %d", r.StatusCode)
	}
	if _, body := get(t, web.URL+"/"); !strings.Contains(body, "<small>evil</small>") ||
		strings.Contains(body, "being compared") {
		t.Error("the first page does not name the outlier")
	}
}

// A comparison that takes long keeps no reader waiting once there has been one, and one that fails is tried again.
func TestOutliersMeanwhile(t *testing.T) {
	clock := now
	goOn, calls := make(chan error), make(chan int, 9)
	n := 0
	web := serving(t, Config{Now: func() time.Time { return clock },
		Outliers: func(ctx context.Context, at time.Time, stale time.Duration) (*document.Document, error) {
			n++
			calls <- n
			if err := <-goOn; err != nil {
				return nil, err
			}
			return apart(ctx, at, stale)
		}})
	page := func() int {
		r, _ := get(t, web.URL+"/outliers")
		return r.StatusCode
	}
	go func() { goOn <- errors.New("the store went away") }()
	if got := page(); got != http.StatusServiceUnavailable {
		t.Errorf("a comparison that failed: %d", got)
	}
	go func() { goOn <- nil }()
	if got := page(); got != http.StatusOK {
		t.Errorf("the comparison after one that failed: %d", got)
	}
	clock = clock.Add(2 * whole)
	for range 2 {
		if got := page(); got != http.StatusOK {
			t.Errorf("while hosts are compared anew: %d", got)
		}
	}
	goOn <- nil
	if first, second, third := <-calls, <-calls, <-calls; first != 1 || second != 2 || third != 3 || len(calls) != 0 {
		t.Errorf("hosts were compared %d, %d, %d times, and %d more", first, second, third, len(calls))
	}
}
