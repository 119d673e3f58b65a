package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/testkit"
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
	testkit.Is(t, http.StatusServiceUnavailable, page(), "a comparison that failed")
	go func() { goOn <- nil }()
	testkit.Is(t, http.StatusOK, page(), "the comparison after one that failed")
	clock = clock.Add(2 * whole)
	for range 2 {
		testkit.Is(t, http.StatusOK, page(), "while hosts are compared anew")
	}
	goOn <- nil
	if first, second, third := <-calls, <-calls, <-calls; first != 1 || second != 2 || third != 3 || len(calls) != 0 {
		t.Errorf("hosts were compared %d, %d, %d times, and %d more", first, second, third, len(calls))
	}
}
