package effects

import (
	"reflect"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// docs/schema/report.schema.json describes what WriteJSON writes.
func TestSchemaFile(t *testing.T) {
	type unknownSection struct {
		Name string `json:"name"`
	}
	type plainEstimate result.Estimate // without its own JSON, which is null where it is unknown
	testkit.Schema{Title: "hostlab report --format json",
		Description: "Effects of one experiment or of several. Values are in base units; what is not known is null.",
		Forms:       []any{data{Kind: Kind, Schema: Schema}}, Unknown: true,
		Words: map[reflect.Type][]any{reflect.TypeFor[analysis.Verdict](): {analysis.CostsMore, analysis.CostsLess, analysis.NoEffect, analysis.Unresolved,
			analysis.Inconclusive},
			reflect.TypeFor[result.Evidence]():   {result.Measured, result.Emulated, result.Simulated},
			reflect.TypeFor[result.Comparison](): {result.Ratio, result.Difference},
			reflect.TypeFor[result.DesignKind](): {result.RCBD, result.SplitPlot, result.Switchback},
			reflect.TypeFor[result.Change]():     {result.Online, result.RestartWorkload, result.Reboot, result.Manual}},
		Any:    []any{analysis.LogDevice{}, analysis.Siblings{}, cross{}, unknownSection{}},
		Shapes: map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}},
	}.Equal(t, "report.schema.json")
}
