package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet/demo"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

// fleetRun runs a command of fleet on a store, which must succeed.
func fleetRun(t *testing.T, store string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), append(append([]string{"fleet"}, args...), "--store", store),
		streams{nil, &out, &errs}); status != 0 {
		t.Fatalf("%s: exit status %d: %s", strings.Join(args, " "), status, errs.String())
	}
	return out.String()
}

// What the fleet prints as JSON is what docs/schema/fleet.schema.json describes, which refuses what it does not
// describe; and what was planted in a demonstration is found by status, diff and hosts --outliers.
func TestFleetOfDemo(t *testing.T) {
	dir := t.TempDir()
	spool, store := filepath.Join(dir, "spool"), "sqlite:"+filepath.Join(dir, "fleet.db")
	planted := testkit.Must(demo.Maker{Hosts: testkit.Times(60, 20), Seed: 7, Now: time.Now(), Version: "1", Days: 27, Each: 9}.Make(t.Context(),
		spool))(t)
	fleetRun(t, store, "ingest", spool)
	object := func(args ...string) (doc map[string]any) {
		t.Helper()
		text := []byte(fleetRun(t, store, append(args, "--format", "json")...))
		conform.To(t, "fleet.schema.json", text, args)
		testkit.OK(t, json.Unmarshal(text, &doc))
		return doc
	}
	for _, args := range [][]string{{"hosts"}, {"check", "MEM-006"}, {"changes", "--since", "20d"}, {"report"},
		{"exceptions", "check", spool + ".exceptions.toml"}, {"report", "--exceptions", spool + ".exceptions.toml"}} {
		object(args...)
	}
	evidence := filepath.Join(dir, "evidence.csv")
	fleetRun(t, store, "report", "--format", "csv", "--out", evidence)
	if text, err := os.ReadFile(evidence); err != nil || string(text) != fleetRun(t, store, "report", "--format", "csv") {
		t.Errorf("--out of report: %d bytes, not what it prints: %v", len(text), err)
	}
	status := object("status", "--exceptions", spool+".exceptions.toml")
	testkit.Is(t, 1, len(status["accepted"].([]any)), "findings are accepted")
	testkit.Is(t, 1, len(status["expired"].([]any)), "exceptions have expired")
	status = object("status")
	found, levers := map[string]bool{}, map[string]bool{}
	for _, f := range status["findings"].([]any) {
		found[f.(map[string]any)["check"].(string)] = true
	}
	for _, l := range status["levers"].([]any) {
		for _, p := range l.(map[string]any)["pays"].([]any) {
			levers[p.(map[string]any)["host"].(string)] = true
		}
	}
	if stale := status["stale"].([]any); len(stale) != 1 || stale[0].(map[string]any)["name"] != planted.Silent.Host {
		t.Errorf("stale: %v, planted %s", stale, planted.Silent.Host)
	}
	if twice := status["twice"].([]any); len(twice) != 1 || twice[0].(map[string]any)["kind"] != "clone" {
		t.Errorf("twice: %v, planted %v", twice, planted.Clone)
	}
	outliers := map[string]bool{}
	for _, o := range object("hosts", "--outliers")["outliers"].([]any) {
		outliers[o.(map[string]any)["host"].(string)] = true
	}
	if !outliers[planted.SlowTwin.Host] || len(outliers) > 6 {
		t.Errorf("outliers %v, planted %s", outliers, planted.SlowTwin.Host)
	}
	differs := func(a, b string) (paths map[string]bool) {
		t.Helper()
		paths = map[string]bool{}
		d := object("diff", a, b)
		for _, s := range d["settings"].([]any) {
			paths[s.(map[string]any)["path"].(string)] = true
		}
		for _, m := range d["measured"].([]any) {
			paths[m.(map[string]any)["name"].(string)] = true
		}
		return paths
	}
	if d := differs(planted.SlowTwin.Host, planted.SlowTwin.Like); !d["degree.throughput.1"] || !d["identity.bios"] {
		t.Errorf("the slow twin differs in %v", d)
	}
	for _, f := range planted.Faults {
		if f.Check != "" && !found[f.Check] {
			t.Errorf("%s on %s is not among the findings", f.Check, f.Host)
		}
		if f.Check == "" && !levers[f.Host] {
			t.Errorf("%s on %s is not among the levers", f.Fault, f.Host)
		}
		if strings.HasPrefix(f.Host, "db") && f.Shows != "" {
			if d := differs(f.Host, planted.SlowTwin.Like); !d[f.Shows] {
				t.Errorf("%s on %s: diff shows %v", f.Fault, f.Host, d)
			}
		}
	}
	if _, err := os.Stat(spool + ".planted.json"); err != nil {
		t.Error(err)
	}
}
