package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// BenchmarkOverhead is what a run costs beside the workload, fsync and the reading
// of conditions included: overhead-ms/run, of which a disk's fsync takes most. The
// aim is 5 ms. Of a command, what its workload does before its program starts and
// after it has ended is in it, of null all is.
func BenchmarkOverhead(b *testing.B) {
	const effect = "[[factor]]\nname = \"effect\"\nparameter = \"effect\"\nlevels = [\"1.0\", \"1.1\"]\n"
	for name, c := range map[string]struct{ study, wall string }{
		"null": {effect + "[workload]\nname = \"null\"\nwarmup = 0\n[[response]]\nname = \"seconds\"\nprimary = true\n",
			""},
		"command": {effect +
			"[workload]\nname = \"command\"\nrun = [\"true\", \"{effect}\"]\nwarmup = 0\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n", "wall"},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			st := parse(b, dir, fmt.Sprintf("schema = 1\n[study]\nname = \"t\"\n[design]\nlooks = [%d]\n%s", max(6, (b.N+1)/2),
				c.study))
			record := filepath.Join(dir, "record")
			b.ResetTimer()
			began := time.Now()
			testkit.Must(Run(context.Background(), Config{Study: st, Dir: record, Version: "test"}))(b)
			took := time.Since(began)
			b.StopTimer()
			r := testkit.Must(store.Load(record))(b)
			work := 0.0
			for i := range r.Runs {
				work += r.Runs[i].Values[c.wall] // 0 of null, which does not sleep
			}
			b.ReportMetric((took.Seconds()-work)*1e3/float64(len(r.Runs)), "overhead-ms/run")
		})
	}
}
