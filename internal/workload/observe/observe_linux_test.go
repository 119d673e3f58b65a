package observe

import (
	"fmt"
	"os"
	"testing"

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
