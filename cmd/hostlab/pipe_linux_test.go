package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"hostlab/internal/experiment/runner"
)

// A reader that has gone away is no failure worth a word; what was left changed is.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	fd, err := syscall.Dup(int(w.Fd())) // each file closes its own, at the latest when it is collected
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.NewFile(uintptr(fd), os.Stdout.Name())
	defer stdout.Close()
	std := streams{nil, stdout, io.Discard}
	_, err = std.out.Write([]byte("x"))
	if status, line := outcome(err); status != exitPipe || line != "" {
		t.Errorf("%v gave %d, %q", err, status, line)
	}
	if status, line := outcome(&runner.Cleanup{Err: err}); status != exitFailed || line == "" {
		t.Errorf("with something left: %d, %q", status, line)
	}
	_, err = w.Write([]byte("x")) // a pipe of others
	if status, line := outcome(err); status != exitFailed || line == "" {
		t.Errorf("%v gave %d, %q", err, status, line)
	}
}
