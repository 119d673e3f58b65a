package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

// TestNewPlan: a plan that came while the server runs is on the next page, though no host wrote.
func TestNewPlan(t *testing.T) {
	s := opened(t)
	web := serving(t, Config{Store: s})
	for range 2 {
		if _, page := get(t, web.URL+"/rollouts?format=json"); strings.Count(page, `"sha256"`) != 1 {
			t.Fatal(page)
		}
	}
	later := *change
	later.Created = change.Created.Add(time.Hour)
	body := testkit.Must(json.Marshal(&later))(t)
	d := testkit.Must(fleet.Read(body, "", now))(t)
	if n, err := s.Put(t.Context(), []*fleet.Document{d}, "plan", now); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, url := range []string{"/rollouts?format=html", "/rollouts?format=json"} {
		if _, page := get(t, web.URL+url); !strings.Contains(page, d.Hash) {
			t.Errorf("%s does not have the plan", url)
		}
	}
	if a, _ := get(t, web.URL+"/rollouts/"+d.Hash); a.StatusCode != http.StatusOK {
		t.Errorf("its page: %d", a.StatusCode)
	}
}

// TestRemediesOfHost: a remedy of several lines is one block of code on its host's page, a line each, as it is on its
// check's.
func TestRemediesOfHost(t *testing.T) {
	s := opened(t)
	const remedy = "timedatectl show -p NTP -p NTPSynchronized\nchronyc tracking # with chrony, and rtcsync\necho 1 | " +
		"sudo tee /sys/devices/system/cpu/cpu0/cpuidle/state3/disable"
	var doc map[string]any
	testkit.OK(t, json.Unmarshal(assessment("evil", "x", now.Add(-time.Hour)), &doc))
	doc["results"].([]any)[1].(map[string]any)["remedy"] = remedy
	body := testkit.Must(json.Marshal(doc))(t)
	d := testkit.Must(fleet.Read(body, "evil", now))(t)
	testkit.Must(s.Put(t.Context(), []*fleet.Document{d}, "test", now))(t)
	web := serving(t, Config{Store: s})
	if _, page := get(t, web.URL+"/hosts/evil?format=html"); !strings.Contains(page, "<code>"+remedy+"</code>") ||
		strings.Count(page, "chronyc") != 1 {
		t.Error("the host's page has no block of the remedy's lines")
	}
	table := &document.Table{Columns: document.Headings("check", "problem")}
	for _, id := range []string{"SMT-001", "KRN-010"} {
		table.Row(id, "x")
	}
	if b := remedyBlocks(table, map[string]string{"SMT-001": "hostlab assess", "KRN-010": "grep -r . /sys\n# newer"}); len(b) != 1 ||
		b[0].Line != "# newer" {
		t.Errorf("%q: commands that only look are no remedies", b)
	}
	var data hostJSON
	if _, text := get(t, web.URL+"/hosts/evil?format=json"); json.Unmarshal([]byte(text), &data) != nil ||
		data.Remedies["MEM-006"] != remedy {
		t.Errorf("%q", data.Remedies)
	}
}

// Exceptions that change hold at once, on hosts that have written nothing since, and so does their end.
func TestExceptionsChange(t *testing.T) {
	var now atomic.Pointer[[]check.Exception]
	now.Store(new([]check.Exception))
	web := serving(t, Config{Exceptions: func() []check.Exception { return *now.Load() }})
	const reason = "our benches page on purpose"
	for _, list := range [][]check.Exception{nil, {{Check: "MEM-006", Host: "db*", Reason: reason, Until: "2027-01-01"}},
		nil} {
		now.Store(&list)
		for _, path := range []string{"/exceptions", "/checks/MEM-006?format=json"} {
			if _, body := get(t, web.URL+path); strings.Contains(body, reason) != (list != nil) {
				t.Errorf("%s with %d exceptions: the reason stands there: %v", path, len(list), list == nil)
			}
		}
	}
}
