package main

import (
	"context"
	"fmt"

	"hostlab/internal/assess"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/workload"
)

// cannotTry says why studies that a report might name cannot run on the watched service here. Nothing is changed.
func cannotTry(ctx context.Context, m *assess.Minute) map[string]string {
	why := map[string]string{}
	try := func(study string, over experiment.Overrides) {
		if err := canRun(ctx, study, over); err != nil {
			why[study] = screen.OneLine(err)
		}
	}
	try("log-device", experiment.Overrides{})
	name, studies := m.OnService()
	if m.Service.Kind == service.Database { // of several of one name, the one that was watched
		name = fmt.Sprintf("pid:%d", m.Service.PID)
	}
	for _, s := range studies {
		try(s, experiment.Overrides{Set: map[string]string{"workload.service": name}})
	}
	return why
}

func canRun(ctx context.Context, study string, over experiment.Overrides) error {
	st, err := experiment.Find(study, over, runner.Known())
	if err == nil {
		err = needs(ctx, st)
	}
	if err == nil {
		err = runner.CheckLevels(ctx, st)
	}
	if err == nil {
		_, err = experiment.Fit(st, workload.Machine{}, runner.Look)
	}
	return err
}
