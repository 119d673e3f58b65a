package experiment

import (
	"iter"
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
func (s *Study) Variants() iter.Seq[workload.Params] {
	return func(yield func(workload.Params) bool) {
		if s.Workload.Params == nil || !yield(s.Workload.Params) {
			return
		}
		d := s.description()
		for _, f := range s.Factors {
			_, ok := d.Param(f.Parameter)
			if f.Kind != KindParameter || f.Directories != nil || !ok {
				continue
			}
			for _, level := range f.Levels {
				if varied, err := workload.With(s.Workload.Params, f.Parameter, level); err == nil && !yield(varied) {
					return // the study was checked
				}
			}
		}
	}
}

// Outside says what the study's workload would do on something of the user's that is
// neither this host's nor the workload's own (workload.Workload), at any level of its
// parameters: a phrase each, without doubles. nil: nothing.
func (s *Study) Outside() (deeds []string) {
	if s.Work != nil {
		for p := range s.Variants() {
			if deed := s.Work.Outside(p); deed != "" && !slices.Contains(deeds, deed) {
				deeds = append(deeds, deed)
			}
		}
	}
	return deeds
}
