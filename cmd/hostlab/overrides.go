package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/experiment"
)

// overrideFlags are the flags that change a study, for the commands that read one.
type overrideFlags struct {
	blocks int
	seed   string
	set    []string
}

func (o *overrideFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.blocks, "blocks", 0, "exactly `N` blocks, in place of the study's looks")
	cmd.Flags().StringVar(&o.seed, "seed", "", "`number` that the random order follows from, in place of the study's")
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "`KEY=VALUE`: workload.KEY (a key of [workload] or a parameter), or level.NAME=DIRECTORY; may be given again")
}

func (o *overrideFlags) overrides(cmd *cobra.Command) (experiment.Overrides, error) {
	var out experiment.Overrides
	if cmd.Flags().Changed("blocks") {
		if o.blocks < 1 {
			return out, usagef("--blocks %d: expected 1 or more", o.blocks)
		}
		out.Blocks = o.blocks
	}
	if cmd.Flags().Changed("seed") {
		n, err := strconv.ParseUint(o.seed, 10, 64)
		if err != nil {
			return out, usagef("--seed %q: expected a whole number from 0 to %d", o.seed, uint64(1<<64-1))
		}
		out.Seed = &n
	}
	for _, s := range o.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return out, usagef("--set %q: expected workload.KEY=VALUE", s)
		}
		if key = strings.TrimSpace(key); out.Set == nil {
			out.Set = map[string]string{}
		}
		if _, twice := out.Set[key]; twice {
			return out, usagef("--set %s is given twice", key)
		}
		out.Set[key] = value
	}
	return out, nil
}
