package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

// begin is when the first document of a test was written.
var begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// written is a document of a host: facts in some order of keys, and a finding.
func written(t *testing.T, host string, hour int, facts map[string]string, status string) *fleet.Document {
	t.Helper()
	kernel := map[string]any{}
	for k, v := range facts {
		kernel[k] = map[string]any{"value": v, "state": "ok"}
	}
	body := testkit.Must(json.Marshal(map[string]any{
		"kind": "assess", "schema": 4, "version": "1", "started": begin.Add(time.Duration(hour) * time.Hour), "host": host,
		"role":  "production-db",
		"facts": map[string]any{"kernel": kernel},
		"results": []any{map[string]any{"id": "KRN-001", "title": "t", "status": status, "severity": "low",
			"detail": status}},
		"probes": []any{map[string]any{"name": "p", "value": float64(hour), "n": 5, "unit": "s", "evidence": "measured"}},
		"levers": []any{map[string]any{"name": "clock", "estimate": 0.1, "at_most": 0.2, "verdict": "worthwhile"}},
		"time":   map[string]any{"wall": 10, "active": 20}, "service": map[string]any{"name": "PostgreSQL"},
		"verdict": map[string]any{"text": "v"},
	}))(t)
	d := testkit.Must(fleet.Read(body, "", begin.AddDate(1, 0, 0)))(t)
	return d
}

// history makes documents whose facts change, come and go.
func history(t *testing.T, host string, n int) (docs []*fleet.Document) {
	for hour := range n {
		facts := map[string]string{"steady": "1"}
		for _, key := range []string{"a", "b", "c"} {
			if v := rand.IntN(4); v > 0 {
				facts[key] = fmt.Sprint(v)
			}
		}
		docs = append(docs, written(t, host, hour, facts, []string{"ok", "finding"}[rand.IntN(2)]))
	}
	return docs
}

// table prints rows of a store.
func table(t *testing.T, s *Store, statement string, columns int) []string {
	t.Helper()
	var out []string
	testkit.OK(t, s.query(t.Context(), func(scan func(...any) error) error {
		row, into := make([]any, columns), make([]any, columns)
		for i := range row {
			into[i] = &row[i]
		}
		if err := scan(into...); err != nil {
			return err
		}
		out = append(out, fmt.Sprint(row...))
		return nil
	}, statement))
	return out
}

func spansOf(t *testing.T, s *Store) []string {
	return slices.Concat(table(t, s, "SELECT host, path, value, since, until FROM fact_span ORDER BY host, path, since",
		5), table(t, s, "SELECT host, check_id, status, since, until FROM finding_span ORDER BY host, check_id, since", 5))
}

// contract is what a store of either engine does.
func contract(t *testing.T, fresh func(t *testing.T) *Store) {
	put := func(t *testing.T, s *Store, docs ...*fleet.Document) int {
		t.Helper()
		n := testkit.Must(s.Put(t.Context(), docs, "test", begin))(t)
		return n
	}
	t.Run("any order", func(t *testing.T) {
		docs := append(history(t, "db1", 12), history(t, "db2", 12)...)
		var want []string
		for round := range 4 {
			s := fresh(t)
			for _, i := range rand.Perm(len(docs)) {
				if n := put(t, s, docs[i]); n != 1 {
					t.Fatalf("%d documents are new", n)
				}
			}
			testkit.Is(t, 0, put(t, s, docs...), "a second time", "documents are new")
			got := spansOf(t, s)
			if round == 0 {
				want = got
				for _, d := range docs {
					holds(t, s, d)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("another order, other spans: %s", diff)
			}
		}
	})
	t.Run("a change is a row", func(t *testing.T) {
		s := fresh(t)
		for hour := range 20 {
			put(t, s, written(t, "db1", hour, map[string]string{"a": fmt.Sprint(hour / 10)}, "ok"))
		}
		if got := spansOf(t, s); len(got) != 3 { // two values, and a check that stays ok
			t.Errorf("%q", got)
		}
	})
	t.Run("findings over time", func(t *testing.T) {
		s := fresh(t)
		for hour, status := range []string{"finding", "accepted", "ok", "finding", "ok", "accepted"} {
			put(t, s, written(t, "db1", hour, nil, status))
		}
		for most, want := range map[int]string{200: "0-1 1-2 3-4 5-", 4: "3-4 5-", 3: "3-4 5-", 2: "5-", 1: "5-"} {
			list, err := s.Spans(t.Context(), "db1", most)
			got := ""
			for _, x := range list {
				got += fmt.Sprintf(" %g-", x.Since.Sub(begin).Hours())
				if hours := x.Until.Sub(begin).Hours(); hours < 100 {
					got += fmt.Sprint(hours)
				}
			}
			if err != nil || strings.TrimSpace(got) != want {
				t.Errorf("of %d documents:%s, want %s, %v", most, got, want, err)
			}
		}
		put(t, s, written(t, "db2", 0, nil, "finding"), written(t, "db2", 5, nil, "finding"))
		if list, err := s.Spans(t.Context(), "db2", 1); err != nil || len(list) != 1 || list[0].Since.Sub(begin) != 5*time.Hour {
			t.Errorf("one that began before is cut: %+v, %v", list, err)
		}
	})
	t.Run("a roll-out", func(t *testing.T) { planned(t, fresh(t)) })
	t.Run("a text with NUL", func(t *testing.T) {
		s, d := fresh(t), written(t, "db1", 1, map[string]string{"a": "x\x00y"}, "ok")
		put(t, s, d, written(t, "db2", 1, map[string]string{"a": "1"}, "ok"))
		body, err := s.Body(t.Context(), d.Hash)
		facts, err2 := s.Facts(t.Context(), "db1")
		if err != nil || err2 != nil || !bytes.Equal(body, d.Body) || facts["kernel.a"].Text != "x\ufffdy" {
			t.Errorf("%v, %v: %q, %q", err, err2, body, facts["kernel.a"])
		}
	})
	t.Run("bytes come back", func(t *testing.T) {
		s, d := fresh(t), written(t, "db1", 1, map[string]string{"a": "1"}, "ok")
		put(t, s, d)
		if body, err := s.Body(t.Context(), d.Hash); err != nil || !bytes.Equal(body, d.Body) {
			t.Errorf("%v, %q", err, body)
		}
		testkit.Refused(s.Body(t.Context(), strings.Repeat("0", 64)))(t, "", "a document that never came is there")
	})
	t.Run("side by side", func(t *testing.T) {
		s, docs := fresh(t), history(t, "db1", 30)
		done := make(chan int)
		for range 3 {
			go func() {
				sum := 0
				for _, i := range rand.Perm(len(docs)) {
					n, err := s.Put(context.Background(), docs[i:i+1], "test", begin)
					if err != nil {
						t.Error(err)
					}
					sum += n
				}
				done <- sum
			}()
		}
		testkit.Is(t, len(docs), <-done+<-done+<-done, "documents were new of")
	})
}

// holds checks that spans say, of a document's moment, what the document says.
func holds(t *testing.T, s *Store, d *fleet.Document) {
	t.Helper()
	got := map[string]string{}
	at := d.Started.UnixNano()
	testkit.OK(t, s.query(t.Context(), func(scan func(...any) error) error {
		var path, value string
		if err := scan(&path, &value); err != nil {
			return err
		}
		got[path] = value
		return nil
	}, "SELECT path, value FROM fact_span WHERE host = ? AND since <= ? AND until > ?", d.Host, at, at))
	want := map[string]string{}
	for path, v := range d.Facts {
		want[path] = v.Text
	}
	testkit.Is(t, "", cmp.Diff(want, got), d.Host, "at", d.Started)
}

func TestSQLite(t *testing.T) {
	fresh := func(t *testing.T) *Store {
		s := testkit.Must(Make(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "fleet.db")))(t)
		t.Cleanup(func() { s.Close() })
		return s
	}
	contract(t, fresh)
	keeping(t, fresh)
}

// The password goes to no other host in clear text, unless the address says so.
func TestTLS(t *testing.T) {
	for address, tls := range map[string]bool{"postgres://u@db7/x": true, "postgres://u@db7/x?sslmode=disable": false} {
		s := testkit.Must(start(address, os.O_RDWR))(t)
		defer s.Close()
		cfg := s.postgres.Postgres
		clear := cfg.TLSConfig == nil || slices.ContainsFunc(cfg.Fallbacks,
			func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
		if clear == tls {
			t.Errorf("%s: in clear text %v", address, clear)
		}
	}
}
