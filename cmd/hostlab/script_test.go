package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hostlab/internal/host"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

// TestMain makes this test binary serve as hostlab in scripts, and as its worker.
func TestMain(m *testing.M) {
	worker.Main(jobs())
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
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FIXTURES", fixtures)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ESC", "\x1b[31m")
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exec-status": execStatus,
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
	verdict := got == exitFound || got == exitUndecided
	if stderr := ts.ReadFile("stderr"); got >= 2 && !verdict && (strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "goroutine")) {
		ts.Fatalf("expected one line on stderr, found:\n%s", stderr)
	}
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
