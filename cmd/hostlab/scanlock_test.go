package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit/conform"
	"hostlab/internal/workload/scanlock"
)

// shortLived is a session whose worker is lost at its third reading.
type shortLived struct {
	cell  scanlock.Cell
	reads int
}

func (s *shortLived) Snapshot() (scanlock.Snapshot, error) {
	s.reads++
	if s.reads > 2 {
		return scanlock.Snapshot{}, errors.New("the worker process 7 did not answer")
	}
	out := scanlock.Snapshot{At: time.Duration(s.reads) * time.Second}
	for _, t := range s.cell.Threads {
		out.Counts = append(out.Counts, scanlock.Count{Thread: t, Acquisitions: uint64(1000 * s.reads)})
	}
	return out, nil
}
func (s *shortLived) Close() error { return nil }

// A worker that is lost leaves what was measured until then, marked, with its reason.
func TestScanlockLost(t *testing.T) {
	for _, format := range documentForms {
		var out bytes.Buffer
		o := scanlockRun{std: streams{nil, &out, &out}, interval: 10 * time.Millisecond, duration: time.Hour, printing: printing{format: format},
			ask:   scanlock.Ask{Scan: scanlock.None, ScanSize: 1 << 20},
			start: func(_ context.Context, c scanlock.Cell) (scanlock.Running, error) { return &shortLived{cell: c}, nil }}
		err := o.run(t.Context())
		if err == nil || err.Error() != "the worker process 7 did not answer" {
			t.Errorf("%s: %v", format, err)
		}
		if format != "json" {
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "Incomplete: these are the figures of the first 1.00 s; the worker process 7") {
				t.Errorf("%s:\n%s", format, text)
			}
			continue
		}
		if doc := conform.To(t, "scanlock.schema.json", out.Bytes()); doc["incomplete"] != "the worker process 7 did not answer" || doc["threads"].([]any)[0].(map[string]any)["role"] != "lock" {
			t.Errorf("%v", doc)
		}
	}
}
