package main

import (
	"context"

	"hostlab/internal/experiment"
	"hostlab/internal/workload"
)

// needs looks for the programs that a study's workload takes at any of its levels. The
// error is one line, and says which parameter asks for what is missing.
func needs(ctx context.Context, st *experiment.Study) error {
	n, ok := st.Work.(workload.Needing)
	if !ok {
		return nil
	}
	for p := range st.Variants() {
		if err := n.Needs(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
