package service

import (
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

// TestCeilings: a group of version 2 may have a soft limit of memory below its hard one, and each counts its hits.
func TestCeilings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"memory.max": "2000000000\n", "memory.high": "1000000000\n",
		"memory.events": "low 0\nhigh 321\nmax 2\noom 0\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	g := &group{path: "/a", dirs: map[string]string{"": dir}}
	hard := &Ceiling{File: filepath.Join(dir, "memory.max"), Bytes: 2e9, Hits: 2}
	soft := &Ceiling{File: filepath.Join(dir, "memory.high"), Bytes: 1e9, Hits: 321}
	testkit.Same(t, []*Ceiling{hard, soft}, g.ceilings(), "both limits")
	testkit.OK(t, os.WriteFile(hard.File, []byte("max\n"), 0o600))
	testkit.Same(t, []*Ceiling{soft}, g.ceilings(), "without the hard one")
	testkit.OK(t, os.Remove(soft.File))
	testkit.Is(t, 0, len(g.ceilings()), "limits where there is no controller")
}
