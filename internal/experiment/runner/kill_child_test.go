package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hostlab/internal/experiment"
)

// killStudy has a workload that logs when it has done its work.
const killStudy = levelFactor + `
[workload]
name = "command"
run = ["sh", "-c", "echo $(cat level) >> done"]
warmup = 1
[[response]]
name = "wall"
from = "wall"
primary = true
`

// killChild is the process that is killed: it runs or resumes the experiment in
// dir and tells of each run that it was told to be recorded.
func killChild(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	source, err := os.ReadFile(filepath.Join(dir, "s.toml"))
	fail(err)
	st, err := experiment.Parse(filepath.Join(dir, "s.toml"), dir, source, experiment.Overrides{}, Known())
	fail(err)
	told, err := os.OpenFile(filepath.Join(dir, "told"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	fail(err)
	cfg := Config{Study: st, Dir: filepath.Join(dir, "record"), Version: "test"}
	cfg.Watch = func(p Progress) {
		if r := p.Last; r != nil {
			fmt.Fprintln(told, r.Block, r.Plot, r.Slot, r.Attempt, r.Status)
		}
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "experiment.json")); err == nil {
		cfg.Resume = true
	}
	_, err = Run(context.Background(), cfg)
	fail(err)
	os.Exit(0)
}
