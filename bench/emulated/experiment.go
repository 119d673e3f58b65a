package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// report is what is read of 'hostlab report --format json'.
type report struct {
	Effects []struct {
		Kind, Level, Baseline, Response, Evidence, Unit string
		Effect, Low, High, Alpha                        *float64
		N                                               int
	}
	Experiments []struct {
		Section struct {
			Tables []struct {
				Response string
				Cells    []struct {
					Levels map[string]string
					Median *float64
					N      int
				}
			}
		}
	}
}

// experiment runs a study and reads its report.
func experiment(hostlab, study string, args []string) (r report, err error) {
	dir, err := os.MkdirTemp("", "hostlab-emulated-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	toml, record := filepath.Join(dir, "power-emulated.toml"), filepath.Join(dir, "record")
	if err := os.WriteFile(toml, []byte(study), 0o600); err != nil {
		return r, err
	}
	cmd := exec.Command(hostlab, append([]string{"run", toml, "--out", record, "--yes", "--quiet"}, args...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("hostlab run: %w", err)
	}
	b, err := exec.Command(hostlab, "report", record, "--format", "json").Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 10) { // 10, 11: verdicts
		return r, fmt.Errorf("hostlab report: %w", err)
	}
	return r, json.Unmarshal(b, &r)
}
