package experiment

import (
	"iter"
	"maps"
	"slices"

	"hostlab/internal/workload"
)

// description is that of the study's workload; of none, it is empty.
func (s *Study) description() (d workload.Description) {
	if s.Work != nil {
		d = s.Work.Describe()
	}
	return d
}

// Variants yields the workload's parameters, and then those with each level of each factor
// that is one of them.
func (s *Study) Variants() iter.Seq[workload.Values] {
	return func(yield func(workload.Values) bool) {
		if s.Workload.Params == nil || !yield(s.Workload.Params) {
			return
		}
		d := s.description()
		for _, f := range s.Factors {
			p, ok := d.Param(f.Parameter)
			if f.Kind != KindParameter || f.Directories != nil || !ok {
				continue
			}
			for _, level := range f.Levels {
				v, err := workload.ParseText(p, level)
				if err != nil {
					continue // the study was checked
				}
				values := maps.Clone(s.Workload.Params)
				if values[p.Name] = v; !yield(values) {
					return
				}
			}
		}
	}
}

// Outside says what the study's workload would do on something of the user's that is
// neither this host's nor the workload's own (workload.Outside), at any level of its
// parameters: a phrase each, without doubles. nil: nothing.
func (s *Study) Outside() (deeds []string) {
	if o, ok := s.Work.(workload.Outside); ok {
		for p := range s.Variants() {
			if deed := o.Outside(p); deed != "" && !slices.Contains(deeds, deed) {
				deeds = append(deeds, deed)
			}
		}
	}
	return deeds
}
