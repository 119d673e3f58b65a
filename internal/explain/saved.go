package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hostlab/internal/document"
	"hostlab/internal/result"
)

// Write writes the report as a JSON document, as docs/schema/explain.schema.json
// describes it. It is also the file that is saved and compared.
func (r *Report) Write(w io.Writer) error { return document.WriteJSON(w, r.Complete()) }

// Complete returns a report whose lists are empty where they are nil.
func (r *Report) Complete() *Report {
	d := *r
	d.Parts, d.Events, d.Bounds = result.OrEmpty(d.Parts), result.OrEmpty(d.Events), result.OrEmpty(d.Bounds)
	d.Log.Stretches = result.OrEmpty(d.Log.Stretches)
	d.Missing, d.Warnings = result.OrEmpty(d.Missing), result.OrEmpty(d.Warnings)
	return &d
}

// Read reads what Write has written.
func Read(b []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("not JSON: %w at byte %d", err, e.Offset)
		}
		return nil, fmt.Errorf("not a recording of explain: %w", err)
	}
	switch {
	case r.Schema == 0 || r.Parts == nil || r.Vendor == "":
		return nil, errors.New("not a recording of 'hostlab explain --save': it has no schema, vendor or parts")
	case r.Schema > 2: // 1 had the source of a gain within it, which is of no use here
		return nil, fmt.Errorf("a recording of schema %d; this hostlab knows 1 and 2", r.Schema)
	case !(r.Elapsed >= 0) || !(r.Busy >= 0) || r.Busy > r.Elapsed*(1+1e-9):
		return nil, errors.New("its elapsed and busy times contradict each other")
	}
	return &r, nil
}

// Change is a part or an event before and after.
type Change struct {
	Name, Part    string
	Before, After float64 // share of busy time; of elapsed for Idle
	// PerBefore and PerAfter are seconds a transaction; nil: not known.
	PerBefore, PerAfter *float64
}

// Comparison is two recordings side by side.
type Comparison struct {
	Before, After *Report
	Parts, Events []Change
	Warnings      []string
}

// Compare puts two recordings side by side: shares of busy time, and where
// transactions were counted, seconds a transaction, which alone says whether something
// has become faster.
func Compare(before, after *Report) *Comparison {
	c := &Comparison{Before: before, After: after}
	for _, name := range PartNames {
		b, a := before.Part(name), after.Part(name)
		if name != Idle && (b.Seconds > 0 || a.Seconds > 0) {
			c.Parts = append(c.Parts, change(name.Title(), "", b.Seconds, a.Seconds, before, after))
		}
	}
	seen := map[string]bool{}
	for _, e := range append(append([]Event{}, before.Events...), after.Events...) {
		key := string(e.Part) + "/" + e.Name
		if seen[key] || e.Part == Idle {
			continue
		}
		seen[key] = true
		c.Events = append(c.Events, change(e.Name, string(e.Part), before.event(e), after.event(e), before, after))
	}
	if before.Vendor != after.Vendor || before.Version != after.Version {
		c.Warnings = append(c.Warnings, fmt.Sprintf("different servers: %s %s before, %s %s after", before.Vendor, before.Version, after.Vendor, after.Version))
	}
	if before.Target != after.Target {
		c.Warnings = append(c.Warnings, fmt.Sprintf("different targets: %s before, %s after", before.Target, after.Target))
	}
	for _, r := range []struct {
		name string
		*Report
	}{{"the recording before", before}, {"the recording after", after}} {
		if r.Ended != "" {
			c.Warnings = append(c.Warnings, r.name+" ended early: "+r.Ended)
		}
		if r.Busy == 0 {
			c.Warnings = append(c.Warnings, "in "+r.name+" nothing ran")
		}
	}
	return c
}

func (r *Report) event(e Event) float64 {
	for _, x := range r.Events {
		if x.Name == e.Name && x.Part == e.Part {
			return x.Seconds
		}
	}
	return 0
}

func change(name, part string, b, a float64, before, after *Report) Change {
	c := Change{Name: name, Part: part}
	if before.Busy > 0 {
		c.Before = b / before.Busy
	}
	if after.Busy > 0 {
		c.After = a / after.Busy
	}
	if before.Transactions > 0 {
		c.PerBefore = result.Finite(b / float64(before.Transactions))
	}
	if after.Transactions > 0 {
		c.PerAfter = result.Finite(a / float64(after.Transactions))
	}
	return c
}
