package psql

import (
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

func TestSocket(t *testing.T) {
	work := t.TempDir()
	if got, err := Socket(work); err == nil {
		t.Errorf("found %q where no server is", got)
	}
	for i, server := range []string{"one", "two"} {
		run := filepath.Join(work, server, "run")
		testkit.OK(t, os.MkdirAll(run, 0o700))
		got, err := Socket(work)
		if alone := i == 0; (err == nil) != alone || alone && got != run {
			t.Errorf("with %d servers: %q, %v", i+1, got, err)
		}
	}
}

func TestRead(t *testing.T) {
	got, err := read([]byte("\nTime: 1234.5 ms (00:01.235)\nTime: 9 ms\n"))
	if err != nil || got != 1.2345 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "Time: unknown\n", "Time: 1.2.3 ms\n"} {
		if got, err := read([]byte(bad)); err == nil {
			t.Errorf("%q gave %v", bad, got)
		}
	}
}
