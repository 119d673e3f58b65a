package explain

import (
	"encoding/json"
	"errors"
	"fmt"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PartName) UnmarshalText(text []byte) error {
	*p = Named(string(text))
	return nil
}

// Read reads a report of JSON.
func Read(b []byte) (*Report, error) {
	var r Report
	var head struct{ Schema int }
	err := json.Unmarshal(b, &head)
	if err == nil && head.Schema == Schema {
		err = json.Unmarshal(b, &r)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("not JSON: %w at byte %d", err, e.Offset)
	}
	switch {
	case head.Schema != Schema && head.Schema != 0:
		return nil, fmt.Errorf("a recording of schema %d; this hostlab knows %d", head.Schema, Schema)
	case err != nil:
		return nil, fmt.Errorf("not a recording of explain: %w", err)
	case r.Parts == nil || r.Vendor == "":
		return nil, errors.New("not a recording of 'hostlab explain --save': it has no schema, vendor or parts")
	case !(r.Elapsed >= 0) || !(r.Busy >= 0) || r.Busy > r.Elapsed*(1+1e-9) || !(r.Untold >= 0):
		return nil, errors.New("its elapsed and busy times contradict each other")
	}
	return &r, nil
}
