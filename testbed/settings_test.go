//go:build linux && amd64

package testbed

import (
	"strings"
	"testing"
)

// TestSettings sets, reads back, verifies and puts back every setting that a guest has.
func TestSettings(t *testing.T) {
	for i, g := range guests {
		if i > 1 && !*full {
			break
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"each", "quick"}
			if *full {
				args = args[:1]
			}
			b := g.start(t, nil, args...)
			b.wait(t.Context(), t)
			rows := b.lines(t, "row")
			if len(rows) < 20 {
				t.Errorf("only %d settings were tried", len(rows))
			}
			for _, r := range rows {
				t.Log("| " + strings.Join(r, " | ") + " |")
			}
		})
	}
}

// TestCombinations sets several together, and lets the kernel refuse and others interfere.
func TestCombinations(t *testing.T) {
	for i, g := range guests {
		if i > 1 && !*full {
			break
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			b := g.start(t, nil, "combine")
			b.wait(t.Context(), t)
			good := b.lines(t, "ok")
			if len(good) < 8 {
				t.Errorf("only %d scenes were played", len(good))
			}
			for _, g := range good {
				t.Log(strings.Join(g, ": "))
			}
		})
	}
}
