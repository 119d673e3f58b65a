package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"hostlab/internal/proc"
)

// Alpha gives the 95 % intervals of all probes.
const Alpha = 0.05

// BusyShare is the part of the CPUs' time that others may take during a probe
// before the report says so.
const BusyShare = 0.05

// Run runs one probe. Only cancellation is an error: a probe that breaks is
// reported in its outcome, and the others go on.
func Run(ctx context.Context, pr Probe, cfg Config) (Outcome, error) {
	others := proc.Watch(cfg.CPUs)
	out, err := pr.Run(ctx, cfg)
	if ctx.Err() != nil {
		// Probes join what they could not clean up to the context's error.
		var several interface{ Unwrap() []error }
		if errors.As(err, &several) {
			for _, e := range several.Unwrap() {
				if !errors.Is(e, ctx.Err()) {
					return out, fmt.Errorf("%w; %w", ctx.Err(), e)
				}
			}
		}
		return out, ctx.Err()
	}
	if err != nil {
		out.Failed = err.Error()
	}
	if share, ok := others.Share(); ok && share > BusyShare && out.Skipped == "" {
		out.Busy = share
	}
	slog.Info("probe done", "probe", out.Probe, "seconds", out.Seconds, "measurements", len(out.Measurements), "skipped",
		out.Skipped, "failed", out.Failed)
	return out, nil
}
