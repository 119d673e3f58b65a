package observe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// application shows a histogram of two series, beside what else such pages have.
type application struct {
	mu     sync.Mutex
	bounds []float64
	counts [2][]int // by bucket; the last is beyond the bounds
	sums   [2]float64
	all    []float64 // since the test asked
	answer string    // in place of the page
	status int
}

func newApplication(bounds ...float64) *application {
	a := &application{bounds: bounds}
	for i := range a.counts {
		a.counts[i] = make([]int, len(bounds)+1)
	}
	return a
}

func (a *application) serve(series int, seconds float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearch(a.bounds, seconds)
	a.counts[series][i]++
	a.sums[series] += seconds
	a.all = append(a.all, seconds)
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.status != 0:
		http.Redirect(w, r, "/elsewhere", a.status)
		return
	case a.answer != "":
		fmt.Fprint(w, a.answer)
		return
	}
	fmt.Fprint(w, "# HELP up is up\n# TYPE up gauge\nup 1\n# TYPE took_seconds histogram\n")
	for s, path := range []string{"/a", `/\"b`} {
		n := 0
		for i, bound := range append(a.bounds, math.Inf(1)) {
			n += a.counts[s][i]
			fmt.Fprintf(w, "took_seconds_bucket{path=\"%s\",le=\"%s\"} %d\n", path, strings.TrimPrefix(fmt.Sprint(bound), "+"),
				n)
		}
		fmt.Fprintf(w, "took_seconds_sum{path=\"%s\"} %g\ntook_seconds_count{path=\"%s\"} %d\n", path, a.sums[s], path, n)
	}
}

func pageOf(t *testing.T, a *application) (*page, string) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	p, why, _ := newPage(server.URL+"/metrics", "took_seconds", false)
	if p == nil {
		t.Fatal(why)
	}
	t.Cleanup(p.close)
	return p, server.URL + "/metrics"
}

// TestQuantiles compares with the same requests sorted: within a bucket.
func TestQuantiles(t *testing.T) {
	a := newApplication(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
	p, _ := pageOf(t, a)
	for range 1000 {
		a.serve(0, 0.9) // of before
	}
	before := testkit.Must(p.read(t.Context()))(t)
	a.all = nil
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		a.serve(i%2, 0.004*math.Exp(random.NormFloat64()))
	}
	after := testkit.Must(p.read(t.Context()))(t)
	h := testkit.Must(after.since(before))(t)
	p50, p99, mean := h.quantiles(1)
	slices.Sort(a.all)
	sum := 0.0
	for _, v := range a.all {
		sum += v
	}
	t.Logf("p50 %v (%v), p99 %v (%v), mean %v (%v)", p50.is, a.all[10000], p99.is, a.all[19800], mean.is, sum/20000)
	if h.count() != 20000 || math.Abs(mean.is-sum/20000) > 1e-6 || math.Abs(p50.is/a.all[10000]-1) > 0.1 ||
		math.Abs(p99.is/a.all[19800]-1) > 0.15 {
		t.Error("too far from the requests themselves")
	}
	testkit.Refused(before.since(after))(t, "fewer requests than before", "backwards")
}

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		h    histogram
		q    float64
		want amount
	}{
		{histogram{bounds: []float64{1, 2, inf}, counts: []float64{10, 20, 20}}, 0.5, amount{is: 1}},
		{histogram{bounds: []float64{1, 2, inf}, counts: []float64{10, 20, 20}}, 0.75, amount{is: 1.5}},
		{histogram{bounds: []float64{1, 2, inf}, counts: []float64{10, 10, 10}}, 0.99, amount{is: 0.99}},
		{histogram{bounds: []float64{1, 2, inf}, counts: []float64{0, 10, 10}}, 0.5, amount{is: 1.5}},
		{histogram{bounds: []float64{1, 2, inf}, counts: []float64{1, 1, 10}}, 0.5,
			amount{why: "it lies beyond the histogram's largest bucket, 2.00 s"}},
		{histogram{bounds: []float64{inf}, counts: []float64{10}}, 0.5, amount{why: "the histogram has no bucket"}},
	} {
		if got := c.h.quantile(c.q); got.why != c.want.why || math.Abs(got.is-c.want.is) > 1e-9 {
			t.Errorf("%+v at %v: %+v", c.h, c.q, got)
		}
	}
}

func TestPageRefused(t *testing.T) {
	const sum, inf = "took_seconds_sum 1\ntook_seconds_count 3\n", `took_seconds_bucket{le="+Inf"} 3` + "\n"
	for answer, want := range map[string]string{
		"<html>": "not Prometheus' text format", "up 1\n": "there is no metric took_seconds",
		"# TYPE took_seconds gauge\ntook_seconds 1\n": "it is a gauge, not a histogram",
		"# TYPE took_seconds summary\n" +
			sum: "it is a summary, not a histogram",
		"# TYPE took_seconds histogram\n" + `took_seconds_bucket{le="1"} 5` + "\n" +
			inf + sum: "its buckets are not in order",
		"# TYPE took_seconds histogram\n" + `took_seconds_bucket{a="x",le="1"} 1` + "\n" +
			`took_seconds_bucket{a="y",le="2"} 1` + "\n" + `took_seconds_count{a="x"} 1` + "\n" + `took_seconds_count{a="y"} 1` +
			"\n": "its series have different buckets",
	} {
		a := newApplication()
		a.answer = answer
		p, _ := pageOf(t, a)
		if _, err := p.read(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", answer, err)
		}
	}
	a := newApplication()
	p, _ := pageOf(t, a)
	a.status = http.StatusFound
	testkit.Refused(p.read(t.Context()))(t, "the server answers 302", "a redirection")
	p, why, _ := newPage("127.0.0.1:1/metrics", "x", false)
	if p == nil {
		t.Fatal(why)
	}
	if _, err := p.read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "https://127.0.0.1:1/metrics: ") {
		t.Errorf("nothing there: %v", err)
	}
}

// TestApplication is a process without a database that tells its requests and their latency.
func TestApplication(t *testing.T) {
	t.Parallel()
	a := newApplication(0.01, 0.02, 0.05)
	_, at := pageOf(t, a)
	given := map[string]any{"service": itself(), "url": at, "histogram": "took_seconds", "for": "3s", "every": "1s"}
	s, r := openSession(t, given)
	for range 50 {
		a.serve(1, 0.03) // before the run
	}
	looks := 0
	r.Look = func(b workload.Bin) error {
		looks++
		for range 100 {
			a.serve(looks%2, 0.015)
		}
		if v, told := b.Values["latency_mean"]; told != (looks > 1) || told && math.Abs(v-0.015) > 1e-9 {
			t.Errorf("look %d: %+v", looks, b.Values)
		}
		return nil
	}
	got, err := s.Run(t.Context(), r)
	testkit.OK(t, err)
	v := got.Values
	// What came after the last look is not seen. A busy machine may look less often.
	n := float64(100 * (looks - 1))
	if looks < 2 || looks > 3 || v["transactions"] != n || v["arrivals"] != n || float64(got.Operations) != n ||
		math.Abs(v["latency_mean"]-0.015) > 1e-9 || v["latency_p99"] <= 0.01 || v["latency_p99"] > 0.02 {
		t.Errorf("%d looks: %+v", looks, got)
	}
	if v["cpu_s"] <= 0 || math.Abs(v["cpu_per_transaction"]-v["cpu_s"]/n) > 1e-9 || got.Missing["log_wait_s"] == "" ||
		len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	s, r = openSession(t, given)
	r.Look = func(workload.Bin) error { // it restarts
		a.mu.Lock()
		defer a.mu.Unlock()
		clear(a.counts[0])
		clear(a.counts[1])
		return nil
	}
	testkit.Refused(s.Run(t.Context(), r))(t,
		"the histogram counts fewer requests than before: the application restarted, or someone reset it", "restarted")
	r.Look = nil
	// The next run begins anew, and finds no request.
	if got, err = s.Run(t.Context(), r); err != nil ||
		!strings.HasPrefix(got.Missing["cpu_per_transaction"], "the service did no transaction in ") ||
		!strings.HasPrefix(got.Missing["latency_p99"], "the application counted no request in ") {
		t.Errorf("without requests: %v, %+v", err, got)
	}
}
