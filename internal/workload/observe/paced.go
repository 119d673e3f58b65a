package observe

import (
	"time"

	"hostlab/internal/workload"
)

func (Workload) Takes(params workload.Params, block int) time.Duration {
	p := params.(*Params)
	long, short := p.For.Duration, p.Short.Duration
	if block < first && short > 0 {
		return min(short, long)
	}
	return long
}
