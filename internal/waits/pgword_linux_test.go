//go:build system

package waits

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestLooks: what one look at all processes of a server sees of sessions that are idle, in a transaction, waiting in one, and at work.
func TestLooks(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { _ = s.Close() })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	const first = "select pg_advisory_lock(1)"
	do := func(statement string) (pid int) {
		t.Helper()
		c := testkit.Must(s.Connect(ctx))(t)
		testkit.OK(t, c.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid))
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = c.Exec(ctx, statement) }()
		if statement == first { // others wait for its lock
			<-ended
		}
		t.Cleanup(func() { runtime.KeepAlive(c) }) // the collector would close it
		return pid
	}
	const read, sleep, advisory, none = 0x06000000, 0x09, 0x0300000a, 0
	want := map[int]Seen{}
	holds := do(first)
	want[holds] = Seen{PID: holds, Word: read}
	for statement, x := range map[string]Seen{
		"select 1": {Word: read}, "begin": {Word: read, Xact: true}, "select pg_sleep(3600)": {Word: sleep, Xact: true},
		"select pg_advisory_lock(1), 2":                                         {Word: advisory, Xact: true},
		"select count(*) from generate_series(1, 1000000000) a where a % 2 = 3": {Word: none, Xact: true, Runs: true},
	} {
		x.PID = do(statement)
		want[x.PID] = x
	}
	w := testkit.Must(OpenWords(s.PID()))(t)
	defer w.Close()
	pids := testkit.Must(w.Children())(t)
	w.Follow(pids)
	testkit.OK(t, w.FindTransactions(pids, s.Programs.Major))
	g, right := w.Group(pids), map[int]int{}
	all := func(int) bool { return true }
	for end := testkit.End(t); len(right) < len(want) && time.Now().Before(end); {
		for _, m := range testkit.Must(w.Looks(g, all, time.Now().Add(50*time.Millisecond), time.Millisecond, false))(t) {
			for _, x := range m.Seen {
				got := x
				if got.Word>>24 == sleep { // its event has another number in each version
					got.Word = sleep
				}
				if got == want[x.PID] && m.Seconds > 0 {
					right[x.PID]++
				}
			}
		}
	}
	for range 20 {
		g = w.Group(pids)
		_ = testkit.Must(w.Looks(g, all, time.Now().Add(2*time.Millisecond), time.Millisecond, false))(t)
	}
	if open := testkit.Must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.looker.pid)))(t); len(open) == 0 || len(open) > len(pids) {
		t.Errorf("the child has %d descriptors open for %d processes", len(open), len(pids))
	}
	status, anonymous := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", w.looker.pid)))(t), 0
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	_, _ = fmt.Sscan(after, &anonymous)
	if anonymous == 0 || anonymous > 4000 { // with Go's heap, it has 6,000, and 9,000 beside a ring
		t.Errorf("the child has %d kB of its own", anonymous)
	}
	if w.CPU() <= 0 {
		t.Error("looks took no CPU time")
	}
	words := map[int]uint32{}
	w.Read(words)
	if at := w.At(); words[holds] != read || len(at) < len(want) || at[holds] == 0 {
		t.Errorf("words at %v: %v", at, words)
	}
	for pid, x := range want {
		title, cut := w.Title(pid)
		if right[pid] == 0 || !strings.HasPrefix(title, "postgres: ") || !strings.Contains(title, " [local] ") || cut {
			t.Errorf("want %+v, title %q, cut %v", x, title, cut)
		}
	}
	testkit.Fails(t, w.FindTransactions(nil, 15), "", "it finds transactions of nobody")
	kill := func() {
		t.Helper()
		if w.looker == nil {
			w.looker = testkit.Must(startLooker())(t)
		}
		testkit.OK(t, syscall.Kill(w.looker.pid, syscall.SIGKILL))
	}
	look := func() []Moment {
		t.Helper()
		return testkit.Must(w.Looks(g, all, time.Now().Add(10*time.Millisecond), time.Millisecond, true))(t)
	}
	before, used := w.Missed(), w.CPU()
	kill()
	if seen := look(); len(seen) > 0 || w.Missed().Looks <= before.Looks || w.Missed().Time <= before.Time {
		t.Errorf("a child that was killed looks: %v, %v missed", seen, w.Missed())
	}
	for len(look()) == 0 { // until a busy host has a CPU for the next one
	}
	if w.CPU() < used {
		t.Error("what the child before it took is forgotten")
	}
	testkit.OK(t, s.Close())
	before = w.Missed()
	for w.Missed() == before { // as above
		if seen := look(); len(seen) > 0 || len(w.Look(g)) > 0 {
			t.Errorf("of a server that has ended: %v", seen)
		}
	}
	for range mostFailed - 1 {
		kill()
		look()
	}
	kill()
	testkit.Refused(w.Looks(g, all, time.Now(), time.Millisecond, true))(t, "has ended")
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
	own := testkit.Must(os.ReadFile("/proc/self/exe"))(t)
	testkit.OK(t, os.WriteFile(program, own, 0o755)) //nolint:gosec // she runs it
	cmd := exec.Command(program, "-test.run=TestMemoryOfOthers")
	cmd.Env = append(os.Environ(), of+"="+strconv.Itoa(os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testkit.Eve, Gid: testkit.Eve}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "said: its memory may not be read: it takes root") {
		t.Errorf("%v: %s", err, out)
	}
}
