package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

// TestMain makes this test binary serve as hostlab in scripts, and as its worker.
func TestMain(m *testing.M) {
	worker.Main(jobs())
	sparing = false
	setting.MachineDir = filepath.Join(os.Getenv("WORK"), "var", "lib", "hostlab") // $WORK is that of a script
	if os.Getenv("WORK") == "" {
		setting.MachineDir = "/nonexistent/hostlab"
	}
	testscript.Main(m, map[string]func(){"hostlab": main})
}

// TestScripts runs whole commands as a user types them: testdata/script/*.txtar. Those that
// start servers or take many seconds stand in testdata/system.
func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

// scripts runs the scripts of a folder. $FIXTURES holds the recorded machines.
func scripts(t *testing.T, dir string) {
	t.Helper()
	fixtures := testkit.Must(filepath.Abs("../../internal/host/testdata"))(t)
	testscript.Run(t, testscript.Params{
		Dir: testkit.Must(filepath.Abs(dir))(t), // since exits changes the directory
		Setup: func(e *testscript.Env) error {
			e.Setenv("FIXTURES", fixtures)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ESC", "\x1b[31m")
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exec-status": execStatus,
			"exits":       exits,
			"interrupted": interrupted,
			"ls-empty":    lsEmpty,
			"machine":     unpackMachine,
			"ring":        keepRing,
		},
	})
}

// execStatus runs a command that must end with a certain status; where that is
// an error, also with exactly one line on stderr and no stack trace.
//
//	exec-status N COMMAND [ARG...]
func execStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want || neg {
		ts.Fatalf("%s: exit status %d, expected %d", strings.Join(args[1:], " "), got, want)
	}
	expectOneLine(ts, got, ts.ReadFile("stderr"))
}

// expectOneLine expects exactly one line on stderr where the status is that of an error.
func expectOneLine(ts *testscript.TestScript, status int, stderr string) {
	verdict := status == exitFound || status == exitUndecided
	if status >= 2 && !verdict && (strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "goroutine")) {
		ts.Fatalf("expected one line on stderr, found:\n%s", stderr)
	}
}

// place is the directory and the environment of this process, which exits takes for each command.
var place sync.Mutex

// scriptVariables are those that commands heed. PATH stays: a script that begins meanwhile reads it.
var scriptVariables = []string{"WORK", "HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR", "SUDO_UID", "PGHOST",
	"PGDATABASE", "PGPASSWORD", "PGPASSFILE", "MYSQL_PWD", "HOSTLAB_PG_BIN", dsnVariable, storeVariable}

// exits is exec-status in this process, which takes a tenth of the CPU time of a program's start.
// The command reads nothing on stdin. What is about the process itself (signals, pipes, stdin) is
// tried by exec, and so is what runs programs: of those that it finds as its children, hostlab ends
// some. With !, any status but N does, and any number of lines.
//
//	exits N hostlab [ARG...]
//	! exits 0 hostlab [ARG...]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	got := inPlace(ts, func() int {
		return run(context.Background(), args[2:], streams{strings.NewReader(""), &stdout, &stderr})
	})
	_, err = stdout.WriteTo(ts.Stdout())
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), stderr.String())
	ts.Check(err)
	if (got == want) == neg {
		ts.Fatalf("%s: exit status %d", strings.Join(args, " "), got)
	}
	if !neg {
		expectOneLine(ts, got, stderr.String())
	}
}

// inPlace runs a command in a script's directory, with its environment and state.
func inPlace(ts *testscript.TestScript, command func() int) int {
	place.Lock()
	defer place.Unlock()
	dir, err := os.Getwd()
	ts.Check(err)
	before, logs, machine, zone := map[string]string{}, slog.Default(), setting.MachineDir, time.Local
	defer func() {
		for name, value := range before {
			err = errors.Join(err, setenv(name, value))
		}
		slog.SetDefault(logs)
		setting.MachineDir, time.Local = machine, zone
		ts.Check(errors.Join(err, os.Chdir(dir)))
	}()
	for _, name := range scriptVariables {
		before[name] = os.Getenv(name)
		ts.Check(setenv(name, ts.Getenv(name)))
	}
	ts.Check(os.Chdir(ts.MkAbs(".")))
	setting.MachineDir = filepath.Join(ts.Getenv("WORK"), "var", "lib", "hostlab")
	if name := ts.Getenv("TZ"); name != "" { // a program reads it once, when it starts
		time.Local, err = time.LoadLocation(name)
		ts.Check(err)
	}
	return command()
}

// setenv sets a variable, or removes it.
func setenv(name, value string) error {
	if value == "" {
		return os.Unsetenv(name)
	}
	return os.Setenv(name, value)
}

// interrupted starts a command, sends SIGINT after a while and expects status 130,
// one line, and an end long before that of the work (a busy machine takes seconds).
//
//	interrupted DELAY COMMAND [ARG...]
func interrupted(ts *testscript.TestScript, _ bool, args []string) {
	delay, err := time.ParseDuration(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	time.Sleep(delay)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitInterrupted {
		ts.Fatalf("after Ctrl-C: %v, expected exit status %d; stderr: %s", err, exitInterrupted, stderr.String())
	}
	_, err = io.WriteString(ts.Stderr(), stderr.String())
	ts.Check(err)
	if strings.Count(stderr.String(), "\n") != 1 {
		ts.Fatalf("expected one line on stderr, found:\n%s", stderr.String())
	}
}

// unpackMachine makes a tree of a recorded machine.
//
//	machine NAME DIR
func unpackMachine(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	data, err := os.ReadFile(filepath.Join(ts.Getenv("FIXTURES"), args[0]+".txtar"))
	ts.Check(err)
	ts.Check(host.ExtractArchive(data, dir))
}

// lsEmpty expects a directory without entries.
func lsEmpty(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s was left in %s", e.Name(), args[0])
	}
}

// Without PostgreSQL a run ends before it measures anything, and a plan says so; also
// where only a level takes it.
func TestRunWithoutPostgreSQL(t *testing.T) {
	t.Setenv("HOSTLAB_PG_BIN", t.TempDir())
	factor := filepath.Join(t.TempDir(), "engines.toml")
	text := `schema = 1
[study]
name = "engines"
title = "engines"
[workload]
name = "xmlquery"
[[factor]]
name = "engine"
parameter = "engine"
levels = ["embedded", "postgres"]
[[response]]
name = "wall"
equiv = "5%"
`
	testkit.OK(t, os.WriteFile(factor, []byte(text), 0o600))
	for _, study := range [][]string{{"power-query", "--set", "workload.engine=postgres"}, {factor}} {
		out := filepath.Join(t.TempDir(), "record")
		var stdout, stderr bytes.Buffer
		began := time.Now()
		status := run(t.Context(), append([]string{"run", "--out", out, "--yes"}, study...), streams{nil, &stdout, &stderr})
		if got := stderr.String(); status != exitUsage || stdout.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.Contains(got, "parameter engine: ") ||
			!strings.Contains(got, "install PostgreSQL") {
			t.Errorf("%s: status %d after %v, %s%s", study[0], status, time.Since(began), stdout.String(), got)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: left %v", study[0], err)
		}
		stdout.Reset()
		stderr.Reset()
		status = run(t.Context(), append([]string{"run", "--dry-run", "--out", out}, study...), streams{nil, &stdout, &stderr})
		if status != exitUsage || stdout.Len() == 0 || !strings.Contains(stderr.String(), "this host cannot run it: parameter engine: ") {
			t.Errorf("%s: dry run has status %d, %s%s", study[0], status, stdout.String(), stderr.String())
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"run", "power-query", "--dry-run"}, streams{nil, &stdout, &stderr}); status != exitOK || strings.Contains(stderr.String(), "cannot run") {
		t.Errorf("embedded: status %d, %s", status, stderr.String())
	}
}

// TestBombs gives files that are larger than they look; each is refused at once.
func TestBombs(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	testkit.OK(t, os.WriteFile(sparse, nil, 0o600))
	testkit.OK(t, os.Truncate(sparse, 1<<30))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	for range 64 {
		testkit.Must(w.Write(bytes.Repeat([]byte("\n"), 1<<20)))(t)
	}
	testkit.OK(t, w.Close())
	lines := filepath.Join(dir, "lines.gz")
	testkit.OK(t, os.WriteFile(lines, z.Bytes(), 0o600))
	cpus := filepath.Join(dir, "machine", "sys/devices/system/cpu")
	testkit.OK(t, os.MkdirAll(cpus, 0o755))
	for i := range host.MostCPUs + 1 {
		testkit.OK(t, os.WriteFile(filepath.Join(cpus, fmt.Sprint("cpu", i)), nil, 0o600))
	}
	root := filepath.Join(dir, "machine")
	record := func(name, head string) string { // a record with 16 MiB of a head
		path := filepath.Join(dir, name)
		for file, text := range map[string]string{"experiment.json": head, "study.toml": "", "runs.jsonl": ""} {
			testkit.OK(t, errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, file), []byte(text), 0o600)))
		}
		return path
	}
	cells := record("cells", `{"schema":1,"cells":[{}`+strings.Repeat(",{}", 5<<20)+"]}")
	plots := record("plots", `{"schema":1,"blocks":[{"plots":[[]`+strings.Repeat(",[]", 5<<20)+"]}]}")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"larger than 1 MiB", []string{"predict", "--workload", sparse}},
		{"1000 empty lines", []string{"watch", "--from", lines}},
		{"a recording of at most", []string{"assess", "--only", "service", "--out", "-", "--compare", sparse}},
		{"5242882 objects and 1 lists; at most 100000 and 1000000 are read", []string{"report", cells}},
		{"2 objects and 5242883 lists; at most", []string{"report", plots}},
		{"no kernel has so many", []string{"facts", "--root", root}},
		{"no kernel has so many", []string{"settings", "--root", root}},
	} {
		var out, errs bytes.Buffer
		began := proc.Own()
		status := run(t.Context(), c.args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if used := proc.Own() - began; status == 0 || !strings.Contains(errs.String(), c.want) || used > 10 { // s of CPU time
			t.Errorf("%v: status %d after %.1f s: %s", c.args, status, used, errs.String())
		}
	}
}
