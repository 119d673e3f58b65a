package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/testkit"
)

// TestFixtures says in files what each recorded machine is told in each role, so
// that a change of any decision is seen in the diff of a commit.
func TestFixtures(t *testing.T) {
	recorded, err := filepath.Glob("../../internal/host/testdata/*.txtar")
	if err != nil || len(recorded) < 10 {
		t.Fatalf("%d recorded machines: %v", len(recorded), err)
	}
	for _, file := range testkit.Sample(recorded, 6) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) { tell(t, name, file) })
	}
	made := map[string]func(string) error{"madehybrid": testkit.MadeHybrid}
	if testkit.Built { // 40,000 files
		made["made512"] = testkit.Made512
	}
	for name, make := range made {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testkit.OK(t, make(dir))
			tell(t, name, dir)
		})
	}
}

var checkTally = regexp.MustCompile(`\d+ checks: (\d+ found something to change(?:, \d+ notes?)?), \d+ passed(, \d+ could not look)?, \d+ do not apply\s+here\.`)

// tell compares one line a finding, by role, with what is on file.
func tell(t *testing.T, name, root string) {
	var out bytes.Buffer
	for _, role := range check.Roles {
		args := []string{"check", "--root", root, "--role", string(role), "--exit-status"}
		var text, stderr bytes.Buffer
		status := run(context.Background(), args, streams{nil, &text, &stderr})
		if status != exitOK && status != exitFound || stderr.Len() > 0 {
			t.Fatalf("%s: exit status %d: %s", strings.Join(args, " "), status, stderr.String())
		}
		// How many checks there are is no decision about this machine.
		fmt.Fprintf(&out, "== %s: exit status %d\n%s", role, status, checkTally.ReplaceAllString(text.String(), "checks: $1$2."))
	}
	testkit.Equal(t, filepath.Join("testdata", "fixtures", name+".txt"), out.String())
}
