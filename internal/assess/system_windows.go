package assess

import (
	"context"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/watch"
)

// leastLook is the least time between two looks at the clock: performance counters are means of a second.
const leastLook = time.Second

// requested is what Windows asks for.
const requested = "% of Maximum Frequency"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted; Intel VTune and AMD uProf show them"

func openSampler(host.Tree) (sampler, error) { return watch.OpenCounters(context.Background(), "") }
