package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBombs gives files that are larger than they look; each is refused at once.
func TestBombs(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<30); err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	for range 64 {
		if _, err := w.Write(bytes.Repeat([]byte("\n"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(dir, "lines.gz")
	if err := os.WriteFile(lines, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cpus := filepath.Join(dir, "machine", "sys/devices/system/cpu")
	if err := os.MkdirAll(cpus, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range largestMachine + 1 {
		if err := os.WriteFile(filepath.Join(cpus, fmt.Sprint("cpu", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(dir, "machine")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"larger than 1 MiB", []string{"predict", "--workload", sparse}},
		{"1000 empty lines", []string{"watch", "--analyze", lines}},
		{"larger than 32 MiB", []string{"explain", "--dsn", "postgres://u@localhost/d", "--compare", sparse}},
		{"no kernel has so many", []string{"facts", "--root", root}},
		{"no kernel has so many", []string{"settings", "--root", root}},
	} {
		var out, errs bytes.Buffer
		began := time.Now()
		status := run(t.Context(), c.args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if took := time.Since(began); status == 0 || !strings.Contains(errs.String(), c.want) || took > 10*time.Second {
			t.Errorf("%v: status %d after %s: %s", c.args, status, took, errs.String())
		}
	}
}
