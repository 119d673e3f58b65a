package runner

import (
	"strings"
	"testing"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/workload"
)

// The server that is changed is the one that the workload watches.
func TestServerOfEnvironment(t *testing.T) {
	t.Setenv("HOSTLAB_DSN", "host=/nowhere port=1 user=watched dbname=x")
	params := workload.Values{"service": "auto", "dsn": ""}
	d, err := serverOf(t.Context(), params)
	if err != nil || !strings.Contains(d.Target(), "/nowhere") {
		t.Fatalf("%v, %v", d, err)
	}
	st := &experiment.Study{Harm: &experiment.Harm{}, Workload: experiment.Workload{Params: params}}
	if text, err := Service(t.Context(), st, ""); err != nil || text != d.Target() {
		t.Errorf("%q, %v", text, err)
	}
	m := &emulation{method: emulate.Method("stop")}
	if err := m.start(t.Context(), st); err == nil || !strings.Contains(err.Error(), "does not tell whose processes") {
		t.Errorf("%v", err)
	}
}
