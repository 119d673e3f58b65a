//go:build system

package client

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/delayfs"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
)

// Engines and sizes change within a session; a package may be larger than a table,
// or divide it without a rest. The parts of the time add up, and more work is the
// application's alone.
func TestExtract(t *testing.T) {
	s := begin(t, Extract{}, nil)
	for _, engine := range []string{inPostgres, inMariaDB} {
		for _, c := range []map[string]any{
			{"rows": int64(1)}, {"package": int64(1)}, {"tables": int64(1), "package": int64(300)}, {},
			{"tables": int64(1), "package": int64(100_000)},
		} {
			c["engine"] = engine
			app := map[int64]float64{}
			for _, work := range []int64{0, 8000} {
				if work > 0 && c["tables"] != nil {
					continue
				}
				c["work"] = work
				got, err := s.Run(t.Context(), workload.Request{Params: values(t, Extract{}, c), Seed: 3})
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				v, sum := got.Values, 0.0
				for _, part := range parts {
					sum += v[response(part)]
				}
				if diff := v["duration"] - v["app_time"] - v["db_time"]; math.Abs(diff) > 1e-9 || !(v["db_time"] > 0) ||
					v["app_cpu"] < 0 || v["db_cpu"] <= 0 ||
					math.Abs(sum-v["duration"]) > 1e-6 || v["bytes_per_s"] < 10*v["rows_per_s"] {
					t.Errorf("%v: parts add up to %g; %+v", c, sum, v)
				}
				app[work] = v["app_cpu"]
			}
			if c["rows"] == nil && c["tables"] == nil && app[8000] < 2*app[0] {
				t.Errorf("%v: %g s of the application without work, %g s with much", c, app[0], app[8000])
			}
		}
	}
}

// A wrong value, a row too few and one too many are found.
func TestUnloadVerify(t *testing.T) {
	one := table{name: "t", columns: []column{{"a", ""}, {"b", ""}}, rows: 2}
	rows := func(values ...string) (p pkg) {
		p.reset(2)
		for _, v := range values {
			p.add([]byte(v))
		}
		return p
	}
	right := rows("1", "x", "2", "y")
	l := &tables{list: []table{one}, want: []sums{{}}}
	l.want[0].add(&right)
	for name, c := range map[string]struct {
		rows pkg
		want string
	}{
		"right": {right, ""}, "another letter": {rows("1", "x", "2", "z"), "the job is broken"},
		"one too few":  {rows("1", "x"), "the file has 1 rows of table t"},
		"one too many": {rows("1", "x", "2", "y", "3", "z"), "rows that no table has"},
	} {
		u := testkit.Must(newUnload(t.TempDir()))(t)
		testkit.OK(t, u.write(&c.rows))
		testkit.OK(t, u.finish())
		if err := u.verify(l); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := u.close(); err != nil {
			t.Error(err)
		}
	}
}

// A full disk's error names what chooses a directory.
func TestUnloadDiskFull(t *testing.T) {
	u := testkit.Must(newUnload(t.TempDir()))(t)
	defer u.close() //nolint:errcheck // a test's file
	full := testkit.Must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	u.out.Reset(full)
	var p pkg
	p.reset(1)
	p.add(make([]byte, 100))
	testkit.OK(t, u.write(&p))
	first := u.finish()
	p.add(make([]byte, 1<<20))
	for _, err := range []error{first, u.write(&p)} {
		const want = "make room, or choose another directory with TMPDIR, or of a study with --out"
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

// Root has the log in a directory of another user, who plants one of her own in place of
// the server's, with a link to where somebody else's process works: it lives on.
func TestLogInDirectoryOfAnother(t *testing.T) {
	for _, engine := range []string{inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			home, hers := testkit.Victim(t), testkit.EvesDir(t)
			attack := exec.Command("sh", "-c",
				fmt.Sprintf("while :; do for d in hostlab-*-*; do mv $d moved && mkdir $d && ln -s %s $d/data && exit; done; sleep 0.01; done 2>/dev/null", home))
			attack.Dir = hers
			attack.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testkit.Eve, Gid: testkit.Eve}}
			testkit.Start(t, attack)
			s, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{},
				map[string]any{"engine": engine, "log_dir": hers}), Work: t.TempDir(), Dir: t.TempDir()})
			if err == nil {
				for end := testkit.End(t); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if links, _ := filepath.Glob(filepath.Join(hers, "hostlab-*", "data")); len(links) > 0 {
						break
					}
				}
				err = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), hers+
				" belongs to uid 54321, who could replace what root writes there; name a directory of root's") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("not refused: %v", err)
			}
		})
	}
}

// TestMain serves slow directories, in a process of their own.
func TestMain(m *testing.M) {
	worker.Main(delayfs.Jobs())
	os.Exit(m.Run())
}

// One package fills more than a segment of the log: it syncs the full one and makes
// the next before any commit, so that the commit alone bounds nothing.
func TestStatementsThatWaitForTheLog(t *testing.T) {
	if why := delayfs.Lacking(); why != "" {
		t.Fatal("no slow device here: " + why)
	}
	base := t.TempDir()
	at, behind := filepath.Join(base, "at"), filepath.Join(base, "behind")
	for _, dir := range []string{at, behind} {
		testkit.OK(t, os.Mkdir(dir, 0o755))
	}
	const each = 300 * time.Millisecond
	m := testkit.Must(delayfs.New(t.Context(), behind, at, each))(t)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	given := map[string]any{"package": int64(100_000), "log_dir": at, "tables": int64(1), "rows": int64(120_000)}
	s := begin(t, Copy{}, given)
	got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3}))(t)
	v := got.Values
	if v["log_bytes"] < 17<<20 {
		t.Fatalf("%g bytes of log fill no segment: the test needs more rows", v["log_bytes"])
	}
	if most := v["log_gain_bound"] * v["duration"]; most < v["commit_wait"]+each.Seconds()/2 ||
		v["log_share"] > v["log_gain_bound"] {
		t.Errorf("at most %g s of %g s, %g s in the commit: the statement's waits are not in it (log's I/O %g s)", most,
			v["duration"], v["commit_wait"], v["log_io"])
	}
	t.Logf("%.0f B: duration %.2f s, commit %.2f s, bound %.3f, share %.3f, log_io %.2f s, unexplained %.2f s, others %.2f s", v["log_bytes"], v["duration"], v["commit_wait"], v["log_gain_bound"], v["log_share"], v["log_io"], v["part_unexplained"], v["part_other"])
}

// What the job's session was seen doing on a slow log device stands in the server's own
// words, and makes up the time.
func TestWaitEvents(t *testing.T) {
	if why := delayfs.Lacking(); why != "" {
		t.Fatal("no slow device here: " + why)
	}
	for engine, want := range map[string]string{inPostgres: "IO:WALSync", inMariaDB: "Commit"} {
		base := shortDir(t)
		at, behind := filepath.Join(base, "at"), filepath.Join(base, "behind")
		for _, dir := range []string{at, behind} {
			testkit.OK(t, os.Mkdir(dir, 0o755))
		}
		m := testkit.Must(delayfs.New(t.Context(), behind, at, 30*time.Millisecond))(t)
		given := map[string]any{"engine": engine, "log_dir": at, "package": int64(20)}
		s := begin(t, Copy{}, given)
		for range 2 { // the second looks through the session of the first
			got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3}))(t)
			if got.Waits == nil {
				t.Fatalf("%s: none", engine)
			}
			sum, log := 0.0, 0.0
			for _, e := range got.Waits.Events {
				if sum += e.Seconds; e.Name == want && e.Part == string(explain.LogWait) {
					log = e.Seconds
				}
			}
			if d := got.Values["duration"]; sum < d/2 || sum > d*1.1 || log < d/4 || got.Waits.Looks < 5 {
				t.Errorf("%s: %g s in %d looks of %g s: %+v", engine, sum, got.Waits.Looks, d, got.Waits.Events)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
