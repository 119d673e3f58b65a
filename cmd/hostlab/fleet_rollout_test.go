package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

// rolloutHosts are made hosts of one kind, whose documents a test writes.
type rolloutHosts struct {
	t     *testing.T
	store string
	dir   string
	n     int
}

// tell ingests a document of a host.
func (r *rolloutHosts) tell(host string, doc map[string]any) {
	r.t.Helper()
	text := testkit.Must(json.Marshal(doc))(r.t)
	file := filepath.Join(r.dir, "doc.json")
	testkit.OK(r.t, os.WriteFile(file, text, 0o600))
	fleetRun(r.t, r.store, "ingest", "--host", host, file)
}

// assess tells a measurement of a host, at a moment.
func (r *rolloutHosts) assess(host string, at time.Time, commit float64) {
	r.t.Helper()
	fact := func(v any) map[string]any { return map[string]any{"value": v, "state": "ok"} }
	r.tell(host, map[string]any{
		"kind": "assess", "schema": 4, "version": "1", "started": at, "host": host, "role": "production-db",
		"facts": map[string]any{"identity": map[string]any{"cpu_model": fact("X")},
			"topology": map[string]any{"threads": fact(8)}},
		"results": []any{}, "levers": []any{}, "verdict": map[string]any{"text": "fine"},
		"probes": []any{map[string]any{"name": "commit.overwritten.mean", "title": "Mean commit", "value": commit,
			"low": commit * 0.99, "high": commit * 1.01, "n": 100, "unit": "s", "evidence": "measured"}},
	})
}

// verify tells that swappiness was set on a host.
func (r *rolloutHosts) verify(host string, at time.Time) {
	r.t.Helper()
	r.tell(host, map[string]any{"kind": "verify", "schema": 1, "started": at, "action": "verify",
		"outcomes": []any{map[string]any{"setting": "swappiness", "name": "", "to": "10", "read": "10",
			"result": "unchanged"}}})
}

// gated runs a command of rollout and returns its JSON, which is of the schema, and its exit status.
func (r *rolloutHosts) gated(args ...string) (doc map[string]any, status int, text string) {
	r.t.Helper()
	for _, format := range []string{"text", "json"} {
		var out, errs bytes.Buffer
		args := append(append([]string{"fleet", "rollout"}, args...), "--store", r.store, "--format", format)
		status = run(r.t.Context(), args, streams{nil, &out, &errs})
		if status == 1 || status == 2 {
			return nil, status, errs.String()
		}
		if format == "text" {
			text = out.String()
			continue
		}
		doc = conform.To(r.t, "fleet.schema.json", out.Bytes(), args)
	}
	return doc, status, text
}

// A roll-out from one end to the other: plan, status and gates, of a change that harms and of one that does not.
func TestFleetRollout(t *testing.T) {
	for _, c := range []struct {
		name         string
		effect       float64
		status       int
		verdict, say string
	}{{"harm", 1.2, exitFound, "harm", "Harm: put wave 1 back."}, {"none", 1, exitOK, "", "Go on with wave 2"}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := &rolloutHosts{t, "sqlite:" + filepath.Join(dir, "fleet.db"), dir, 8}
			past := time.Now().Add(-26 * time.Hour)
			noise := func(i int) float64 { return 1 + 0.01*float64(i*7%5-2) }
			for i := range r.n {
				r.assess(fmt.Sprint("db", i), past, 300e-6*noise(i))
				r.assess(fmt.Sprint("db", i), past.Add(24*time.Hour), 300e-6*noise(i+1))
			}
			plan := filepath.Join(dir, "plan.json")
			accepted := filepath.Join(dir, "accepted.toml")
			testkit.OK(t, os.WriteFile(accepted, []byte("[[accept]]\ncheck = \"MEM-006\"\nhost = \"db7\"\nreason = \"the vendor "+
				"asks\"\nuntil = 2099-01-01\n"), 0o600))
			make := []string{"plan", "--set", "vm.swappiness=10", "--waves", "2", "--seed", "4", "--out", plan, "--exceptions",
				accepted}
			if doc, _, said := r.gated(make...); doc == nil || !strings.Contains(said, "7 hosts in 2 waves") ||
				!strings.Contains(said, "the vendor asks") {
				t.Fatal(said)
			}
			byRole := []string{"plan", "--role", "production-db", "--out", plan + "2", "--exceptions", accepted}
			if _, _, said := r.gated(byRole...); !strings.Contains(said, "8 hosts in 2 waves") ||
				!strings.Contains(said, "db7: take part") {
				t.Error(said)
			}
			if _, status, said := r.gated("gate", plan, "--wave", "1", "--exit-status"); status != exitUndecided ||
				!strings.Contains(said, "no document of verify shows") {
				t.Errorf("before the wave: status %d, %s", status, said)
			}
			var p struct{ Waves []struct{ Hosts []string } }
			text := testkit.Must(os.ReadFile(plan))(t)
			testkit.OK(t, json.Unmarshal(text, &p))
			now := time.Now()
			for i := range r.n {
				host, commit := fmt.Sprint("db", i), 360e-6*noise(i+2) // the load has grown on all
				if slices.Contains(p.Waves[0].Hosts, host) {
					r.verify(host, now.Add(time.Duration(i)*time.Millisecond))
					commit *= c.effect
				}
				r.assess(host, now.Add(time.Minute), commit)
			}
			doc, status, said := r.gated("gate", plan, "--wave", "1", "--exit-status")
			if status != c.status || c.verdict != "" && doc["verdict"] != c.verdict || !strings.Contains(said, c.say) {
				t.Errorf("status %d, %v\n%s", status, doc, said)
			}
			if _, _, said := r.gated("status", plan); !strings.Contains(said,
				"1 of 2 waves are done. Wave 2 has not begun.") {
				t.Errorf("%s", said)
			}
		})
	}
}

// What cannot be used is refused in a line, and leaves no plan behind.
func TestFleetRolloutRefuses(t *testing.T) {
	dir := t.TempDir()
	r := &rolloutHosts{t, "sqlite:" + filepath.Join(dir, "fleet.db"), dir, 4}
	for i := range r.n {
		r.assess(fmt.Sprint("db", i), time.Now(), 300e-6)
	}
	plan, hosts := filepath.Join(dir, "plan.json"), filepath.Join(dir, "hosts")
	for content, want := range map[string]string{"db1\ndb2\ndb1\n": "db1 is there twice; a host is in one wave",
		"db1\ndb9\n": `no document of host "db9"`} {
		testkit.OK(t, os.WriteFile(hosts, []byte(content), 0o600))
		if _, status, said := r.gated("plan", "--set", "swappiness=10", "--hosts", hosts, "--out",
			plan); status != exitUsage || !strings.Contains(said, want) {
			t.Errorf("%d, %s", status, said)
		}
	}
	bad := map[string][]string{
		"expected":           {"plan", "--set", "swappiness", "--out", plan},
		"from 0 to 200":      {"plan", "--set", "swappiness=900000", "--out", plan},
		"no such setting":    {"plan", "--set", "nothing=1", "--out", plan},
		"name what to set":   {"plan", "--out", plan},
		"2 or more":          {"plan", "--set", "swappiness=1", "--waves", "1", "--out", plan},
		"4 hosts take part":  {"plan", "--set", "swappiness=1", "--waves", "5", "--out", plan},
		"has a measurement":  {"plan", "--set", "swappiness=1", "--measure", "x", "--out", plan},
		"no host has a fact": {"plan", "--set", "swappiness=1", "--where", "a.b=1", "--out", plan},
		"no such file":       {"gate", plan, "--wave", "1", "--exit-status"},
		"--out FILE":         {"plan", "--set", "swappiness=1"},
	}
	for _, want := range slices.Sorted(maps.Keys(bad)) {
		if _, status, said := r.gated(bad[want]...); status != exitUsage || !strings.Contains(said, want) ||
			strings.Count(said, "\n") != 1 {
			t.Errorf("%v: %d, %s", bad[want], status, said)
		}
	}
	testkit.Refused(os.Stat(plan))(t, "", "a plan is left behind")
}
