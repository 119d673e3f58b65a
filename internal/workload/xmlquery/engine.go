package xmlquery

import (
	"context"
	"fmt"

	"hostlab/internal/workload"
)

// The engines.
const (
	embedded   = "embedded"
	inPostgres = "postgres"
)

// Validate implements workload.Validator.
func (Workload) Validate(cfg workload.Config) error { return checkEngine(cfg.Params) }

func checkEngine(p workload.Values) error {
	if degree := p.Int("degree"); p.String("engine") == inPostgres && degree > maxWorkers+1 {
		return &workload.ParamError{Name: "degree", Text: fmt.Sprintf("PostgreSQL gives a query at most %d workers and their leader, not %d", maxWorkers, degree),
			Hint: fmt.Sprintf("choose at most %d, or engine=embedded", maxWorkers+1)}
	}
	return nil
}

// runServer is Run with engine postgres.
func (s *session) runServer(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := checkEngine(r.Params); err != nil {
		return out, err
	}
	if err := s.database.Load(ctx, int(r.Params.Int("size")), r.Seed); err != nil {
		return out, err
	}
	a, doubt, err := s.database.Run(ctx, int(r.Params.Int("degree")), int(r.Params.Int("passes")))
	if err != nil {
		return out, err
	}
	out = a.sample()
	out.Doubt = doubt
	return out, nil
}
