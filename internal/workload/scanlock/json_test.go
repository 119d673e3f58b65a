package scanlock

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
	"hostlab/internal/testkit/schemas"
)

// docs/schema/scanlock.schema.json describes Data as JSON.
func TestSchema(t *testing.T) {
	schemas.Schema{Title: "hostlab workload scanlock --format json",
		Description: "What threads that take a lock and threads that scan memory did in one run. Rates are per second of seconds. " +
			"What is not known is null; what a thread of its role does not do is 0.",
		Forms: []any{Data{Kind: "scanlock", Schema: Schema}}, Unknown: true,
		Words: map[reflect.Type][]any{reflect.TypeFor[Role](): {Lock, Scan},
			reflect.TypeFor[result.Evidence](): {result.Measured},
			reflect.TypeFor[cpus.Place]():      {cpus.Sibling, cpus.Core, cpus.LLC, cpus.Socket, cpus.Unknown}},
	}.Equal(t, "scanlock.schema.json")
	published := NewData(publishedPlan(t), Result{Total: Between(publishedPlan(t), Snapshot{}, publishedRun())})
	idle := publishedRun()
	for i := range idle.Counts {
		idle.Counts[i] = Count{Thread: idle.Counts[i].Thread, HasCPU: true, HasWaited: true}
	}
	for name, d := range map[string]Data{
		"published": published,
		"cut short": NewData(publishedPlan(t), Result{Interrupted: true, Total: Between(publishedPlan(t), Snapshot{},
			publishedRun())}),
		"idle": NewData(publishedPlan(t), Result{Total: Between(publishedPlan(t), Snapshot{}, idle)}),
	} {
		d.Tool, d.Host, d.Started = "hostlab", "made", time.Unix(0, 0).UTC()
		var b bytes.Buffer
		testkit.OK(t, document.WriteJSON(&b, d))
		conform.To(t, "scanlock.schema.json", b.Bytes(), name)
	}
}
