//go:build system

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
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
	"hostlab/internal/testkit/conform"
)

// running is a scanlock that has printed its first table.
type running struct {
	cmd    *exec.Cmd
	worker int
	rest   chan string // of its output, once it has ended
	stderr bytes.Buffer
}

func startScanlock(t *testing.T, args ...string) *running {
	t.Helper()
	exe := testkit.Must(exec.LookPath("hostlab"))(t)
	r := &running{cmd: exec.Command(exe, append([]string{"workload", "scanlock", "--interval", "100ms"}, args...)...), rest: make(chan string, 1)}
	r.cmd.Stderr = &r.stderr
	out := testkit.Must(r.cmd.StdoutPipe())(t)
	testkit.OK(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "Thread Id = 1") {
	}
	children := childrenOf(t, r.cmd.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("%d worker processes: %v; stderr: %s", len(children), lines.Err(), r.stderr.String())
	}
	r.worker = children[0]
	go func() {
		var b strings.Builder
		for lines.Scan() {
			b.WriteString(lines.Text() + "\n")
		}
		r.rest <- b.String()
	}()
	return r
}

// childrenOf lists the processes whose parent is pid: the fourth field of stat, behind
// a name in brackets (proc_pid_stat(5)).
func childrenOf(t *testing.T, pid int) (list []int) {
	t.Helper()
	stats := testkit.Must(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, file := range stats {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child := testkit.Must(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t)
			list = append(list, child)
		}
	}
	return list
}

// end waits for the end and returns the exit status and what was still printed.
func (r *running) end(t *testing.T) (status int, rest string) {
	t.Helper()
	rest = <-r.rest
	err := r.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.worker, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the worker process %d is still there: %v", r.worker, err)
	}
	return status, rest
}

// A worker that dies ends the command, with a line that says so.
func TestScanlockWorkerDies(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{syscall.SIGKILL: "killed", syscall.SIGSEGV: "SIGSEGV"} {
		r := startScanlock(t, "--duration", "1m")
		testkit.OK(t, syscall.Kill(r.worker, signal))
		status, rest := r.end(t)
		testkit.Has(t, rest, "Incomplete: these are the figures of the first", signal)
		if text := r.stderr.String(); status != exitFailed || strings.Count(text, "\n") != 1 || !strings.Contains(text, "worker") || !strings.Contains(text, want) {
			t.Errorf("%v: exit status %d, %q", signal, status, text)
		}
	}
}

// Ctrl-C is how a run without a duration ends, and cuts one with a duration short. In
// both cases it prints what it has.
func TestScanlockInterrupted(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		lines  int
	}{{nil, exitOK, 0}, {[]string{"--duration", "1m"}, exitInterrupted, 1}} {
		r := startScanlock(t, c.args...)
		// A terminal sends it to the worker, too.
		for _, pid := range []int{r.worker, r.cmd.Process.Pid} {
			testkit.OK(t, syscall.Kill(pid, syscall.SIGINT))
		}
		status, rest := r.end(t)
		if status != c.status || strings.Count(r.stderr.String(), "\n") != c.lines || !strings.Contains(rest, "Whole run") {
			t.Errorf("%q: exit status %d, stderr %q, last output:\n%s", c.args, status, r.stderr.String(), rest)
		}
	}
}

// What scanlock writes as JSON is what its schema describes, also when the runtime of
// this process has one CPU to itself.
func TestScanlockJSON(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	duration := 100 * time.Millisecond
	for _, args := range [][]string{{}, {"-s", "none"}, {"-l", "none"}} {
	again:
		var out, stderr bytes.Buffer
		status := run(context.Background(), append([]string{"workload", "scanlock", "--duration", duration.String(), "--format", "json"}, args...), streams{nil, &out, &stderr})
		if status != exitOK {
			t.Fatalf("%q: exit status %d: %s", args, status, stderr.String())
		}
		doc := conform.To(t, "scanlock.schema.json", out.Bytes(), args)
		for _, th := range doc["threads"].([]any) {
			th := th.(map[string]any)
			done := "scans"
			if th["role"] == "lock" {
				done = "acquisitions"
			}
			if fmt.Sprint(th[done]) != "0" {
				continue
			}
			if duration < 10*time.Second { // others may have had the CPU
				duration *= 4
				goto again
			}
			t.Errorf("%q: a thread did nothing: %v", args, th)
		}
	}
}

// That a journal's directory of another user has no changes says nothing to root.
func TestRevertInAnotherUsersDirectory(t *testing.T) {
	testkit.Root(t)
	dir := t.TempDir()
	var out bytes.Buffer
	try := func() error {
		o := revertOptions{printing: printing{format: "text"}}
		return o.putBack(t.Context(), streams{nil, &out, &out}, tree(t, t.TempDir()), dir, dir)
	}
	if err := try(); err != nil || !strings.Contains(out.String(), "Nothing to put back") {
		t.Errorf("root's own: %v, %q", err, out.String())
	}
	testkit.OK(t, os.Chown(dir, 12345, 12345))
	err := try()
	if _, usage := errors.AsType[usageError](err); !usage ||
		!strings.Contains(err.Error(), dir+" belongs to uid 12345, who could replace") {
		t.Errorf("another's: %v", err)
	}
}

// made is a spool of a small fleet, and how many documents it has.
func made(t *testing.T) (spool string, documents int) {
	t.Helper()
	spool = filepath.Join(t.TempDir(), "spool")
	out, err := exec.Command("hostlab", "fleet", "demo", "--hosts", "20", "--seed", "1", "--out", spool).CombinedOutput()
	if _, scanned := fmt.Sscanf(string(out), "%d documents", &documents); err != nil || scanned != nil {
		t.Fatalf("%v, %v: %s", err, scanned, out)
	}
	return spool, documents
}

// Two programs put the same documents into one store at once: each is kept once, and a third finds all of them.
func TestTwoIngests(t *testing.T) {
	testkit.Root(t)
	spool, documents := made(t)
	server := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	defer server.Close()
	at := url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/" + privatedb.Postgres,
		RawQuery: url.Values{"host": {server.SocketDir()}}.Encode()}
	for name, store := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "fleet.db"),
		"PostgreSQL": at.String()} {
		t.Run(name, func(t *testing.T) {
			type ended struct {
				out string
				err error
			}
			both := make(chan ended)
			for range 2 {
				go func() {
					out, err := exec.Command("hostlab", "fleet", "ingest", "--store", store, spool).CombinedOutput()
					both <- ended{string(out), err}
				}()
			}
			all := 0
			for range 2 {
				e := <-both
				var read, added, known, refused int
				_, err := fmt.Sscanf(e.out, "%d documents read: %d new, %d known, %d refused", &read, &added, &known, &refused)
				if e.err != nil || err != nil || read != documents || added+known != documents || refused > 0 {
					t.Errorf("%v, %v: %s", e.err, err, e.out)
				}
				all += added
			}
			testkit.Is(t, documents, all, "were new to one or the other, of")
			out, err := exec.Command("hostlab", "fleet", "ingest", "--store", store, spool).CombinedOutput()
			if want := fmt.Sprintf("%d documents read: 0 new, %d known, 0 refused\n", documents, documents); err != nil ||
				string(out) != want {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A disk that fills ends an ingest with one line and loses nothing: with more room, the next one keeps what is missing.
func TestIngestOnAFullDisk(t *testing.T) {
	testkit.Root(t)
	spool, documents := made(t)
	dir := t.TempDir()
	const script = `mount -t tmpfs -o size=600k tmpfs "$1" || exit 3
hostlab fleet ingest --store "sqlite:$1/fleet.db" "$2" >"$3/out" 2>"$3/err"; echo "ended by $?"
mount -o remount,size=100m "$1" || exit 3
hostlab fleet ingest --store "sqlite:$1/fleet.db" "$2" && hostlab fleet store rebuild --store "sqlite:$1/fleet.db"; cat "$3/err" >&2`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", t.TempDir(), spool, dir)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said.String())
	}
	var read, added, known int
	rest, ok := strings.CutPrefix(out.String(), "ended by 1\n")
	_, err := fmt.Sscanf(rest, "%d documents read: %d new, %d known, 0 refused", &read, &added, &known)
	if !ok || err != nil || read != documents || added+known != documents || added == 0 ||
		!strings.Contains(rest, fmt.Sprintf("%d documents", documents)) {
		t.Errorf("%v: %s", err, out.String())
	}
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); len(lines) != 1 ||
		!strings.Contains(lines[0], "full") {
		t.Errorf("it said %q", lines)
	}
}
