//go:build system

package lever

import (
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/testkit"
)

// What is to be typed next names the log directory, which others may have named.
func TestHostileNamesStayData(t *testing.T) {
	for _, name := range testkit.Hostile {
		facts := metal()
		facts.Storage = []host.Storage{{Path: "/" + name, Purpose: "log-dir",
			Class: host.Known(host.ClassMemory, "", "mounts")}}
		facts.Databases = []host.Database{{Kind: name}}
		n := 0
		next := []string{"hostlab assess" + Again(check.ProductionDB, facts)}
		for _, l := range platform(check.ProductionDB, facts, nil, nil) {
			next = append(next, l.Next.Command)
		}
		for _, s := range next {
			if strings.Contains(s, testkit.Tag) {
				n++
				testkit.Intact(t, s, name)
				testkit.Intact(t, strings.Join(screen.Commands(s, 40), "\n"), name)
			}
		}
		if n < 2 {
			t.Errorf("%q is in %d of %q", name, n, next)
		}
	}
}
