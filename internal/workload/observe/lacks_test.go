package observe

import (
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// Of a service that is no database, it is known beforehand which responses never come.
func TestLacks(t *testing.T) {
	page := map[string]any{"url": "https://h/", "histogram": "took"}
	for _, c := range []struct {
		name  string
		given map[string]any
		why   string // "": it may come
	}{
		{"elapsed_per_transaction", nil, "only a database's sessions"},
		{"elapsed_per_transaction", page, "only a database's sessions"},
		{"cpu_per_transaction", nil, "does not count transactions"},
		{"cpu_per_transaction", page, ""},
		{"cpu_s", nil, ""},
		{"queue_s", nil, ""},
		{"latency_p99", nil, "url and histogram"},
		{"latency_p99", page, ""},
		{"latency", page, "a command"},
		{"latency", map[string]any{"latency": []string{"echo", "1"}}, ""},
		{"arrivals", nil, "does not count transactions"},
		{"arrivals", page, ""},
		{"energy_op_j", nil, ""}, // the runner's own
	} {
		p := testkit.Must(workload.Check(Workload{}.Describe(), c.given))(t)
		if why := Lacks(p.(*Params), c.name); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s with %v: %q, want %q", c.name, c.given, why, c.why)
		}
	}
}
