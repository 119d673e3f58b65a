package main

import (
	"os"
	"slices"
	"strings"
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

// A database is tried as the process that was watched: of several of its name, another may be the busiest.
func TestCannotTryLooksAtTheWatched(t *testing.T) {
	m := &assess.Minute{Service: service.Service{Kind: service.Database, Name: "NoSuchDatabase", PID: os.Getpid()}}
	for study, why := range cannotTry(t.Context(), m) {
		if strings.Contains(why, m.Service.Name) {
			t.Errorf("%s: %s", study, why)
		}
	}
}
