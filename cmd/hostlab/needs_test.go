package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

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
name = "extract"
[[factor]]
name = "engine"
parameter = "engine"
levels = ["embedded", "postgres"]
[[response]]
name = "duration"
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
