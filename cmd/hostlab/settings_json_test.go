package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

// recordedTree makes a tree of a recorded machine that has a boot ID.
func recordedTree(t *testing.T, name string) (root string, write func(path, text string)) {
	t.Helper()
	data := testkit.Must(os.ReadFile("../../internal/host/testdata/" + name + ".txtar"))(t)
	root = t.TempDir()
	testkit.OK(t, host.ExtractArchive(data, root))
	write = func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	write(bootID, "one")
	return root, write
}

const (
	bootID     = "proc/sys/kernel/random/boot_id"
	swappiness = "proc/sys/vm/swappiness"
	policy2    = "sys/devices/system/cpu/cpufreq/policy2/scaling_governor"
)

// What settings, set, verify and revert write as JSON is what docs/schema/settings.schema.json
// describes, whatever became of the objects, and the schema refuses what it does not describe.
func TestSettingsSchema(t *testing.T) {
	root, write := recordedTree(t, "intel-core-cst")
	for _, step := range []struct {
		before func()
		args   string
		status int
		want   string // a result, or another piece of the document
	}{
		{nil, "settings", exitOK, `"missing": "the processor offers no EPB"`},
		{nil, "settings governor", exitOK, `"levels"`},
		{nil, "set governor=performance max_freq=60% --dry-run", exitOK, `"note": "rounded to a step`},
		{nil, "set epb=0 swappiness=10 --yes", exitFailed, `"skipped"`},
		{nil, "set governor=performance max_freq=60% swappiness=10 --yes", exitOK, `"changed"`},
		{nil, "set governor=performance --yes", exitOK, `"same"`},
		{nil, "verify", exitOK, `"unchanged"`},
		{func() { write(policy2, "powersave") }, "verify --exit-status", exitFound, `"foreign"`},
		{nil, "revert --dry-run", exitOK, "reads powersave: another program has changed it"},
		{nil, "revert", exitFailed, `"restored"`},
		{func() { write(bootID, "two") }, "verify --exit-status", exitFound, `"forgotten"`},
		{nil, "revert --dry-run", exitOK, `"action": "plan"`},
		{nil, "revert", exitOK, `"forgotten"`},
		{nil, "revert", exitOK, `"outcomes": []`},
		{nil, "revert --owner nonsense", exitOK, `"outcomes": []`},
		{func() { write(swappiness, "!errno EACCES") }, "settings swappiness", exitOK, `"problem"`},
		{nil, "set swappiness=10 --dry-run", exitFailed, "may not be read"},
	} {
		if step.before != nil {
			step.before()
		}
		var out, stderr bytes.Buffer
		status := run(context.Background(), append(strings.Fields(step.args), "--root", root, "--format", "json"),
			streams{nil, &out, &stderr})
		if text := out.String(); status != step.status || !strings.Contains(text, step.want) {
			t.Errorf("%s: exit status %d, want %d and %s in:\n%s%s", step.args, status, step.status, step.want, text,
				stderr.String())
		}
		conform.To(t, "settings.schema.json", out.Bytes(), step.args)
	}
}
