package experiment

import (
	"maps"
	"slices"

	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// Outside says what the study's workload would do on something of the user's that is
// neither this host's nor the workload's own (workload.Outside), at any level of its
// parameters: a phrase each, without doubles. nil: nothing.
func (s *Study) Outside() (deeds []string) {
	w, ok := all.Find(s.Workload.Name)
	if !ok {
		return nil
	}
	o, ok := w.(workload.Outside)
	if !ok || s.Workload.Params == nil {
		return nil
	}
	add := func(p workload.Values) {
		if deed := o.Outside(p); deed != "" && !slices.Contains(deeds, deed) {
			deeds = append(deeds, deed)
		}
	}
	add(s.Workload.Params)
	for _, f := range s.Factors {
		p, ok := w.Describe().Param(f.Parameter)
		if f.Kind != "parameter" || !ok {
			continue
		}
		for _, level := range f.Levels {
			if v, err := workload.ParseText(p, level); err == nil {
				values := maps.Clone(s.Workload.Params)
				values[p.Name] = v
				add(values)
			}
		}
	}
	return deeds
}
