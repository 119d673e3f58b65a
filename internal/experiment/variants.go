package experiment

import (
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

// Variants lists the workload's parameters, and then those with each level of each factor
// that is one of them.
func (s *Study) Variants() (list []workload.Params) {
	if s.Workload.Params == nil {
		return nil
	}
	list = append(list, s.Workload.Params)
	d := s.description()
	for _, f := range s.Factors {
		_, ok := d.Param(f.Parameter)
		if f.Kind != KindParameter || f.Directories != nil || !ok {
			continue
		}
		for _, level := range f.Levels {
			if varied, err := workload.With(s.Workload.Params, f.Parameter, level); err == nil { // the study was checked
				list = append(list, varied)
			}
		}
	}
	return list
}

// Outside says what the study's workload would do on something of the user's that is
// neither this host's nor the workload's own (workload.Workload), at any level of its
// parameters: a phrase each, without doubles. nil: nothing.
func (s *Study) Outside() (deeds []string) {
	if s.Work != nil {
		for _, p := range s.Variants() {
			if deed := s.Work.Outside(p); deed != "" && !slices.Contains(deeds, deed) {
				deeds = append(deeds, deed)
			}
		}
	}
	return deeds
}
