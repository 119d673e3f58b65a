package main

import (
	"context"
	"maps"

	"hostlab/internal/experiment"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// needs looks for the programs that a study's workload takes at any of its levels. The
// error is one line, and says which parameter asks for what is missing.
func needs(ctx context.Context, st *experiment.Study) error {
	w, _ := all.Find(st.Workload.Name)
	n, ok := w.(workload.Needing)
	if !ok {
		return nil
	}
	if err := n.Needs(ctx, st.Workload.Params); err != nil {
		return err
	}
	for _, f := range st.Factors {
		param, known := w.Describe().Param(f.Parameter)
		if f.Kind != "parameter" || f.Directories != nil || !known {
			continue
		}
		for _, level := range f.Levels {
			v, err := workload.ParseText(param, level)
			if err != nil {
				continue // the study was checked
			}
			p := maps.Clone(st.Workload.Params)
			p[param.Name] = v
			if err := n.Needs(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}
