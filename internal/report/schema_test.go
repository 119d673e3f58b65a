package report

import (
	"reflect"
	"strings"
	"testing"

	"hostlab/internal/chain"
	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/testkit/schemas"
)

// facts adds what JSON shows of each fact that a type holds.
func facts(of reflect.Type, into map[reflect.Type]any) {
	switch {
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice, of.Kind() == reflect.Map:
		facts(of.Elem(), into)
	case strings.HasPrefix(of.Name(), "Fact["):
		value, _ := of.FieldByName("Value")
		field := func(name string, of reflect.Type, tag string) reflect.StructField {
			return reflect.StructField{Name: name, Type: of, Tag: reflect.StructTag(`json:"` + tag + `"`)}
		}
		text := reflect.TypeFor[string]()
		into[of] = reflect.New(reflect.StructOf([]reflect.StructField{field("Value", reflect.PointerTo(value.Type), "value"),
			field("Unit", text, "unit,omitempty"), field("Source", text, "source"), field("State", reflect.TypeFor[host.State](), "state"),
			field("Reason", text, "reason,omitempty")})).Elem().Interface()
		facts(value.Type, into)
	case of.Kind() == reflect.Struct && strings.HasPrefix(of.PkgPath(), "hostlab/"):
		for f := range of.Fields() {
			facts(f.Type, into)
		}
	}
}

// docs/schema/assess.schema.json describes what WriteJSON writes.
func TestSchemaFile(t *testing.T) {
	type plainEstimate result.Estimate // without its own JSON, which is null where it is unknown
	type measured struct {
		Probe      string          `json:"probe"`
		Kind       result.Kind     `json:"kind"`
		Name       string          `json:"name"`
		Title      string          `json:"title"`
		Value      *float64        `json:"value"`
		Unit       string          `json:"unit"`
		Low        *float64        `json:"low"`
		High       *float64        `json:"high"`
		N          int             `json:"n"`
		NoiseFloor *float64        `json:"noise_floor"`
		Evidence   result.Evidence `json:"evidence"`
		Labels     result.Labels   `json:"labels,omitzero"`
		Warnings   []string        `json:"warnings,omitempty"`
		Reason     string          `json:"reason,omitempty"`
	}
	type end struct {
		Part explain.PartName `json:"part"`
		chain.End
		Seconds float64 `json:"s"`
	}
	shapes := map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}, reflect.TypeFor[chain.Shares](): []end{},
		reflect.TypeFor[result.Measurement](): measured{}, reflect.TypeFor[result.Labels](): map[string]string{}}
	facts(reflect.TypeFor[host.Facts](), shapes)
	var verdicts []any
	for _, v := range lever.Verdicts {
		verdicts = append(verdicts, v)
	}
	schemas.Schema{Title: "hostlab assess --format json",
		Description: "What one run of hostlab assess learned. Values are in base units; what is not known is null.",
		Forms:       []any{Assessment{Kind: Kind, Schema: Schema}}, Unknown: true, Shapes: shapes,
		Words: map[reflect.Type][]any{reflect.TypeFor[lever.Verdict](): verdicts,
			reflect.TypeFor[lever.Reason](): {"", lever.BoundedHere, lever.NotSeen, lever.FewSamples,
				lever.Costs, lever.NoEffect, lever.Recommended, lever.Settled, lever.Untested, lever.OtherRole,
				lever.Elsewhere, lever.NoSiblings, lever.Spoilt, lever.Evicted, lever.Inverted, lever.Slight,
				lever.TooFew, lever.Unfloored, lever.Rising, lever.WithinNoise, lever.IncludesOne, lever.Diluted,
				lever.NoControl, lever.NoCause, lever.Capped, lever.OfJob, lever.InMemory, lever.Implausible},
			reflect.TypeFor[check.Severity](): {check.Info, check.Low, check.Medium, check.High},
			reflect.TypeFor[check.Status]():   {check.OK, check.Finding, check.Accepted, check.NotApplicable, check.Unknown}},
	}.Equal(t, "assess.schema.json")
}
