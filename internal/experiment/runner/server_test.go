package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/testkit"
	"hostlab/internal/workload/observe"
)

// The server that is changed is the one that the workload watches.
func TestServerOfEnvironment(t *testing.T) {
	t.Setenv("HOSTLAB_DSN", "host=/nowhere port=1 user=watched dbname=x")
	params := &observe.Params{Service: "auto"}
	d, err := serverOf(t.Context(), params)
	if err != nil || !strings.Contains(d.Target(), "/nowhere") {
		t.Fatalf("%v, %v", d, err)
	}
	st := &experiment.Study{Harm: &experiment.Harm{}, Workload: experiment.Workload{Params: params}}
	testkit.Is(t, d.Target(), testkit.Must(Service(t.Context(), st, ""))(t))
	m := &emulation{}
	testkit.Fails(t, m.start(t.Context(), st), "does not tell whose processes")
}

// What decides and can never come is refused before the first period: of a program, only what a database's sessions
// tell.
func TestTells(t *testing.T) {
	for _, c := range []struct{ name, harm, want string }{
		{"elapsed_per_transaction", "elapsed_per_transaction", "elapsed_per_transaction decides, and"},
		{"cpu_per_transaction", "cpu_per_transaction", "url and histogram"},
		{"cpu_s", "elapsed_per_transaction", "nothing would say that the service is harmed"},
		{"cpu_s", "cpu_s", ""},
	} {
		also := ""
		if c.harm != c.name {
			also = fmt.Sprintf("[[response]]\nname = %q\nprimary = false\n", c.harm)
		}
		st := parse(t, t.TempDir(), fmt.Sprintf(`[study]
name = "x"
[[factor]]
name = "thp"
setting = "thp"
levels = ["current", "always"]
[workload]
name = "observe"
service = "pid:%d"
[[response]]
name = %q
primary = true
%s[harm]
responses = [%q]
`, os.Getpid(), c.name, also, c.harm))
		err := tells(t.Context(), st)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.harm, err)
		}
	}
}
