package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

// Days of a service's ring are drawn on its host's page, and a service that became slower is named with what changed on its host.
func TestDays(t *testing.T) {
	s := opened(t)
	var docs []*fleet.Document
	put := func(text string) {
		docs = append(docs, testkit.Must(fleet.Read([]byte(text), "db001", now))(t))
	}
	for day := range 5 {
		at, rise := now.Add(time.Duration(day-5)*24*time.Hour), "null"
		if day == 4 {
			rise = `{"since": "2026-11-20T02:10:00Z", "ratio": 1.31, "noise": 0.02, "days": 9, "part": "lock"}`
		}
		put(fmt.Sprintf(`{"kind": "assess", "schema": 4, "host": "db001", "started": %[1]q, "service": {"name": "PostgreSQL"},
			"time": {"wall": 86400, "active": 200000, "parts": [{"name": "lock", "share": 0.%[3]d, "interval": [0.1, 0.65]}]}, "verdict": {"text": "v"},
			"past": {"from": %[1]q, "to": %[2]q, "transaction": 0.00%[3]d, "working": 2.5, "worst_hour": {"from": %[1]q, "transaction": 0.01},
			"rise_known": true, "rise": %[4]s}}`, at.Format(time.RFC3339), at.Add(24*time.Hour).Format(time.RFC3339), 2+day, rise))
	}
	for i, value := range []string{"60", "1"} {
		put(fmt.Sprintf(`{"kind": "facts", "schema": 1, "started": %q, "host": "db001", "memory": {"swap_tendency": {"value": %s, "state": "ok"}}}`,
			now.Add(time.Duration(i-5)*time.Hour).Format(time.RFC3339), value))
	}
	if n := testkit.Must(s.Put(t.Context(), docs, "test", now))(t); n != len(docs) {
		t.Fatalf("%d documents", n)
	}
	web := serving(t, Config{Store: s})
	_, page := get(t, web.URL+"/hosts/db001")
	for _, want := range []string{"<h3>Time of a transaction</h3>", "PostgreSQL, worst hour", "<h3>Where the time of PostgreSQL went</h3>",
		"slower:PostgreSQL", "A service takes longer than on other days", "most of it is locks", "2.00 ms at first, 6.00 ms at last", "60 % at last", "60 % [10 %, 65 %]"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the host's page", want)
		}
	}
	_, page = get(t, web.URL+"/changes?since=7d")
	for _, want := range []string{"PostgreSQL on db001 became slower than on other days", "memory.swap_tendency (60 to 1)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q among the changes", want)
		}
	}
}
