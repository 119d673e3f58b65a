package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A command that is cancelled is waited for until its whole group has ended, and no
// longer.
func TestCancelACommand(t *testing.T) {
	for name, script := range map[string]string{
		"obeys":                 "echo > begun; exec sleep 60",
		"is stopped":            "echo > begun; kill -STOP $$",
		"a child ends after it": "(trap 'sleep 0.1; echo > ended; exit' TERM; echo > begun; while :; do sleep 0.01; done) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for {
					if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
						break
					}
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if _, err := command(ctx, dir, []string{"sh", "-c", script}, 0); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "ended")); name == "a child ends after it" && err != nil {
				t.Errorf("was killed within its grace: %v", err)
			}
		})
	}
}
