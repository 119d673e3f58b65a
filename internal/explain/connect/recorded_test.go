package connect

import (
	"cmp"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// TestRecorded reads answers that were made from vendors' documentation, MariaDB's after
// those of a live server. Nobody has recorded the others from one.
func TestRecorded(t *testing.T) {
	const unknown = -1 // average log write
	open := func(name string) *recorded {
		b := testkit.Must(os.ReadFile("testdata/" + name + ".txtar"))(t)
		return newRecorded(b)
	}
	covered := map[*Vendor]bool{}
	for _, c := range []struct {
		name     string
		vendor   *Vendor
		event    string
		waits    int64
		part     explain.PartName // of the event; "": the wait for the log
		average  float64          // s a log write
		missing  string
		untimed  string
		required map[explain.PartName]bool
	}{
		{name: "sqlserver", vendor: sqlServer, event: "WRITELOG", waits: 1000, average: 0.0015,
			missing: "grant view server state", required: map[explain.PartName]bool{explain.LogWait: true,
				explain.DatabaseCPU: true, explain.DataReads: true}},
		{name: "oracle", vendor: oracle, event: "log file sync", waits: 500, average: 0.002,
			missing: "not been tried", required: map[explain.PartName]bool{explain.LogWait: true, explain.DatabaseCPU: true,
				explain.Locks: true}},
		{name: "mariadb", vendor: MariaDB, event: "Commit", waits: -1, average: unknown,
			untimed: "MariaDB has no counter for it",
			missing: "grant PROCESS on *.* to 'poor'@'localhost'; how long data reads take: performance_schema is off",
			required: map[explain.PartName]bool{explain.LogWait: true, explain.DatabaseCPU: true, explain.Application: true,
				explain.Locks: true}},
		{name: "mysql8", vendor: MariaDB, event: "waiting for handler commit", waits: -1, average: 0.0016,
			missing: "server's threads are not of this host",
			required: map[explain.PartName]bool{explain.LogWait: true, explain.DatabaseCPU: true, explain.DataReads: true,
				explain.Locks: true}},
		{name: "postgres18", vendor: Postgres, event: "IO:WalSync", waits: 200, average: 0.0025,
			missing: "grant pg_read_all_stats", required: map[explain.PartName]bool{explain.LogWait: true,
				explain.DatabaseCPU: true}},
	} {
		covered[c.vendor] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := testkit.Must(c.vendor.source(t.Context(), open(c.name), "", false))(t)
			r := testkit.Must(explain.Record(t.Context(), src, explain.Options{For: time.Second, Interval: 50 * time.Millisecond}))(t)
			for p := range c.required {
				if r.Part(p).Seconds <= 0 {
					t.Errorf("no %s in %+v", p, r.Parts)
				}
			}
			found := false
			for _, e := range r.Events {
				if e.Name == c.event {
					found = true
					if e.Part != cmp.Or(c.part, explain.LogWait) || e.Count != c.waits {
						t.Errorf("%+v", e)
					}
				}
			}
			var sum float64
			for _, p := range r.Parts {
				sum += p.Share.Value
			}
			if math.Abs(sum-1) > 0.03 {
				t.Errorf("parts add up to %v: %+v", sum, r.Parts)
			}
			if !found || r.Log.Average != nil != (c.average != unknown) || r.Log.Average != nil &&
				math.Abs(*r.Log.Average-c.average) > 1e-9 {
				t.Errorf("%s found: %v; average log write %v, expected %v; events %+v", c.event, found, r.Log.Average, c.average,
					r.Events)
			}
			testkit.Is(t, c.untimed, r.Log.Untimed, "log writes are not timed")
			testkit.Has(t, strings.Join(r.Missing, "; "), c.missing, r.Missing)
		})
	}
	for _, v := range Vendors() {
		if !covered[v] {
			t.Errorf("no recorded answers of %s", v.Product)
		}
	}
}
