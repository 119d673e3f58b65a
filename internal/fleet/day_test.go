package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hostlab/internal/check"
)

// dayOf is what assess writes of a day of a ring.
func dayOf(day int, past string) []byte {
	from := time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)
	return fmt.Appendf(nil, `{"kind": "assess", "schema": 4, "host": "db7", "started": %[1]q, "only_service": true, "facts": null, "results": [],
		"service": {"name": "PostgreSQL"}, "time": {"wall": 86400, "active": 200000, "parts": [{"name": "lock", "share": 0.6, "interval": [0.55, 0.66]},
			{"name": "log", "share": 0.1, "interval": [0.2, 0.3]}, {"name": "evil", "share": 1}]},
		"levers": [{"name": "log", "likely": 0.1, "at_most": 0.2, "verdict": "worthwhile"}], "verdict": {"text": "v"},
		"past": {"from": %[1]q, "to": %[2]q, "transaction": 0.007, "working": 2.5, "worst_hour": {"from": %[1]q, "transaction": 0.01, "working": 4}, %[3]s}}`,
		from.Format(time.RFC3339), from.AddDate(0, 0, 1).Format(time.RFC3339), past)
}

// TestDay: a day of a ring says how long a transaction took, where the time went, and whether it is slower; and nothing of the host.
func TestDay(t *testing.T) {
	slower := `"rise_known": true, "rise": {"since": "2026-11-20T02:10:00Z", "ratio": 1.31, "noise": 0.02, "days": 9, "part": "lock"}`
	for past, want := range map[string]Finding{
		slower: {Status: check.Finding,
			Detail: "since 2026-11-20 02:10 UTC, a transaction takes 31 % longer than at this time on 9 days before; most of it is locks"},
		`"rise": null, "rise_known": true`:  {Status: check.OK, Detail: "a transaction takes no longer than at this time on other days"},
		`"rise": null, "rise_known": false`: {Status: check.Unknown, Detail: "too few days are known to compare with"},
	} {
		d, err := Read(dayOf(20, past), "", now)
		if err != nil {
			t.Fatal(err)
		}
		if d.Kind != Day || d.Role != "history:PostgreSQL" || d.Facts != nil || d.Started.Day() != 21 || len(d.Levers) != 1 || len(d.Findings) != 1 {
			t.Fatalf("%+v", d)
		}
		if f := d.Findings[0]; f.Check != "slower:PostgreSQL" || f.Status != want.Status || f.Detail != want.Detail || f.Severity != "medium" {
			t.Errorf("%+v", f)
		}
		values := map[string]float64{}
		for _, m := range d.Measured {
			values[m.Name] = *m.Value
			if has := m.Name == "day.part.lock.PostgreSQL"; has != (m.Low != nil) || has && (*m.Low != 0.55 || *m.High != 0.66) {
				t.Errorf("%+v", m)
			}
		}
		if len(values) != 5 || values["day.transaction.PostgreSQL"] != 0.007 || values["day.worst.PostgreSQL"] != 0.01 ||
			values["day.working.PostgreSQL"] != 2.5 || values["day.part.lock.PostgreSQL"] != 0.6 {
			t.Errorf("%v", values)
		}
	}
	if CheckTitle("slower:PostgreSQL") == CheckTitle("no such check") {
		t.Error("it has no title")
	}
}

// TestSlowed: a service that became slower is named with what changed on its host before, and no other host's.
func TestSlowed(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	list := []Change{{"db7", "slower:PostgreSQL", "ok", "finding", at}, {"db7", "memory.swappiness", "60", "1", at.Add(-3 * time.Hour)},
		{"db8", "kernel.release", "6.1", "6.12", at.Add(-time.Hour)}, {"db7", "kernel.release", "6.1", "6.12", at.AddDate(0, 0, -3)},
		{"db9", "slower:redis", "ok", "finding", at}, {"db9", "slower:x", "finding", "ok", at}}
	slowed := SlowedIn(list)
	if len(slowed) != 2 || len(slowed[0].With) != 1 || slowed[0].Service != "PostgreSQL" {
		t.Fatalf("%+v", slowed)
	}
	if says := slowed[0].Text(); says != "PostgreSQL on db7 became slower than on other days, says its document of 2026-11-21 06:00 UTC. "+
		"Changed there in the day before: memory.swappiness (60 to 1)." {
		t.Error(says)
	}
	if says := slowed[1].Text(); !strings.HasSuffix(says, "Nothing else is known to have changed there in the day before.") {
		t.Error(says)
	}
}
