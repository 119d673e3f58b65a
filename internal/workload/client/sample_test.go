package client

import (
	"math"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// The bound takes in what statements waited for the log outside of commits, is never
// below the wait for the log that is shown, and parts add up to the time.
func TestBound(t *testing.T) {
	why := counter{why: "not told"}
	timed := func() *timing { // 10 s: 2 of the application, 1 of reads, 5 of writes, 2 in four commits
		return &timing{duration: 10 * time.Second, read: time.Second, write: 5 * time.Second,
			commits: []float64{0.5, 0.5, 0.5, 0.5}, hasCPU: true, inCalls: 500 * time.Millisecond}
	}
	for name, c := range map[string]struct {
		counters func(*counters)
		bound    float64
		log      float64
	}{
		"in commits only": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(0), known(1.5),
				known(3)
		}, 0.2, 1.5},
		"in statements too": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(3), known(4),
				known(3)
		}, 0.5, 4},
		"written behind the session's back": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(0.5), known(8),
				known(1)
		}, 0.25, 2.5},
		"a new segment, which no counter has": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(3), known(1),
				known(2)
		}, 0.5, 3},
		"more samples than time": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(30), known(30),
				known(2)
		}, 0.8, 6},
		"no samples": {func(c *counters) { c.logIO, c.session = known(4), known(3) }, 0.5,
			4},
		"nothing is told": {func(*counters) {}, 0.8, 2},
		"a log that was never full": {func(c *counters) { c.logFull, c.session = known(0), known(3) }, 0.2,
			2},
		"a log that was full, for who knows": {func(c *counters) { c.logFull, c.session = known(7), known(3) }, 0.5,
			2},
		"the CPU time of syncs is not of both": {func(c *counters) {
			c.logElse, c.logIO, c.session = known(6), known(6),
				known(5)
		}, 0.8, 3},
	} {
		t.Run(name, func(t *testing.T) {
			all := counters{why, why, why, why, why, why, why, why, why, why, why, why}
			c.counters(&all)
			got := sample(timed(), all)
			v, sum := got.Values, 0.0
			if math.Abs(v["log_gain_bound"]-c.bound) > 1e-9 || math.Abs(v["part_log"]-c.log) > 1e-9 {
				t.Errorf("bound %g, expected %g; log %g s, expected %g s", v["log_gain_bound"], c.bound, v["part_log"], c.log)
			}
			if v["log_share"] > v["log_gain_bound"]+1e-9 || v["log_gain_bound"] < v["commit_wait"]/v["duration"] {
				t.Errorf("share %g, bound %g, commits %g s", v["log_share"], v["log_gain_bound"], v["commit_wait"])
			}
			for _, p := range parts {
				if sum += v[response(p)]; v[response(p)] < 0 {
					t.Errorf("%s: %g s", p, v[response(p)])
				}
			}
			if math.Abs(sum-v["duration"]) > 1e-9 {
				t.Errorf("parts add up to %g s: %+v", sum, v)
			}
		})
	}
}

// A driver that works while the session does takes nothing from the waits of commits, in
// which neither does: they are what a faster log gives.
func TestDriverBeside(t *testing.T) {
	why := counter{why: "not told"}
	all := counters{why, why, why, why, why, why, why, why, why, why, why, why}
	all.logElse, all.logIO, all.session = known(0), known(2), known(6)
	// 10 s: 2 of the application, 6 in calls without a commit, 2 in commits, of which a
	// half was a wait.
	clock := &timing{duration: 10 * time.Second, read: time.Second, write: 5 * time.Second, commits: []float64{1, 1},
		hasCPU:  true,
		inCalls: 3 * time.Second, inCommits: 200 * time.Millisecond, onServer: 0.8}
	got := sample(clock, all)
	want := map[string]float64{"part_application": 3, "part_cpu": 6, "part_log": 1, "part_unexplained": 0,
		"log_gain_bound": 0.2}
	for name, v := range want {
		if math.Abs(got.Values[name]-v) > 1e-9 {
			t.Errorf("%s: %g, expected %g", name, got.Values[name], v)
		}
	}
	if len(got.Warnings) > 0 {
		t.Errorf("%q", got.Warnings)
	}
	all.session = known(8) // that is counted twice: 2 of the application, 8 of the session, 1 of commits
	if got := sample(clock, all); len(got.Warnings) != 1 {
		t.Errorf("%q", got.Warnings)
	}
}

// What was seen counts as a wait for the log only outside of commits, which are timed.
func TestSeen(t *testing.T) {
	for _, c := range []struct {
		seen seen
		want bool
	}{
		{seen{explain.LogWait, "IO:WALSync", false}, true},
		{seen{explain.LogWait, "LWLock:WALWrite", false}, true},
		{seen{explain.Locks, "LWLock:WALInsert", false}, true},
		{seen{explain.Locks, "LWLock:WALInsert", true}, false},
		{seen{explain.LogWait, "IO:WALSync", true}, false},
		{seen{explain.Locks, "Lock:tuple", false}, false},
		{seen{explain.DatabaseCPU, "", false}, false},
	} {
		var l looks
		l.add(c.seen, 0.5)
		if log := l.log(); (log.value == 0.5) != c.want {
			t.Errorf("%+v: %g s of log", c.seen, log.value)
		}
	}
}

// Events are told in the server's words, most time first; a commit is no event of its
// own, and between statements a job's session waits for its application. What could not
// be seen to the end tells nothing.
func TestWaits(t *testing.T) {
	var l looks
	if got := l.waits(); got != nil {
		t.Errorf("nothing seen: %+v", got)
	}
	for _, s := range []seen{{explain.LogWait, "IO:WALSync", true}, {explain.DatabaseCPU, "on CPU", false},
		{explain.LogWait, "IO:WALSync", false}, {explain.Idle, "Client:ClientRead", false},
		{explain.Application, "Client:ClientRead", false}, {explain.Idle, "Client:ClientRead", true}} {
		l.add(s, 0.5)
	}
	want := &result.Waits{Looks: 6, Events: []result.Wait{{Name: "Client:ClientRead", Part: "application", Seconds: 1.5},
		{Name: "IO:WALSync", Part: "log", Seconds: 1}, {Name: "on CPU", Part: "cpu", Seconds: 0.5}}}
	testkit.Same(t, want, l.waits())
	l.why = "gone"
	if got := l.waits(); got != nil {
		t.Errorf("broken: %+v", got)
	}
}

// A log with two modes shows in the mean, the 99th percentile and the drift, where the
// median is that of the fast mode alone.
func TestModes(t *testing.T) {
	run := &timing{duration: 10 * time.Second}
	for i := range 1000 {
		took := 0.000171
		if i >= 500 && i%3 == 0 {
			took = 0.008
		}
		run.commits = append(run.commits, took)
	}
	v := sample(run, counters{}).Values
	if v["commit_p50"] != 0.000171 || v["commit_mean"] < 0.0014 || v["commit_p99"] != 0.008 || v["commit_drift"] < 10 {
		t.Errorf("mean %v, p99 %v, drift %v, median %v", v["commit_mean"], v["commit_p99"], v["commit_drift"],
			v["commit_p50"])
	}
}

func TestLacks(t *testing.T) {
	const oneNode = "-- sys/devices/system/node/node0/cpulist --\n0-1\n"
	pool := func(total, free, reserved string) string {
		return "-- proc/meminfo --\nHugePages_Total:   " + total + "\nHugePages_Free:   " + free + "\nHugePages_Rsvd:   " +
			reserved +
			"\nHugepagesize:       2048 kB\n"
	}
	for _, c := range []struct {
		engine, name, value, machine, says string
	}{
		{inMariaDB, "innodb_numa_interleave", "ON", oneNode, "this host has one memory node"},
		{inMariaDB, "innodb_numa_interleave", "OFF", oneNode, ""},
		{inMariaDB, "innodb_numa_interleave", "ON", oneNode + "-- sys/devices/system/node/node1/cpulist --\n2-3\n", ""},
		{inMariaDB, "innodb_numa_interleave", "ON", "-- proc/x --\n", ""}, // nodes are hidden
		{inPostgres, "huge_pages", "on", pool("0", "0", "0"),
			"its cache of 1 GiB takes huge pages, with a quarter more for the rest of its shared memory, " +
				"and 0 of 2 MiB are free; reserve them: sudo sysctl vm.nr_hugepages=640 (now 0; note it to put it back)"},
		{inPostgres, "huge_pages", "on", pool("600", "550", "100"),
			"and 450 of 2 MiB are free; reserve them: sudo sysctl vm.nr_hugepages=790 (now 600; note it to put it back)"},
		// for the cache alone
		{inPostgres, "huge_pages", "on", pool("600", "600", "0"), "and 600 of 2 MiB are free; reserve them"},
		{inPostgres, "huge_pages", "on", pool("640", "640", "0"), ""},
		{inPostgres, "huge_pages", "off", pool("0", "0", "0"), ""},
		{inPostgres, "huge_pages", "on", oneNode, ""}, // pages are hidden
	} {
		p := &CopyParams{Params: usual()}
		p.Engine, p.Server = c.engine, map[string]workload.Word{c.name: workload.Word(c.value), "shared_buffers": "1GB"}
		got := Copy{}.Lacks(p, host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, c.machine)})
		if c.says == "" {
			testkit.Is(t, "", got, c.name, c.value, c.machine)
			continue
		}
		testkit.Has(t, got, c.says)
	}
	for text, want := range map[string]int64{"1gb": 1 << 30, "16384": 128 << 20, "128mb": 128 << 20, "64kb": 64 << 10,
		"x": 0, "1gbb": 0, "": 0, "2000000000tb": 0} {
		got, ok := sizeOf(text)
		testkit.Is(t, want > 0, ok, text)
		if ok {
			testkit.Is(t, want, got, text)
		}
	}
}

// TestServerParameters: parameters are for a private server, whose names need no quotes.
func TestServerParameters(t *testing.T) {
	for want, p := range map[string]*CopyParams{
		"": {Params: Params{Engine: inPostgres}},
		"is no parameter's name": {Params: Params{Engine: inPostgres},
			Logging: Logging{Server: map[string]workload.Word{"--datadir": "/"}}},
		"not started anew": {Params: Params{Engine: inPostgres, DSN: "postgres://localhost/x"},
			Logging: Logging{Server: map[string]workload.Word{"jit": "on"}}},
	} {
		if err := check(p); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
