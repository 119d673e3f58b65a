package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

// keeping is what a store of either engine does when old documents go and all is made anew.
func keeping(t *testing.T, fresh func(t *testing.T) *Store) {
	t.Run("rebuild", func(t *testing.T) {
		s := fresh(t)
		for _, d := range append(history(t, "db1", 12), history(t, "db2", 12)...) {
			testkit.Must(s.Put(t.Context(), []*fleet.Document{d}, "test", begin))(t)
		}
		want := everything(t, s)
		if n, left, err := s.Rebuild(t.Context(), begin.AddDate(1, 0, 0)); n != 24 || left != nil || err != nil {
			t.Fatalf("%d read, %v, %v", n, left, err)
		}
		testkit.Same(t, want, everything(t, s), "made anew, all differs")
	})
	t.Run("prune", func(t *testing.T) {
		s := fresh(t)
		var docs []*fleet.Document
		for hour := range 60 { // what is in force changes now and then
			docs = append(docs, written(t, "db1", hour, map[string]string{"steady": "1", "a": fmt.Sprint(hour / 7)},
				[]string{"ok", "finding"}[hour/13%2]))
		}
		rand.Shuffle(len(docs)-1, func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		testkit.Must(s.Put(t.Context(), docs, "test", begin))(t)
		spans := spansOf(t, s)
		before := begin.Add(50 * 3600e9)
		p, err := s.Prune(t.Context(), before)
		if err != nil || p.Documents < 30 || p.Bytes <= 0 {
			t.Fatalf("%+v, %v", p, err)
		}
		if again, err := s.Prune(t.Context(), before); err != nil || again.Documents != 0 {
			t.Errorf("a second time %+v, %v", again, err)
		}
		testkit.Same(t, spans, spansOf(t, s), "prune changed what holds")
		testkit.Is(t, 60, testkit.Must(s.Documents(t.Context()))(t), "documents")
		if n, left, err := s.Rebuild(t.Context(), begin.AddDate(1, 0, 0)); n != 60-p.Documents || left != nil || err != nil {
			t.Fatalf("%d read, %v, %v", n, left, err)
		}
		testkit.Same(t, spans, spansOf(t, s), "what is left tells otherwise")
		// The same documents are known still, and one from between is refused, while those beside it are kept.
		late, next := written(t, "db1", 1, map[string]string{"steady": "2"}, "ok"),
			written(t, "db1", 70, map[string]string{"steady": "2"}, "ok")
		n, err := s.Put(t.Context(), append(docs[:3:3], late, next), "test", begin)
		if refused, is := errors.AsType[*fleet.Refused](err); n != 1 || !is ||
			!strings.Contains(refused.Why, "prune has deleted") {
			t.Errorf("%d new, %v", n, err)
		}
		if err := s.Compact(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// everything is all that a store tells.
func everything(t *testing.T, s *Store) []string {
	t.Helper()
	out := spansOf(t, s)
	for _, q := range []string{"SELECT name, machine, first_seen, last_seen, stratum FROM host ORDER BY name",
		"SELECT document, name, value, n, unit FROM measurement ORDER BY document, name",
		"SELECT document, name, estimate, at_most, seconds_per_day FROM lever ORDER BY document, name",
		"SELECT id, host, kind, sha256, LENGTH(body) FROM document ORDER BY id"} {
		out = append(out, table(t, s, q, 5)...)
	}
	return out
}
