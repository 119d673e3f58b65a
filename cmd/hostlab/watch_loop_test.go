package main

import (
	"context"
	"testing"
)

// TestWatchEndsEarly: who is interrupted learns what the record holds; without an end to come, that is no interruption.
func TestWatchEndsEarly(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for want, o := range map[string]*watchOptions{"": {record: "r.jsonl"}, "interrupted": {count: 9},
		"interrupted; r.jsonl holds the samples until then": {count: 9, record: "r.jsonl"}} {
		if _, got := outcome(o.done(ctx)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
