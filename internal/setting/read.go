package setting

import "fmt"

// here returns the objects of a setting. The error says why there are none.
func (s Setting) here(sys *System) ([]Object, error) {
	if sys.Missing != nil {
		return nil, sys.Missing
	}
	return s.objects(sys)
}

// Read returns the state of each object. No objects: the host has no such knob, and
// the error says why.
func (s Setting) Read(sys *System) ([]State, error) {
	objects, err := s.here(sys)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("this host has no %s", s.Name)
	}
	states := make([]State, len(objects))
	for i, o := range objects {
		states[i].Object = o
		v, err := s.read(sys, o)
		if err != nil {
			states[i].Problem = unreadable(o, err)
			continue
		}
		states[i].Value = v
		if s.levels != nil {
			// Levels that cannot be listed do not keep the value from being shown.
			states[i].Levels, _ = s.levels(sys, o)
		}
	}
	return states, nil
}
