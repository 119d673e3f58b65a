package observe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// fake is a database of another host that does rate transactions at each count, and has two
// sessions: one runs, one waits for the log.
type fake struct {
	rate   int64
	counts int
	began  int
	count  func(n int, c *explain.Counters) error // may change the n-th count
	total  int64
	hidden bool
	closed bool
}

func (f *fake) Begin() { f.began++ }
func (f *fake) Server() explain.Server {
	return explain.Server{Vendor: "fake", Hidden: f.hidden, Missing: []string{"its sleep", "what others do: grant it"}}
}
func (f *fake) Sample(context.Context) ([]explain.Snapshot, error) {
	return []explain.Snapshot{{Sessions: []explain.Session{
		{ID: 1, Part: explain.DatabaseCPU, Event: explain.OnCPU}, {ID: 2, Part: explain.LogWait, Event: "log"},
		{ID: 3, Part: explain.Application, Event: "thinks"}, {ID: 4, Part: explain.Idle, Event: "idle"}}}}, nil
}

func (f *fake) Count(context.Context) (explain.Counters, error) {
	f.counts++
	f.total += f.rate
	c := explain.Counters{Epoch: "1", Values: map[string]int64{"transactions": f.total}}
	if f.count == nil {
		return c, nil
	}
	return c, f.count(f.counts, &c)
}

func (f *fake) Account(g explain.Growth) explain.Account {
	return explain.Account{Log: explain.NoLog(), Transactions: int64(g.Get("transactions"))}
}
func (f *fake) Meaning(string) string { return "" }
func (f *fake) Close() error          { f.closed = true; return nil }

// watchFake runs once for two seconds, with looks of one.
func watchFake(t *testing.T, f *fake, look func(workload.Bin) error) (workload.Sample, error) {
	t.Helper()
	v := testkit.Must(workload.Check(Workload{}.Describe(), map[string]any{"for": "2s", "every": "1s"}))(t)
	s := &session{cfg: workload.Config{Params: v},
		on: &service.Reached{Of: &service.Service{Kind: service.Database, Name: "fake"}, Source: f}}
	out, err := s.Run(t.Context(), workload.Request{Params: v, Look: look})
	if (err != nil) != (s.on == nil) || f.closed != (err != nil) || err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("after %v the connection is kept: %v", err, s.on != nil)
	}
	testkit.Is(t, 1, f.began, "the source began", "recordings")
	return out, err
}

func TestSessions(t *testing.T) {
	t.Parallel()
	var bins []workload.Bin
	got := testkit.Must(watchFake(t, &fake{rate: 100}, func(b workload.Bin) error { bins = append(bins, b); return nil }))(t)
	v := got.Values
	n, wall := v["transactions"], v["transactions"]/v["transactions_per_s"]
	if n < 200 || got.Operations != int64(n) || v["arrivals"] != n || wall < 1.9 || wall > 3 {
		t.Errorf("%v transactions in %v s: %+v", n, wall, got)
	}
	within := func(name string, want float64) {
		t.Helper()
		if got := v[name]; got < 0.9*want || got > 1.1*want {
			t.Errorf("%s is %v, want about %v", name, got, want)
		}
	}
	within("log_wait_s", wall)
	within("busy_s", 3*wall)    // the application's pause within a transaction too
	within("elapsed_s", 2*wall) // but it runs no statement
	within("log_wait_per_transaction", wall/n)
	within("elapsed_per_transaction", 2*wall/n)
	if why := got.Missing["cpu_s"]; !strings.Contains(why, "another host") || got.Missing["cpu_per_transaction"] != why ||
		got.Missing["queue_s"] != why {
		t.Errorf("CPU time of another host: %q", got.Missing)
	}
	if len(bins) != 2 || bins[0].At < 900*time.Millisecond || bins[1].At <= bins[0].At ||
		bins[0].Values["transactions"]+bins[1].Values["transactions"] != n {
		t.Errorf("looks: %+v", bins)
	}
	if _, there := bins[0].Values["cpu_s"]; there {
		t.Error("a look has what is not known")
	}
}

// TestNoTransaction: there is no ratio, and no division by zero.
func TestNoTransaction(t *testing.T) {
	t.Parallel()
	got := testkit.Must(watchFake(t, &fake{}, nil))(t)
	if v, there := got.Values["transactions"]; !there || v != 0 || got.Zero["transactions"] == "" || got.Operations != 0 {
		t.Errorf("transactions: %+v", got)
	}
	if why := got.Missing["elapsed_per_transaction"]; !strings.HasPrefix(why, "the service did no transaction in 2") {
		t.Errorf("elapsed_per_transaction: %q", why)
	}
}

// TestBackwards: counters that begin anew end the run with an error.
func TestBackwards(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*explain.Counters){
		"fell":  func(c *explain.Counters) { c.Values["transactions"] = 1 },
		"epoch": func(c *explain.Counters) { c.Epoch = "2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := watchFake(t, &fake{rate: 100, count: func(n int, c *explain.Counters) error {
				if n == 2 {
					change(c)
				}
				return nil
			}}, nil)
			testkit.Fails(t, err, "the counters of fake started again after ")
		})
	}
}

// TestLost: a connection that breaks is one clear error.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, when := range []int{1, 2} {
		t.Run(fmt.Sprint("count ", when), func(t *testing.T) {
			t.Parallel()
			_, err := watchFake(t, &fake{rate: 1, count: func(n int, _ *explain.Counters) error {
				if n == when {
					return errors.New("the pipe broke")
				}
				return nil
			}}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "the session with fake was lost") ||
				!strings.HasSuffix(err.Error(), "the pipe broke") {
				t.Error(err)
			}
		})
	}
}

// TestHarm: what a look says ends the run early, with what was seen until then.
func TestHarm(t *testing.T) {
	t.Parallel()
	looks := 0
	got, err := watchFake(t, &fake{rate: 100}, func(workload.Bin) error {
		looks++
		return fmt.Errorf("latency rose")
	})
	if err != nil || looks != 1 {
		t.Fatalf("%d looks, %v", looks, err)
	}
	if n := got.Values["transactions"]; n < 100 || n > 200 || got.Contaminated != "" || got.Doubt != "" ||
		len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "ended early, after 1") ||
		!strings.HasSuffix(got.Warnings[0], "s: latency rose") {
		t.Errorf("ended early: %+v", got)
	}
}

// TestHidden: what a user may not see is not known.
func TestHidden(t *testing.T) {
	t.Parallel()
	got := testkit.Must(watchFake(t, &fake{rate: 100, hidden: true}, nil))(t)
	if got.Values["transactions"] < 100 || got.Missing["log_wait_s"] != "what others do: grant it" ||
		got.Missing["elapsed_s"] == "" || got.Missing["busy_s"] == "" {
		t.Errorf("%+v", got)
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		given map[string]any
		study bool
		block int
		want  time.Duration
	}{
		{nil, true, 9, time.Minute},
		{nil, true, 10, 5 * time.Minute},
		{nil, false, 0, 5 * time.Minute},
		{map[string]any{"short": "0s"}, true, 0, 5 * time.Minute},
		{map[string]any{"for": "10s"}, true, 0, 10 * time.Second},
	} {
		v := testkit.Must(workload.Check(Workload{}.Describe(), c.given))(t)
		s := &session{}
		if c.study {
			s.cfg.Evidence = "measured"
		}
		testkit.Is(t, c.want, s.period(workload.Request{Params: v, Block: c.block}), c)
	}
}

// TestRefused: bad input is one line that says what to do, without a password.
func TestRefused(t *testing.T) {
	t.Setenv("HOSTLAB_DSN", "")
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{map[string]any{"service": "none"}, `parameter service: "none" names no service that others use; it takes auto, `},
		{map[string]any{"service": "demo"}, `parameter service: "demo" names no service that others use`},
		{map[string]any{"service": "pid:x"}, `parameter service: "pid:x" names no service`},
		{map[string]any{"dsn": "postgres://u:s3cret@h/d"}, "parameter dsn: has a password, which would stand in records"},
		{map[string]any{"dsn": "host=h password=s3cret"}, "parameter dsn: has a password"},
		{map[string]any{"dsn": "mysql://u:s3cret@h/"}, "parameter dsn: has a password"},
		{map[string]any{"dsn": "foo://u:s3cret@h/"}, "parameter dsn: the DSN begins with an unknown scheme"},
		{map[string]any{"dsn": "postgres://h/d", "service": "postgres"},
			"parameter dsn: service names a service too; give one of them"},
		{map[string]any{"histogram": "x"}, "parameter histogram: is of a page that url names; give url"},
		{map[string]any{"url": "https://h/metrics"}, "parameter histogram: missing; name the histogram"},
		{map[string]any{"url": "http://h/metrics", "histogram": "x"},
			"parameter url: leads to another host without TLS; write https://, or plain_http"},
		{map[string]any{"url": "https://u:s3cret@h/", "histogram": "x"}, "parameter url: has a user or a password"},
		{map[string]any{"url": "ftp://h/", "histogram": "x"}, "parameter url: is not an address"},
		{map[string]any{"url": "https://h/", "histogram": "a b\xff"}, "parameter histogram: \"a b\\xff\" is not UTF-8"},
	} {
		v, err := workload.Check(Workload{}.Describe(), c.given)
		if err == nil {
			err = Workload{}.Validate(workload.Config{Params: v, Factors: []string{}})
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", c.given, err)
		}
	}
	for _, given := range []map[string]any{
		{"url": "http://127.0.0.1:1/metrics", "histogram": "x"}, {"url": "h:1/metrics", "histogram": "x"},
		{"url": "http://h/metrics", "histogram": "x", "plain_http": true},
		{"dsn": "postgres://u@h/d"},
	} {
		v, err := workload.Check(Workload{}.Describe(), given)
		if err == nil {
			err = Workload{}.Validate(workload.Config{Params: v})
		}
		if err != nil {
			t.Errorf("%v: %v", given, err)
		}
	}
	t.Setenv("HOSTLAB_DSN", "postgres://u:s3cret@127.0.0.1:1/d")
	v, _ := workload.Check(Workload{}.Describe(), nil)
	if _, err := (Workload{}).Open(t.Context(), workload.Config{Params: v}); err == nil ||
		!strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a password in the environment: %v", err)
	}
}

// Pages come in many hands: labels in any order, escapes, times, names in quotes, samples of other metrics between.
func TestReadHistogram(t *testing.T) {
	const text = `# HELP h what "it" is
# TYPE h histogram
h_bucket{le="0.5",path="/a\"},{\\"} 1 1700000000000
other{x="h_bucket"} NaN
h_bucket{path="/a\"},{\\",le="+Inf",} 3
h_sum{path="/a\"},{\\"} 2.5
	h_count { path = "/a\"},{\\" }	3
# TYPE h_created gauge
h_created 1
{"h_bucket",le="0.5",path="b"} 4
h_count{path="b"} 9
`
	list := testkit.Must(readHistogram(strings.NewReader(text), "h"))(t)
	inf := math.Inf(1)
	if len(list) != 2 || !slices.Equal(list[0].bounds, []float64{0.5, inf}) ||
		!slices.Equal(list[0].counts, []float64{1, 3}) || list[0].sum != 2.5 ||
		!slices.Equal(list[1].bounds, []float64{0.5, inf}) || !slices.Equal(list[1].counts, []float64{4, 9}) {
		for _, s := range list {
			t.Errorf("%+v", *s)
		}
	}
	for _, line := range []string{`h_bucket{le="1" 3`, `h_bucket{le=1} 3`, `h_bucket{le="x"} 3`, `h_bucket{le="1"}`,
		`h_sum x`, `h_sum{a} 1`,
		`h_sum{a="\`, `{} 1`} {
		list, err := readHistogram(strings.NewReader("# TYPE h histogram\n"+line+"\n"), "h")
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", line, err, list)
		}
	}
}

// Of a service that is no database, it is known beforehand which responses never come.
func TestLacks(t *testing.T) {
	page := map[string]any{"url": "https://h/", "histogram": "took"}
	for _, c := range []struct {
		name  string
		given map[string]any
		why   string // "": it may come
	}{
		{"elapsed_per_transaction", nil, "only a database's sessions"},
		{"elapsed_per_transaction", page, "only a database's sessions"},
		{"cpu_per_transaction", nil, "does not count transactions"},
		{"cpu_per_transaction", page, ""},
		{"cpu_s", nil, ""},
		{"queue_s", nil, ""},
		{"latency_p99", nil, "url and histogram"},
		{"latency_p99", page, ""},
		{"arrivals", nil, "does not count transactions"},
		{"arrivals", page, ""},
		{"energy_op_j", nil, ""}, // the runner's own
	} {
		p := testkit.Must(workload.Check(Workload{}.Describe(), c.given))(t)
		if why := Lacks(p.(*Params), c.name); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s with %v: %q, want %q", c.name, c.given, why, c.why)
		}
	}
}
