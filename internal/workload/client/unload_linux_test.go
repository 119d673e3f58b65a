//go:build system

package client

import (
	"math"
	"os"
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// Engines, modes and sizes change within a session; a package may be larger than a table,
// or divide it without a rest. The parts of the time add up, and more work is the
// application's alone.
func TestExtract(t *testing.T) {
	s := begin(t, Extract{}, map[string]any{"engine": embedded})
	for _, engine := range []string{embedded, inPostgres, inMariaDB} {
		for _, c := range []map[string]any{
			{"rows": int64(1)}, {"package": int64(1)}, {"tables": int64(1), "package": int64(300)}, {"mode": server},
			{"mode": server, "tables": int64(1), "package": int64(100_000)},
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
