package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// withServed are the workloads that studies of this process may name.
func withServed(dir string) {
	workloads = func() []workload.Workload {
		return append(all.Workloads(), &served{level: filepath.Join(dir, "level"), takes: func(string) (float64, error) {
			time.Sleep(5 * time.Millisecond)
			return 0.010, nil
		}})
	}
}

// liveChild is the process that is killed: it runs or resumes an experiment on a service that takes
// its time.
func liveChild(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	file := filepath.Join(dir, "s.toml")
	st, err := experiment.Parse(file, dir, []byte(liveStudy), experiment.Overrides{}, Known())
	fail(err)
	cfg := Config{Study: st, Dir: filepath.Join(dir, "record"), Version: "test"}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "experiment.json")); err == nil {
		cfg.Resume = true
	}
	_, err = Run(context.Background(), cfg)
	fail(err)
	os.Exit(0)
}
