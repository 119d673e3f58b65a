package store

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// planned keeps a plan and what became of it: its course comes out of the store as it went in.
func planned(t *testing.T, s *Store) {
	const hosts = 8
	ctx, plannedAt := t.Context(), begin.Add(48*time.Hour)
	p := &rollout.Plan{Schema: rollout.Schema, Kind: rollout.Kind, Version: "1", Created: plannedAt, Seed: 4,
		Set: []string{"swappiness=10"}, Measure: rollout.Measure{Name: "p", Unit: "s", Better: "lower"}}
	var candidates []rollout.Candidate
	for i := range hosts {
		candidates = append(candidates, rollout.Candidate{Name: fmt.Sprint("db", i)})
	}
	p.Strata, p.Waves = rollout.Draw(candidates, 2, p.Seed)
	p.Foresee(math.NaN(), 1)
	body := testkit.Must(result.JSON(p, result.Indented))(t)
	d, err := fleet.Read(body, "", begin.AddDate(0, 1, 0))
	if err != nil || d.Host != "" {
		t.Fatalf("of %q, %v", d.Host, err)
	}
	testkit.Refused(fleet.Read(body, "db1", begin.AddDate(0, 1, 0)))(t, "", "a host's folder may hold a plan")
	for round, want := range []int{1, 0} {
		if n, err := s.Put(ctx, []*fleet.Document{d}, "test", begin); n != want || err != nil {
			t.Fatalf("put %d times: %d new, %v", round+1, n, err)
		}
	}
	if known, err := s.Known(ctx, d.Hash); !known || err != nil {
		t.Errorf("not known: %v", err)
	}
	list, all, err := s.Plans(ctx, 20)
	if err != nil || all != 1 || len(list) != 1 || list[0].Hash != d.Hash || string(list[0].Body) != string(body) {
		t.Fatalf("%d plans, %v", all, err)
	}
	// Before the plan 300, and after it 300 with the change and 310 without.
	var docs []*fleet.Document
	for i := range hosts {
		host := fmt.Sprint("db", i)
		value, has := 310, slices.Contains(p.Waves[0].Hosts, host)
		if has {
			value = 300
			verify := fmt.Sprintf(`{"kind": "verify", "schema": 1, "started": %q, "host": %q, "action": "verify", "outcomes": [{"setting": "swappiness", "to": "10", "read": "10", "result": "unchanged"}]}`,
				plannedAt.Add(time.Hour).Format(time.RFC3339), host)
			docs = append(docs, read(t, verify))
		}
		for hour, v := range map[int]int{10: 300, 20: 300, 50: value} {
			docs = append(docs, read(t, fmt.Sprintf(`{"kind": "assess", "schema": 4, "version": "1", "started": %q, "host": %q, "facts": {}, "verdict": {"text": "v"},
				"probes": [{"name": "p", "value": %d, "n": 5, "unit": "s"}]}`, begin.Add(time.Duration(hour)*time.Hour).Format(time.RFC3339), host, v)))
		}
	}
	testkit.Must(s.Put(ctx, docs, "test", begin))(t)
	names, err := s.MeasuredNames(ctx)
	if err != nil || len(names) != 1 || names[0] != (rollout.Measured{Name: "p", Unit: "s", Hosts: hosts}) {
		t.Errorf("%v, %v", names, err)
	}
	course := testkit.Must(s.Course(ctx, list[0].Plan))(t)
	for _, h := range course.Hosts {
		if want := map[int]rollout.State{1: rollout.Has, 2: rollout.Waiting}[h.Wave]; h.State != want || h.Before != 2 {
			t.Errorf("%+v", h)
		}
	}
	for _, policy := range rollout.Policies {
		j, err := course.Gate(1, policy)
		if err != nil || j.Verdict != rollout.Better || !j.Go || j.With != 4 || j.Without != 4 ||
			math.Abs(*j.Value-(300.0/310-1)) > 1e-6 {
			t.Errorf("%s: %+v, %v", policy, j, err)
		}
	}
	if _, _, err := s.Rebuild(ctx, begin.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, all, err := s.Plans(ctx, 20); all != 1 || err != nil {
		t.Errorf("%d plans after rebuild, %v", all, err)
	}
}

func read(t *testing.T, body string) *fleet.Document {
	t.Helper()
	d, err := fleet.Read([]byte(body), "", begin.AddDate(0, 1, 0))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return d
}
