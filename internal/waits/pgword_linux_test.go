//go:build system

package waits

import (
	"context"
	"fmt"
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

// TestWords: sessions that wait for a lock, sleep, wait for their client and compute have words whose classes pg_stat_activity names.
func TestWords(t *testing.T) {
	s, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	do := func(statements ...string) (pid int) {
		t.Helper()
		c, err := s.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		for _, q := range statements[:len(statements)-1] {
			if _, err := c.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _, _ = c.Exec(ctx, statements[len(statements)-1]) }()
		return pid
	}
	const hold = "select pg_advisory_lock(1)"
	classes := map[int]uint32{}
	classes[do(hold, "select 1")] = 0x06                                                        // Client
	classes[do(hold)] = 0x03                                                                    // Lock
	classes[do("select pg_sleep(3600)")] = 0x09                                                 // Timeout
	classes[do("select count(*) from generate_series(1, 1000000000) a where a % 2 = 3")] = 0x00 // none, or a temporary file
	w, err := OpenWords(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for pid := range classes {
		pids = append(pids, pid)
	}
	got, seen := map[int]uint32{}, map[string]int{}
	w.Know(pids)
	for range 100 {
		w.Read(got)
		for pid, want := range classes {
			if word, there := got[pid]; there && word>>24 == want {
				seen[fmt.Sprint(pid)]++
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for pid, want := range classes {
		if n := seen[fmt.Sprint(pid)]; n < 40 {
			t.Errorf("process %d: class %#x in %d of 100 readings, last %#x", pid, want, n, got[pid])
		}
	}
}

// TestLooks: what one look at all processes of a server sees of sessions that are idle, in a transaction, waiting in one, and at work.
func TestLooks(t *testing.T) {
	s, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	do := func(statement string) (pid int) {
		t.Helper()
		c, err := s.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = c.Exec(ctx, statement) }()
		return pid
	}
	const read, sleep, none = 0x06000000, 0x09, 0
	want := map[int]Seen{}
	for statement, x := range map[string]Seen{
		"select 1": {Word: read}, "begin": {Word: read, Xact: true}, "select pg_sleep(3600)": {Word: sleep, Xact: true},
		"select count(*) from generate_series(1, 1000000000) a where a % 2 = 3": {Word: none, Xact: true, Runs: true},
	} {
		x.PID = do(statement)
		want[x.PID] = x
	}
	w, err := OpenWords(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pids, err := w.Children()
	if err != nil {
		t.Fatal(err)
	}
	w.Follow(pids)
	if err := w.FindTransactions(pids, 15); err != nil {
		t.Fatal(err)
	}
	g, right := w.Group(pids), map[int]int{}
	for end := testkit.End(t); len(right) < len(want) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, x := range w.Look(g, func(int) bool { return true }) {
			got := x
			if got.Word>>24 == sleep { // its event has another number in each version
				got.Word = sleep
			}
			if got == want[x.PID] {
				right[x.PID]++
			}
		}
	}
	for pid, x := range want {
		title, cut := w.Title(pid)
		if right[pid] == 0 || !strings.HasPrefix(title, "postgres: ") || !strings.Contains(title, " [local] ") || cut {
			t.Errorf("want %+v, title %q, cut %v", x, title, cut)
		}
	}
	if err := w.FindTransactions(nil, 15); err == nil {
		t.Error("it finds transactions of nobody")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if seen := w.Look(g, func(int) bool { return true }); len(seen) > 0 {
		t.Errorf("of a server that has ended: %v", seen)
	}
}

// TestMemoryOfOthers: a user may not read what another's server waits for, and is told what takes that.
func TestMemoryOfOthers(t *testing.T) {
	const of = "WORDS_OF"
	if pid, err := strconv.Atoi(os.Getenv(of)); err == nil {
		_, err := OpenWords(pid)
		fmt.Println("said:", err)
		return
	}
	program := filepath.Join(testkit.EvesDir(t), "test")
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, own, 0o755); err != nil { //nolint:gosec // she runs it
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=TestMemoryOfOthers")
	cmd.Env = append(os.Environ(), of+"="+strconv.Itoa(os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testkit.Eve, Gid: testkit.Eve}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "said: this user may not read its memory: it takes root") {
		t.Errorf("%v: %s", err, out)
	}
}
