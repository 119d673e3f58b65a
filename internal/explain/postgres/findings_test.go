package postgres

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// report is a made-up one of sessions that were active for some seconds, and what the server counted.
func report(busy float64, settings map[string]string, grown map[string]int64, parts ...explain.Part) *explain.Report {
	return &explain.Report{Vendor: "PostgreSQL", Wall: 60, Elapsed: busy, Busy: busy, Peak: 8, Transactions: 1000,
		Parts: parts,
		Log:   explain.NoLog(), Totals: &explain.Totals{Seconds: 60, Grown: grown, Settings: settings}}
}

// TestFindings: each counter names its setting with a number and a step, and says nothing where it is as it should be.
func TestFindings(t *testing.T) {
	log := explain.Part{Name: explain.LogWait, Seconds: 30}
	checkpoints := map[string]string{"max_wal_size": "32MB", "checkpoint_timeout": "5min"}
	forced := func(forced, timed, bytes, full int64) map[string]int64 {
		return map[string]int64{"checkpoints_forced": forced, "checkpoints_timed": timed, "log": bytes, "wal_bytes": bytes,
			"wal_fpi": full}
	}
	delay := map[string]string{"commit_delay": "5000", "commit_siblings": "5"}
	slept := report(10, delay, nil)
	slept.Events = []explain.Event{{Name: sleeping, Seconds: 5}}
	alone := report(10, delay, nil)
	alone.Peak = 5
	sync := report(10, map[string]string{"synchronous_commit": "remote_apply"}, nil)
	sync.Events = []explain.Event{{Name: "IPC:SyncRep", Seconds: 6}}
	copies := report(10, map[string]string{"shared_buffers": "128MB", explain.Memory: fmt.Sprint(64 << 30)}, nil)
	copies.Copies = &explain.Copies{Count: 1_000_000, Seconds: 3}
	writes := report(10, map[string]string{"shared_buffers": "128MB"}, map[string]int64{"written_backend": 6000})
	writes.Sampled = map[string]float64{"IO:DataFileWrite": 2}
	vacuum := report(100, nil, nil)
	vacuum.Vacuum = &explain.Vacuum{Looks: 60, Watched: 60, Seconds: 90, Running: 45}
	paused := report(100, nil, nil, explain.Part{Name: explain.Locks, Seconds: 80})
	paused.Blockers = []explain.Blocker{{Part: explain.Application, Event: "idle in transaction", PID: 7, Held: 1,
		Sessions: 1}}
	paused.Blockers[0].Share.Value, paused.Blockers[0].Share.N = 1, 50
	passed := report(100, nil, nil, explain.Part{Name: explain.Locks, Seconds: 80})
	passed.Blockers = []explain.Blocker{{Part: explain.Application, Event: "idle in transaction", PID: 7, Held: 0.25,
		Sessions: 4}}
	passed.Blockers[0].Share.Value, passed.Blockers[0].Share.N = 1, 50
	asleep := report(100, nil, nil, explain.Part{Name: explain.Locks, Seconds: 80},
		explain.Part{Name: explain.OtherWaits, Seconds: 10})
	asleep.Blockers = []explain.Blocker{{Part: explain.OtherWaits, Event: "Timeout:PgSleep", PID: 7, Held: 0.25,
		Sessions: 4}, {Part: explain.DatabaseCPU, Event: "on CPU"}}
	asleep.Blockers[0].Share.Value, asleep.Blockers[1].Share.Value = 0.75, 0.25
	ran := report(100, nil, nil, explain.Part{Name: explain.Locks, Seconds: 80})
	ran.Blockers = asleep.Blockers[1:]
	compiles := report(100, nil, nil, explain.Part{Name: explain.DatabaseCPU, Seconds: 90})
	longer := report(1000, nil, nil, explain.Part{Name: explain.DatabaseCPU, Seconds: 900})
	compiles.Totals.Levels = map[string]int64{compiled: 2}
	longer.Totals.Levels = compiles.Totals.Levels
	brief := report(100, nil, nil, explain.Part{Name: explain.DatabaseCPU, Seconds: 90})
	brief.Totals.Levels, brief.Transactions = compiles.Totals.Levels, 1e6
	waits := func(part explain.PartName, event string) *explain.Report {
		r := report(10, map[string]string{"vacuum_cost_delay": "10ms"}, nil, explain.Part{Name: part, Seconds: 8})
		r.Events = []explain.Event{{Name: event, Part: part, Seconds: 8}}
		return r
	}
	deadlocks := report(100, map[string]string{"deadlock_timeout": "1s"}, nil, explain.Part{Name: explain.Locks, Seconds: 80})
	deadlocks.Blockers = []explain.Blocker{{Part: explain.Locks, Event: explain.Deadlocked, PID: 7, Held: 1, Relation: "t", Sessions: 2}}
	deadlocks.Blockers[0].Share.Value, deadlocks.Blockers[0].Share.N = 1, 50
	few := report(10, nil, map[string]int64{"sessions": 1000, "session_us": 100e6, "active_us": 1e6})
	for name, c := range map[string]struct {
		report *explain.Report
		want   string // parameter, text and step; "": nothing is said
	}{
		"deadlocks": {deadlocks, "deadlock_timeout: in 100 % of lock waits sessions wait for each other on t (deadlocks), until deadlock_timeout (1s) ends one of them; have all transactions take their locks in one order; the server's log shows the statements"},
		"a vacuum that sleeps": {waits(explain.OtherWaits, "Timeout:VacuumDelay"),
			"vacuum_cost_delay: sessions that vacuum sleep 80 % of active time, as vacuum_cost_delay (10ms) has them; where they are to be faster: set vacuum_cost_delay = 0 in their sessions, or alter system set vacuum_cost_delay = '0'; select pg_reload_conf()"},
		"a log whose reader is slow": {waits(explain.OtherWaits, Unnamed+"a write to a pipe of cat (PID 9)"),
			"waits without an event: sessions wait 80 % of active time without an event, mostly for a write to a pipe of cat (PID 9); have that read faster, or write less there, as the server's log goes to standard error (log_statement, log_min_duration_statement)"},
		"pages of memory": {waits(explain.OtherWaits, Unnamed+Page), ""},
		"a slow reader": {waits(explain.Application, "Client:ClientWrite"),
			"clients that read slowly: sessions wait 80 % of active time until their clients read what they have sent; have clients read faster, or ask for less"},
		"forced checkpoints": {report(100, checkpoints, forced(9, 1, 600<<20, 60_000)),
			"max_wal_size: 9 of 10 checkpoints in 60.0 s were forced by max_wal_size (32MB); a transaction logs 614 KiB; up to 78 % of the log are full pages; alter system set max_wal_size = '512MB'"},
		"forced, full pages not counted": {report(100, checkpoints,
			map[string]int64{"checkpoints_forced": 9, "checkpoints_timed": 1, "log": 600 << 20}),
			"a transaction logs 614 KiB; alter"},
		"asked for by a person": {report(100, checkpoints, forced(1, 0, 1<<20, 10)), ""},
		"timed ones":            {report(100, checkpoints, forced(1, 2, 600<<20, 10)), ""},
		"commit_delay": {slept,
			"commit_delay: by commit_delay, each commit sleeps for 5.00 ms before its flush: 50 % of active time; alter system set commit_delay = '0'"},
		"too few for a delay": {alone, ""},
		"delay of 0":          {report(10, map[string]string{"commit_delay": "0", "commit_siblings": "0"}, nil), ""},
		"connections": {few,
			"pool of connections: clients connect 17 times a second, for one transaction each; beginning and ending a session takes " +
				"39.0 ms; let clients keep"},
		"few connections": {report(10, nil, map[string]int64{"sessions": 3, "session_us": 600e6}), ""},
		"temporary files": {report(10, map[string]string{"work_mem": "64kB"},
			map[string]int64{"temp_files": 60, "temp_bytes": 600 << 20}),
			"work_mem: sorts and hashes exceed work_mem (64kB): 60 temporary files of 10 MiB on average, 10 MiB a second; alter system set work_mem = '32MB'"},
		"a file a transaction": {report(100, map[string]string{"work_mem": "64kB"},
			map[string]int64{"temp_files": 900, "temp_bytes": 9 << 20}),
			"work_mem: sorts and hashes exceed work_mem (64kB): 900 temporary files of 10.2 KiB on average"},
		"one small file": {report(10, map[string]string{"work_mem": "64kB"},
			map[string]int64{"temp_files": 1, "temp_bytes": 1 << 20}), ""},
		"a standby": {sync,
			"synchronous_commit: sessions wait for a standby of synchronous_standby_names for 60 % of active time"},
		"copies": {copies,
			"shared_buffers: 30 % of active time goes to copies from the page cache into shared_buffers (128MB), 3.00 us each; alter system set shared_buffers = '8GB'"},
		"backends write": {writes,
			"shared_buffers: sessions write changed pages themselves to get a place in shared_buffers (128MB): 100 pages a second, 20 % of active time"},
		"autovacuum": {vacuum,
			"autovacuum_vacuum_cost_limit: 1.5 autovacuum workers ran at once on average, and spent 50 % of their time"},
		"an old snapshot": {report(10, map[string]string{"snapshot_pid": "7", "snapshot_xmin": "900", "snapshot_of": "user u, application export"},
			map[string]int64{"xids": 20_000}),
			"oldest snapshot: session 7 of user u, application export keeps an old snapshot; 20000 transactions have changed rows meanwhile, and who " +
				"reads those passes over all that is dead; have it end its transaction; to end it now: select pg_terminate_backend(7)"},
		"rows that are dead": {report(10, nil, map[string]int64{"pages of b": 60_000, "blocks_hit": 90_000}),
			"dead rows: 67 % of the pages that statements ask for are of table b, of which most rows are dead; vacuum b, or"},
		"dead rows of a table that few read": {report(10, nil, map[string]int64{"pages of b": 6_000, "blocks_hit": 90_000}), ""},
		"snapshots in turn":                  {report(10, map[string]string{"snapshot_of": "user u, application export"}, map[string]int64{"xids": 20_000}), ""},
		"statements that are compiled": {compiles,
			"jit: 2 of its processes have loaded the compiler (jit); a transaction takes 90.0 ms of CPU time, most of which compiling may be; see"},
		"long statements that are compiled": {longer, ""},
		"few statements that are compiled":  {brief, ""},
		"statements that are logged": {report(0.1, map[string]string{"log_statement": "all", "log_duration": "off"}, nil),
			"log_statement: with log_statement = all each statement takes longer, 16 statements a second; alter system reset log_statement; select"},
		"logged, and nothing explained": {report(0.1, map[string]string{"log_statement": "all", "auto_explain.log_analyze": "on",
			"auto_explain.log_min_duration": "-1"}, nil), "log_statement: with log_statement = all each statement takes longer"},
		"long statements that are logged": {report(100, map[string]string{"log_statement": "all"}, nil), ""},
		"statements that are explained": {report(100, map[string]string{"auto_explain.log_analyze": "on", "auto_explain.log_min_duration": "0"}, nil,
			explain.Part{Name: explain.DatabaseCPU, Seconds: 90}),
			"auto_explain.log_analyze: with auto_explain.log_analyze = on each statement takes longer"},
		"none that are explained": {report(100, map[string]string{"auto_explain.log_analyze": "on", "auto_explain.log_min_duration": "-1"}, nil,
			explain.Part{Name: explain.DatabaseCPU, Seconds: 90}), ""},
		"a pause": {paused,
			"idle_in_transaction_session_timeout: sessions wait 80 % of active time for locks of session 7, which is idle"},
		"pauses of many": {passed,
			"transactions that hold locks: 80 % of active time goes to locks whose holder waits itself (for its client), and to that wait; let no"},
		"holders asleep": {asleep,
			"70 % of active time goes to locks whose holder waits itself (as Timeout:PgSleep), and to that wait"},
		"holders at work":  {ran, ""},
		"the log alone":    {report(100, nil, nil, log), ""},
		"nothing was said": {&explain.Report{Busy: 10}, ""},
		"nothing ran":      {report(0, checkpoints, forced(9, 1, 600<<20, 60_000)), ""},
	} {
		var all []string
		for _, f := range Findings(c.report) {
			all = append(all, f.Parameter+": "+f.Says()+"; "+f.Step)
			for _, clause := range f.Clauses() {
				if n := len(strings.Fields(clause)); n > 21 { // with what comes before it, a sentence has 25
					t.Errorf("%s: %d words in %q", name, n, clause)
				}
			}
			if f.Number <= 0 || f.Unit == "" || f.Part == "" || f.Explains != nil && (*f.Explains < 0 || *f.Explains > 1) ||
				f.AtMost != nil && f.Explains != nil && *f.AtMost < *f.Explains {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if got := strings.Join(all, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(all) > 1 {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestTotalsByVersion reads what live servers of 13 to 18 answered before and after 5 s of pgbench with a small
// max_wal_size.
func TestTotalsByVersion(t *testing.T) {
	b := testkit.Must(os.ReadFile("testdata/tell.txtar"))(t)
	files := map[string]explain.Telling{}
	for _, f := range txtar.Parse(b).Files {
		var rows []explain.Row
		for line := range strings.Lines(string(f.Data)) {
			var r explain.Row
			for c := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
				r = append(r, struct {
					String string
					Valid  bool
				}{c, true})
			}
			rows = append(rows, r)
		}
		files[f.Name] = explain.TellingOf(rows)
	}
	for major := 13; major <= 18; major++ {
		first, last := files[fmt.Sprintf("%d.1", major)], files[fmt.Sprintf("%d.2", major)]
		totals := explain.TotalsOf(&first, &last, 6)
		if totals == nil {
			t.Fatalf("%d: %q, then %q", major, first.Epoch, last.Epoch)
		}
		r := &explain.Report{Busy: 10, Transactions: 150, Totals: totals, Log: explain.NoLog()}
		said := ""
		for _, f := range Findings(r) {
			said += f.Says() + "\n"
		}
		testkit.Has(t, said, "checkpoints in 6.00 s were forced by max_wal_size (32MB)", major)
		// Full pages and sessions are counted from 14 on.
		if counted := strings.Contains(said, "full pages") &&
			strings.Contains(said, "clients connect"); counted != (major >= 14) {
			t.Errorf("%d: %q", major, said)
		}
		for _, name := range []string{"transactions", "written_backend", "written_checkpoint", "written_background",
			"temp_files", "blocks_read"} {
			if !totals.Has(name) {
				t.Errorf("%d: no %s", major, name)
			}
		}
	}
}

// TestQuantity: values are as current_setting writes them.
func TestQuantity(t *testing.T) {
	for text, want := range map[string]float64{"32MB": 32 << 20, "64kB": 64 << 10, "5min": 300, "2ms": 0.002, "5": 5,
		"1.5GB": 1.5 * (1 << 30), "-1": 0, "on": 0, "": 0, "3 parsecs": 0} {
		testkit.Is(t, want, quantity(text), text)
	}
	for bytes, want := range map[float64]string{1: "1kB", 65 << 10: "128kB", 3 << 20: "4MB", 1 << 30: "1GB"} {
		testkit.Is(t, want, size(bytes), bytes)
	}
}
