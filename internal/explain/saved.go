package explain

import (
	"encoding/json"
	"errors"
	"fmt"

	"hostlab/internal/result"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PartName) UnmarshalText(text []byte) error {
	*p = Named(string(text))
	return nil
}

// Read reads a report of JSON. In schemas 1 and 2 a share was a number, with its ends
// beside it; what a gain of schema 1 had more is of no use here.
func Read(b []byte) (*Report, error) {
	var r Report
	old := struct {
		*Report
		Parts []struct {
			Part
			Share     float64 `json:"share"`
			Low, High float64
		} `json:"parts"`
		Events []struct {
			Event
			Share     float64 `json:"share"`
			Low, High float64
		} `json:"events"`
	}{Report: &r}
	var schema struct{ Schema int }
	err := json.Unmarshal(b, &schema)
	if err == nil && schema.Schema < Schema {
		err = json.Unmarshal(b, &old)
	} else if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("not JSON: %w at byte %d", err, e.Offset)
	}
	switch {
	case schema.Schema > Schema:
		return nil, fmt.Errorf("a recording of schema %d; this hostlab knows 1 to %d", schema.Schema, Schema)
	case err != nil:
		return nil, fmt.Errorf("not a recording of explain: %w", err)
	}
	for _, p := range old.Parts {
		p.Part.Share = result.Estimate{Value: p.Share, Low: p.Low, High: p.High}
		r.Parts = append(r.Parts, p.Part)
	}
	for _, e := range old.Events {
		e.Event.Share = result.Estimate{Value: e.Share, Low: e.Low, High: e.High}
		r.Events = append(r.Events, e.Event)
	}
	switch {
	case r.Schema == 0 || r.Parts == nil && old.Parts == nil || r.Vendor == "":
		return nil, errors.New("not a recording of 'hostlab explain --save': it has no schema, vendor or parts")
	case !(r.Elapsed >= 0) || !(r.Busy >= 0) || r.Busy > r.Elapsed*(1+1e-9):
		return nil, errors.New("its elapsed and busy times contradict each other")
	}
	r.Bounds = Bounds(&r)
	return &r, nil
}
