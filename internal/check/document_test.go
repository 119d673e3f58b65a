package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// TestManyFindings: a terminal shows the worst findings in full, and a line of each other one; --all shows all in full.
func TestManyFindings(t *testing.T) {
	var list []Result
	for i := range 9 {
		list = append(list, Result{ID: fmt.Sprintf("TST-%03d", i+1), Title: "a title", Severity: Low, Status: Finding,
			Detail: "what is the case", Remedy: fmt.Sprintf("echo %d", i+1)})
	}
	short := text(t, Document(&host.Facts{}, ProductionDB, list, false, time.Time{}), document.TextOptions{})
	for _, want := range []string{"echo 5", "MORE FINDINGS", "TST-006 low  a title: what is the case", "TST-009", "--all prints"} {
		testkit.Has(t, short, want)
	}
	if strings.Contains(short, "echo 6") {
		t.Error(short)
	}
	if all := text(t, Document(&host.Facts{}, ProductionDB, list, true, time.Time{}), document.TextOptions{}); !strings.Contains(all,
		"echo 9") || strings.Contains(all, "MORE FINDINGS") {
		t.Error(all)
	}
}
