package experiment

import (
	"hostlab/internal/emulate"
	"hostlab/internal/setting"
	"hostlab/internal/workload/all"
)

// everything is what the program knows.
func everything() Known {
	return Known{Workloads: all.Workloads(), Policy: emulate.Check, Setting: func(typed string) (string, error) {
		s, err := setting.Named(typed)
		return s.Name, err
	}}
}
