// Bound runs a short experiment many times and counts how often the gain that was
// measured on a faster log device was beyond what the baseline's wait for its log allows,
// by more than both intervals leave open. Expected: never.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

func main() {
	program := flag.String("hostlab", "bin/hostlab", "the program")
	study := flag.String("study", "bench/bound/short.toml", "the experiment")
	n := flag.Int("n", 20, "how often")
	dir := flag.String("dir", ".", "directory on the device")
	flag.Parse()
	beyond, err := repeat(*program, *study, *dir, *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bound:", err)
		os.Exit(1)
	}
	if fmt.Printf("gains beyond their bound: %d of %d experiments (expected 0)\n", beyond, *n); beyond > 0 {
		os.Exit(1)
	}
}

// Statuses with which 'hostlab report' tells verdicts.
const effectStatus, undecidedStatus = 10, 11

type interval struct{ Value, Low, High *float64 }

func (i *interval) String() string {
	if i == nil || i.Value == nil || i.Low == nil || i.High == nil {
		return "unknown"
	}
	return fmt.Sprintf("%5.1f %% [%5.1f, %5.1f]", 100**i.Value, 100**i.Low, 100**i.High)
}

type cell struct {
	Level   string    `json:"level"`
	At      string    `json:"at"`
	N       int       `json:"n"`
	Gain    *interval `json:"gain"`
	AtMost  *interval `json:"at_most"`
	Exceeds bool      `json:"exceeds"`
}

func repeat(program, study, parent string, n int) (beyond int, err error) {
	dir, err := os.MkdirTemp(parent, ".hostlab-bound-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i := range n {
		out := filepath.Join(dir, strconv.Itoa(i))
		seed := strconv.FormatUint(rand.Uint64(), 10)
		if text, err := exec.Command(program, "run", study, "--quiet", "--seed", seed, "--out", out).CombinedOutput(); err != nil {
			return beyond, fmt.Errorf("%w: %s", err, text)
		}
		text, err := exec.Command(program, "report", out, "--format", "json").Output()
		if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != effectStatus && e.ExitCode() != undecidedStatus) {
			return beyond, err
		}
		cells, err := read(text)
		if err != nil {
			return beyond, err
		}
		for _, c := range cells {
			if c.Gain == nil {
				continue
			}
			word := "within"
			if c.Exceeds {
				word = "BEYOND"
				beyond++
			}
			fmt.Printf("%3d  %-6s n = %d  gain %s  at most %s  %s\n", i+1, c.Level, c.N, c.Gain, c.AtMost, word)
		}
	}
	return beyond, nil
}

// read finds the cells of the section "log".
func read(report []byte) ([]cell, error) {
	var doc struct {
		Experiments []struct {
			Section struct {
				Name  string `json:"name"`
				Cells []cell `json:"cells"`
			} `json:"section"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(report, &doc); err != nil {
		return nil, err
	}
	if len(doc.Experiments) != 1 || doc.Experiments[0].Section.Name != "log" {
		return nil, errors.New("the report has no section log")
	}
	return doc.Experiments[0].Section.Cells, nil
}
