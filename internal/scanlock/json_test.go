package scanlock

import (
	"bytes"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	threads "hostlab/internal/workload/scanlock"
)

// docs/schema/scanlock.schema.json describes what Write writes, and refuses what it
// does not.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/scanlock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(d Document) error {
		d.Tool, d.Host, d.Started = "hostlab", "made", time.Unix(0, 0).UTC()
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	seed := NewDocument(seedPlan(t), Result{Total: Between(seedPlan(t), threads.Snapshot{}, seedRun())})
	timed := seedRun()
	timed.Waits = make([]uint64, len(threads.WaitEdges()))
	timed.Waits[7] = 12
	idle := seedRun()
	for i := range idle.Counts {
		idle.Counts[i] = threads.Count{Thread: idle.Counts[i].Thread, HasCPU: true, HasWaited: true}
	}
	for name, d := range map[string]Document{
		"seed":  seed,
		"timed": NewDocument(seedPlan(t), Result{Interrupted: true, Total: Between(seedPlan(t), threads.Snapshot{}, timed)}),
		"idle":  NewDocument(seedPlan(t), Result{Total: Between(seedPlan(t), threads.Snapshot{}, idle)}),
	} {
		if err := valid(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	seed.Threads[0].Role = "own"
	if valid(seed) == nil {
		t.Error("an unknown role is not refused")
	}
}
