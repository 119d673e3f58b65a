package observe

import (
	"fmt"
	"os"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func itself() string { return fmt.Sprintf("pid:%d", os.Getpid()) }

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:   map[string]any{"service": itself(), "for": "1s", "every": "1s"},
		Long:     map[string]any{"service": itself(), "for": "1h"},
		Unseeded: "others do the work",
	})
}

func openSession(t *testing.T, given map[string]any) (workload.Session, workload.Request) {
	t.Helper()
	v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: t.TempDir(), Work: t.TempDir()}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s, workload.Request{Params: v}
}
