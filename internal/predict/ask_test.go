package predict_test

import (
	"bytes"
	"context"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// ask answers a question about a built-in case, quickly.
func ask(t *testing.T, machine, workload string, policies []string, loads []float64, sweep bool) *predict.Answer {
	t.Helper()
	q := question(t, machine, workload, policies, loads)
	q.Sweep = sweep
	a := testkit.Must(predict.Ask(context.Background(), q, nil))(t)
	return a
}

func question(t *testing.T, machine, workload string, policies []string, loads []float64) predict.Question {
	t.Helper()
	m := testkit.Must(model.FindMachine(machine))(t)
	w := testkit.Must(model.FindWorkload(workload))(t)
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
	p := testkit.Must(model.ParsePolicy(text))(t)
	return p
}

func render(t *testing.T, a *predict.Answer) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, document.WriteHTML(&b, a.Document()))
	return b.String()
}
