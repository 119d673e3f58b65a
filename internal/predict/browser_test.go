//go:build system

package predict_test

import (
	"strings"
	"testing"

	"hostlab/internal/predict"
	"hostlab/internal/testkit/pages"
)

// TestInBrowser looks at pages in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	all := ask(t, "sap", "sap-dialog", append(predict.DefaultPolicies(predict.Machine{}, false), "hwp"),
		[]float64{0.05, 0.9})
	hostile := ask(t, "sap", "sap-extract", []string{"balanced-rs1,PERFCHECK=30ms"}, nil)
	hostile.Workload.Name, hostile.Machine.Name = strings.Repeat("<script>alert(1)</script>", 8),
		strings.Repeat("very-long-name", 20)
	hostile.Warnings = []string{"</script><img src=x onerror=alert(1)>"}
	browser := pages.Start(t)
	for name, a := range map[string]*predict.Answer{"map": all, "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			b := pages.Open(t, browser, render(t, a), "", 1200)
			if bad := pages.Eval[[]string](t, b, `[...document.querySelectorAll(".scroll")].filter((s) => s.scrollWidth > s.clientWidth + 1).map((s) => s.scrollWidth + " in " + s.clientWidth)`); len(bad) > 0 {
				t.Errorf("figures cut off: %q", bad)
			}
			pages.Inspect(t, b, "predict-"+name)
		})
	}
}
