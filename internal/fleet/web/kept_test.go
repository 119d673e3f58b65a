package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
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

// TestNewPlan: a plan that came while the server runs is on the next page, though no host wrote.
func TestNewPlan(t *testing.T) {
	s := opened(t)
	web := serving(t, Config{Store: s})
	for range 2 {
		if _, page := get(t, web.URL+"/rollouts?format=json"); strings.Count(page, `"sha256"`) != 1 {
			t.Fatal(page)
		}
	}
	later := *change
	later.Created = change.Created.Add(time.Hour)
	body := testkit.Must(json.Marshal(&later))(t)
	d := testkit.Must(fleet.Read(body, "", now))(t)
	if n, err := s.Put(t.Context(), []*fleet.Document{d}, "plan", now); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, url := range []string{"/rollouts?format=html", "/rollouts?format=json"} {
		if _, page := get(t, web.URL+url); !strings.Contains(page, d.Hash) {
			t.Errorf("%s does not have the plan", url)
		}
	}
	if a, _ := get(t, web.URL+"/rollouts/"+d.Hash); a.StatusCode != http.StatusOK {
		t.Errorf("its page: %d", a.StatusCode)
	}
}

// TestRemediesOfHost: a remedy of several lines is one block of code on its host's page, a line each, as it is on its
// check's.
func TestRemediesOfHost(t *testing.T) {
	s := opened(t)
	const remedy = "timedatectl show -p NTP -p NTPSynchronized\nchronyc tracking # with chrony, and rtcsync\necho 1 | " +
		"sudo tee /sys/devices/system/cpu/cpu0/cpuidle/state3/disable"
	var doc map[string]any
	testkit.OK(t, json.Unmarshal(assessment("evil", "x", now.Add(-time.Hour)), &doc))
	doc["results"].([]any)[1].(map[string]any)["remedy"] = remedy
	body := testkit.Must(json.Marshal(doc))(t)
	d := testkit.Must(fleet.Read(body, "evil", now))(t)
	testkit.Must(s.Put(t.Context(), []*fleet.Document{d}, "test", now))(t)
	web := serving(t, Config{Store: s})
	if _, page := get(t, web.URL+"/hosts/evil?format=html"); !strings.Contains(page, "<code>"+remedy+"</code>") ||
		strings.Count(page, "chronyc") != 1 {
		t.Error("the host's page has no block of the remedy's lines")
	}
	table := &document.Table{Columns: document.Headings("check", "problem")}
	for _, id := range []string{"SMT-001", "KRN-010"} {
		table.Row(id, "x")
	}
	if b := remedyBlocks(table, map[string]string{"SMT-001": "hostlab assess", "KRN-010": "grep -r . /sys\n# newer"}); len(b) != 1 ||
		b[0].Line != "# newer" {
		t.Errorf("%q: commands that only look are no remedies", b)
	}
	var data hostJSON
	if _, text := get(t, web.URL+"/hosts/evil?format=json"); json.Unmarshal([]byte(text), &data) != nil ||
		data.Remedies["MEM-006"] != remedy {
		t.Errorf("%q", data.Remedies)
	}
}

// Exceptions that change hold at once, on hosts that have written nothing since, and so does their end.
func TestExceptionsChange(t *testing.T) {
	var now atomic.Pointer[[]check.Exception]
	now.Store(new([]check.Exception))
	web := serving(t, Config{Exceptions: func() []check.Exception { return *now.Load() }})
	const reason = "our benches page on purpose"
	for _, list := range [][]check.Exception{nil, {{Check: "MEM-006", Host: "db*", Reason: reason, Until: "2027-01-01"}},
		nil} {
		now.Store(&list)
		for _, path := range []string{"/exceptions", "/checks/MEM-006?format=json"} {
			if _, body := get(t, web.URL+path); strings.Contains(body, reason) != (list != nil) {
				t.Errorf("%s with %d exceptions: the reason stands there: %v", path, len(list), list == nil)
			}
		}
	}
}

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
