package fleet

import (
	"reflect"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/testkit"
)

// docs/schema/fleet.schema.json describes what the commands of fleet write as JSON.
func TestSchema(t *testing.T) {
	rolled := func(kind string) document.Head { return document.Head{Kind: kind, Schema: rollout.Schema} }
	testkit.Schema{Title: "Output of hostlab fleet with --format json",
		Description: "One form a command. Values are in base units; what is not known is null.",
		Forms: []any{Summary{Head: HeadOf("status")}, HostList{Head: HeadOf("hosts")}, OutlierList{Head: HeadOf("outliers")},
			DiffReport{Head: HeadOf("diff")}, CheckReport{Head: HeadOf("check")}, ChangeList{Head: HeadOf("changes")},
			ExceptionList{Head: HeadOf("exceptions")}, PoolReport{Head: HeadOf("pool")}, Report{Head: HeadOf("report")},
			rollout.Plan{Kind: rollout.Kind, Schema: rollout.Schema}, rollout.StatusReport{Head: rolled("rollout-status")},
			rollout.GateReport{Head: rolled("rollout-gate")}}, Words: map[reflect.Type][]any{
			reflect.TypeFor[check.Status]():    {check.OK, check.Finding, check.Accepted, check.NotApplicable, check.Unknown},
			reflect.TypeFor[rollout.Verdict](): {rollout.Harm, rollout.Better, rollout.NoHarm, rollout.Undecided},
			reflect.TypeFor[rollout.Policy]():  {rollout.UnlessHarm, rollout.OnlyIfBetter},
			reflect.TypeFor[rollout.State](): {rollout.Waiting, rollout.Has, rollout.Same, rollout.Drifted, rollout.Reverted,
				rollout.Had},
		}}.Equal(t, "fleet.schema.json")
}
