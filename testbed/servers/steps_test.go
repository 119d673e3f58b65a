//go:build linux && amd64 && system

package servers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// names: PostgreSQL's numbers of waits are those of its version's table.
func (s *server) names(t *testing.T) {
	cmd := exec.Command(filepath.Join(bin, "postgres.test"), "-test.run", "^TestServerNamesWaits$")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// assessment is what is read of a document.
type assessment struct {
	Service struct {
		Kind, Name, Version, Why, Ended string
		PID                             int
		Connected                       bool
	}
	Account struct {
		Elapsed         float64
		Looks, Samples  int
		Missing         []string
		Transactions    int64
		TransactionsLow int64 `json:"transactions_low"`
		Totals          struct{ Grown map[string]int64 }
		Parts           []struct {
			Name    string
			Seconds float64
		}
	}
	Levers []struct{ Name string }
}

// counted are counters that every version has, wherever it has them.
var counted = map[*privatedb.Vendor][]string{
	privatedb.PostgreSQL: {"transactions", "log", "temp_bytes", "blocks_hit", "checkpoints_timed", "checkpoints_forced",
		"written_checkpoint", "written_background", "written_backend"},
	privatedb.MariaDB: {"questions", "connections", "innodb_log_waits", "innodb_buffer_pool_reads",
		"innodb_buffer_pool_read_requests", "innodb_buffer_pool_wait_free", "created_tmp_disk_tables"},
}

// assess finds the server by itself, as root and as the server's own account, which may read its memory where the
// kernel lets it.
func (s *server) assess(t *testing.T) {
	account := testkit.Must(s.vendor.Account())(t)
	for who, as := range map[string]*syscall.Credential{"root": nil, account.Name: account.Credential()} {
		text, err := s.hostlab(t, as, "assess", "--only", "service", "--for", "4s", "--format", "json")
		if err != nil {
			t.Errorf("as %s: %v", who, err)
			continue
		}
		var a assessment
		testkit.OK(t, json.Unmarshal([]byte(text), &a))
		if x := a.Service; x.Kind != "database" || x.Name != s.vendor.Product || x.PID != s.PID() || !x.Connected ||
			x.Ended != "" || !strings.HasPrefix(x.Version, s.Programs.Version) {
			t.Errorf("as %s: %+v, want %s %s, process %d", who, x, s.vendor.Product, s.Programs.Version, s.PID())
		}
		r := a.Account
		sum := 0.0
		for _, p := range r.Parts {
			sum += p.Seconds
		}
		if r.Elapsed <= 0 || math.Abs(sum-r.Elapsed) > 0.005*r.Elapsed || len(r.Parts) < 6 || len(a.Levers) < 5 {
			t.Errorf("as %s: parts are %v s of %v: %+v; levers %+v", who, sum, r.Elapsed, r.Parts, a.Levers)
		}
		if r.Transactions <= 0 && r.TransactionsLow <= 0 {
			t.Errorf("as %s: no transactions", who)
		}
		for _, counter := range counted[s.vendor] {
			if _, has := r.Totals.Grown[counter]; !has {
				t.Errorf("as %s: no counter %s: %v", who, counter, r.Totals)
			}
		}
		missing := strings.Join(r.Missing, "; ")
		for _, problem := range []string{"SQLSTATE", "Error 1", "syntax", "newer than", "this build tells"} {
			if strings.Contains(missing, problem) {
				t.Errorf("as %s: missing: %s", who, missing)
			}
		}
		if s.vendor == privatedb.PostgreSQL && (as == nil || traced()) && (r.Looks == 0 || r.Looks != r.Samples) {
			t.Errorf("as %s: %d of %d samples are looks at its memory: %s", who, r.Looks, r.Samples, missing)
		}
	}
}

// traced reports that a user may read the memory of processes of its own.
func traced() bool {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return os.IsNotExist(err) || err == nil && strings.TrimSpace(string(b)) == "0"
}

// study has a parameter of a server change from one period to the next. No harm ends it, as this host may be busy.
const study = `
[study]
name = "t"
[design]
looks = [6]
[[factor]]
name = "parameter"
server = %q
levels = ["current", %q]
settle = "300ms"
[workload]
name = "observe"
dsn = %q
for = "2s"
short = "0s"
every = "1s"
retries = 9
[harm]
every = "1s"
above = 10
limit = {elapsed_per_transaction = "100s"}
[[response]]
name = "elapsed_per_transaction"
primary = true
`

// live kills an experiment with a parameter while the level is in force, has it go on, and finds everything as it was.
func (s *server) live(t *testing.T) {
	parameter, level := "commit_delay", "2000"
	if s.vendor == privatedb.MariaDB {
		parameter, level = "innodb_flush_log_at_trx_commit", "2"
	}
	before := s.state(t, parameter)
	if strings.HasPrefix(before, level+"\n") {
		t.Fatalf("%s is %s before", parameter, level)
	}
	file, record := filepath.Join(s.dir, "live.toml"), filepath.Join(s.dir, "record")
	testkit.OK(t, os.WriteFile(file, fmt.Appendf(nil, study, parameter, level, s.dsn()), 0o600))
	cmd := exec.Command(filepath.Join(bin, "hostlab"), "run", file, "--yes", "--quiet", "--out", record)
	var said strings.Builder
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = s.dir, &said, time.Second
	testkit.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for seen := false; !seen; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("the level was not seen before the end: %v: %s", err, said.String())
		default:
			seen = strings.HasPrefix(s.state(t, parameter), level+"\n")
		}
	}
	_ = cmd.Process.Kill()
	<-ended //nolint:errcheck // it was killed
	back := func(when string) {
		t.Helper()
		now := ""
		for end := testkit.End(t); now != before && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			now = s.state(t, parameter)
		}
		if now != before {
			t.Errorf("%s: %q, and it was %q", when, now, before)
		}
	}
	back("after the kill")
	if _, err := s.hostlab(t, nil, "run", "--resume", "--out", record, "--yes", "--quiet"); err != nil {
		t.Error(err)
	}
	back("at the end")
	if _, err := s.hostlab(t, nil, "run", "--restore", "--out", record); err != nil {
		t.Error(err)
	}
	back("after --restore")
}

// state is the value of a parameter in a new session, and the file that ALTER SYSTEM writes.
func (s *server) state(t *testing.T, parameter string) string {
	t.Helper()
	if s.vendor == privatedb.MariaDB {
		var value string
		testkit.OK(t, s.db.QueryRowContext(t.Context(), "select @@global."+parameter).Scan(&value))
		return value + "\n"
	}
	c := testkit.Must(s.Connect(t.Context()))(t)
	defer c.Close(t.Context())
	var value string
	err := c.QueryRow(t.Context(), "select setting from pg_settings where name = $1", parameter).Scan(&value)
	if err != nil {
		t.Fatal(err)
	}
	b := testkit.Must(os.ReadFile(filepath.Join(s.Dir(), "postgresql.auto.conf")))(t)
	return value + "\n" + string(b)
}

// logStudy is log-device, short: one block of two levels.
const logStudy = `
[study]
name = "log"
section = "log"
[[factor]]
name = "log"
parameter = "log_dir"
baseline = "disk"
levels = ["disk", "delay"]
directories = {disk = "{out}", delay = "delay:1ms"}
[workload]
name = "clientcopy"
engine = %q
size = "small"
timeout = "5m"
[[response]]
name = "duration"
[[response]]
name = "log_gain_bound"
compare = "difference"
equiv = 0.01
`

// log has a private server of this version copy a client, with its log on the disk and behind a delay.
func (s *server) log(t *testing.T) {
	file, record := filepath.Join(s.dir, "log.toml"), filepath.Join(s.dir, "log")
	testkit.OK(t, os.WriteFile(file, fmt.Appendf(nil, logStudy, s.vendor.Name), 0o600))
	testkit.Must(s.hostlab(t, nil, "run", file, "--blocks", "1", "--yes", "--quiet", "--out", record))(t)
	text := testkit.Must(s.hostlab(t, nil, "report", record, "--format", "csv"))(t)
	rows := testkit.Must(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	ran := map[string]bool{}
	for _, row := range rows[1:] {
		cell := map[string]string{}
		for i, name := range rows[0] {
			cell[name] = row[i]
		}
		took, err1 := strconv.ParseFloat(cell["response.duration.s"], 64)
		bound, err2 := strconv.ParseFloat(cell["response.log_gain_bound"], 64)
		if err1 != nil || err2 != nil || took <= 0 || bound <= 0 || bound >= 1 {
			t.Errorf("%v", cell)
		}
		ran[cell["factor.log"]] = ran[cell["factor.log"]] || cell["status"] == "ok"
	}
	if !ran["disk"] || !ran["delay"] {
		t.Error(text)
	}
}
