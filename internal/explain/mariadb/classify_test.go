package mariadb

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// Both names under which MariaDB waits for the log's flush are log waits.
func TestLogWaits(t *testing.T) {
	for _, state := range []string{"Commit", "Updating status"} {
		if part, event, _ := Classify("Query", state); part != explain.LogWait || event != state {
			t.Errorf("%s: %s, %s", state, part, event)
		}
	}
}

// Each wait for a row is counted in whole ms, so that half of one is missing in the mean.
func TestRowLocksAreInWholeMilliseconds(t *testing.T) {
	s := &Source{}
	a := s.Account(explain.Growth{Seconds: 1, Values: map[string]int64{"innodb_row_lock_waits": 400,
		"innodb_row_lock_time": 2000}})
	if len(a.Counted) != 1 || a.Counted[0].Seconds != 2.2 || a.Counted[0].Early != 0.2 {
		t.Errorf("%+v", a.Counted)
	}
}

// The performance schema may time few of the reads; their time is then no account of all.
func TestReadsThatAreNotTimed(t *testing.T) {
	s := &Source{}
	for timed, blocked := range map[int64]bool{1000: false, 20: true} {
		a := s.Account(explain.Growth{Seconds: 1, Values: map[string]int64{"innodb_data_reads": 1000, "data_reads": timed,
			"data_read_time": 1e6}})
		if len(a.Counted) != 1 || a.Counted[0].Blocked != blocked {
			t.Errorf("%d of 1000 timed: %+v", timed, a.Counted)
		}
	}
}

// Where the server wrote no log, no session waited for it, however few samples there are; also where it counts no
// syncs.
func TestNoLogWrites(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]int64
		known  bool
	}{
		"10.11": {map[string]int64{"innodb_log_writes": 0, "innodb_os_log_written": 0, "binlog_cache_use": 0},
			true},
		"with syncs":        {map[string]int64{"innodb_log_writes": 0, "innodb_os_log_fsyncs": 0}, true},
		"nothing was asked": {map[string]int64{}, false},
	} {
		a := (&Source{maria: true}).Account(explain.Growth{Seconds: 6, Values: c.values})
		batch := explain.Batch{Wall: 6, Snapshots: 2, Seconds: map[explain.Key]float64{{Part: explain.DatabaseCPU,
			Event: explain.Executing}: 6}}
		_, parts, _, _ := explain.Decompose([]explain.Batch{batch}, a)
		r := explain.Report{Parts: parts}
		p := r.Part(explain.LogWait)
		testkit.Is(t, c.known, p.Share.High == 0 && p.Share.N == 0 && strings.HasSuffix(p.Source, "no writes"), name, p)
	}
}
