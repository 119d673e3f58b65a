package explain

import (
	"strings"
	"testing"

	"hostlab/internal/result"
)

// Recordings of the first schemas, with other names of parts, shares as numbers, and in the
// first a gain that held its source, are read.
func TestReadOldRecordings(t *testing.T) {
	const old = `{"schema": 1, "hostlab": "x", "vendor": "PostgreSQL", "version": "15", "target": "h", "wall": 10, "elapsed": 40, "busy": 30, "transactions": 10,
		"parts": [{"name": "log_wait", "seconds": 9, "share": 0.225, "low": 0.2, "high": 0.25, "source": "samples"}], "events": [{"name": "IO:WALSync", "meaning": "", "part": "log_wait", "count": 4, "seconds": 9, "average": 2.25, "share": 0.225, "low": 0.2, "high": 0.25, "source": "x"}],
		"log": {"writes": 4, "syncs": 4, "bytes": 1, "seconds": null, "average": 0.002, "source": "pg_stat_wal"},
		"bounds": [{"lever": "log_device", "parts": ["log_wait"], "behind": [], "share": 0.3, "at_most": 0.33,
			"measured": {"value": 0.12, "low": 0.1, "high": 0.14, "n": 12, "evidence": "measured", "source": "experiment"}},
			{"lever": "processor", "parts": [], "behind": [], "share": 0, "at_most": 0, "measured": null, "unmeasured": "why"}]}`
	r, err := Read([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if *r.Log.Average != 0.002 || r.Log.Seconds != nil || r.Part(LogWait).Share != (result.Estimate{Value: 0.225, Low: 0.2, High: 0.25}) {
		t.Errorf("%+v", r)
	}
	if e := r.Events[0]; e.Part != LogWait || e.Share.High != 0.25 || e.Count != 4 || r.Bounds[0].Parts[0] != LogWait {
		t.Errorf("%+v, %+v", e, r.Bounds[0])
	}
	if _, err := Read([]byte(strings.Replace(old, `"schema": 1`, `"schema": 4`, 1))); err == nil {
		t.Error("a recording of a later schema is read")
	}
}
