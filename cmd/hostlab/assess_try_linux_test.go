package main

import (
	"os"
	"slices"
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/service"
)

// Each study that could prove a lever is tried, as is the one of log devices.
func TestCannotTryLooksAtAll(t *testing.T) {
	m := &assess.Minute{Service: service.Service{Kind: service.Process, PID: os.Getpid()}}
	_, studies := m.OnService()
	for study := range cannotTry(t.Context(), m) {
		if study != "log-device" && !slices.Contains(studies, study) {
			t.Errorf("%s is no study of a lever", study)
		}
	}
}
