package check

import (
	"slices"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// TestWindowsIsNotJudgedAsLinux: what Linux alone has is said to be so, and what Windows
// tells is judged.
func TestWindowsIsNotJudgedAsLinux(t *testing.T) {
	f := &host.Facts{Windows: &host.Windows{}}
	f.Storage = []host.Storage{{Path: `R:\log`, Purpose: "log-dir",
		Class: host.Known(host.ClassMemory, "", "GetVolumeInformation")}}
	seen := 0
	for _, r := range Run(f, ProductionDB, All()) {
		also := slices.Contains(alsoWindows, r.ID)
		if also {
			seen++
		}
		if (r.Detail == notLinux) == also && r.Detail != "not judged for the role production-db" {
			t.Errorf("%s: %s %s", r.ID, r.Status, r.Detail)
		}
		if r.ID == "STO-006" && r.Status != Finding {
			t.Errorf("a log in memory: %s %s", r.Status, r.Detail)
		}
	}
	testkit.Is(t, len(alsoWindows), seen, "of the checks", alsoWindows, "exist")
}
