package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

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
