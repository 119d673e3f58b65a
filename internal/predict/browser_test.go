package predict_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/report/reporttest/chrome"
)

// ask answers a question about a built-in case, quickly.
func ask(t *testing.T, machine, workload string, policies []string, loads []float64, sweep bool) *predict.Answer {
	t.Helper()
	q := question(t, machine, workload, policies, loads)
	q.Sweep = sweep
	a, err := predict.Ask(context.Background(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func question(t *testing.T, machine, workload string, policies []string, loads []float64) predict.Question {
	t.Helper()
	m, err := model.FindMachine(machine)
	if err != nil {
		t.Fatal(err)
	}
	w, err := model.FindWorkload(workload)
	if err != nil {
		t.Fatal(err)
	}
	// Small enough to be quick; the page does not depend on it.
	m.Sockets, m.CoresPerSocket = 1, 4
	if n := len(m.Turbo); n > 0 {
		m.Turbo = []model.TurboBin{{ActiveCores: 4, Hz: m.Turbo[n-1].Hz}}
	}
	q := predict.Question{Machine: predict.BuiltIn(m), Workload: predict.BuiltInWorkload(w), Loads: loads,
		Options: model.Options{Seed: 1, Replications: 4, Steps: 200}}
	q.Baseline = parse(t, "high-performance")
	for _, p := range policies {
		q.Policies = append(q.Policies, parse(t, p))
	}
	return q
}

func parse(t *testing.T, text string) model.Policy {
	t.Helper()
	p, err := model.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func render(t *testing.T, a *predict.Answer) string {
	t.Helper()
	var b bytes.Buffer
	if err := document.WriteHTML(&b, a.Document()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInBrowser looks at pages in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	all := ask(t, "sap", "sap-dialog", append(predict.DefaultPolicies(predict.Machine{}, false), "hwp"), []float64{0.05, 0.9}, true)
	hostile := ask(t, "sap", "sap-extract", []string{"balanced-rs1,PERFCHECK=30ms"}, nil, false)
	hostile.Workload.Name, hostile.Machine.Name = strings.Repeat("<script>alert(1)</script>", 8), strings.Repeat("very-long-name", 20)
	hostile.Warnings = []string{"</script><img src=x onerror=alert(1)>"}
	browser := chrome.Start(t)
	for name, a := range map[string]*predict.Answer{"map": all, "hostile": hostile} {
		page := render(t, a)
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, theme, width), func(t *testing.T) {
					b := chrome.Open(t, browser, page, "#theme="+theme, width)
					for what, expression := range map[string]string{
						"sideways scrolling": chrome.Overflowing, "low contrast": chrome.LowContrast, "overlapping texts": chrome.Overlaps,
						"ids that are not unique":           `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`,
						"tables without a caption or scope": `[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`,
						"pictures of no size":               `[...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`,
					} {
						if bad := chrome.Eval[[]string](t, b, expression); len(bad) > 0 {
							t.Errorf("%s:\n%s", what, strings.Join(bad, "\n"))
						}
					}
					if width == 1280 {
						if bad := chrome.Eval[[]string](t, b, `[...document.querySelectorAll(".scroll")].filter((s) => s.scrollWidth > s.clientWidth + 1).map((s) => s.scrollWidth + " in " + s.clientWidth)`); len(bad) > 0 {
							t.Errorf("figures cut off: %s", strings.Join(bad, ", "))
						}
					} else if bad := chrome.Eval[[]string](t, b, `[...document.querySelectorAll("svg.pic")].filter((s) => [...s.querySelectorAll("text")].some((x) => x.getBoundingClientRect().height < 11) || !s.closest("[tabindex]")).map((s) => s.textContent.slice(0, 20))`); len(bad) > 0 {
						t.Errorf("pictures too small to read, or that keys cannot scroll: %s", strings.Join(bad, ", "))
					}
					mean, colours := chrome.Brightness(t, chrome.Look(t, b, fmt.Sprintf("predict-%s-%s-%d", name, theme, width)))
					if (theme == "dark") != (mean < 0.4) {
						t.Errorf("mean brightness %.2f in the %s theme", mean, theme)
					}
					if colours < 30 {
						t.Errorf("only %d colours: nothing drawn?", colours)
					}
				})
			}
		}
	}
}
