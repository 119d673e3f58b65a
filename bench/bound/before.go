package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// runsBefore is how often the disk alone is measured before an experiment: between the
// least and the most of nine lies their median's truth in 99.6 % of cases.
const runsBefore = 9

// ofStudies are the keys of a study's workload that are not the workload's own.
var ofStudies = []string{"name", "settle", "expect", "timeout", "retries", "warmup"}

// before measures the share of its time that the job waits for its log on a directory's
// device, as somebody does who has no other device yet.
// A study whose baseline is a slowed directory has none: (nil, nil).
func before(program, study, dir string) (*interval, error) {
	source, err := os.ReadFile(study)
	if err != nil {
		return nil, err
	}
	var s struct {
		Workload map[string]any `toml:"workload"`
		Factor   []struct {
			Parameter   string
			Levels      []string
			Directories map[string]string
		} `toml:"factor"`
	}
	if err := toml.Unmarshal(source, &s); err != nil {
		return nil, err
	}
	if len(s.Factor) != 1 || len(s.Factor[0].Levels) == 0 {
		return nil, errors.New("the study has not one factor with levels")
	}
	f := s.Factor[0]
	if strings.HasPrefix(f.Directories[f.Levels[0]], "delay:") {
		return nil, nil
	}
	args := []string{"workload", fmt.Sprint(s.Workload["name"]), f.Parameter + "=" + dir, "--runs", strconv.Itoa(runsBefore), "--format", "json"}
	for name, value := range s.Workload {
		if !slices.Contains(ofStudies, name) {
			args = append(args, fmt.Sprint(name, "=", value))
		}
	}
	text, err := exec.Command(program, args...).Output() //nolint:gosec // the program that was named to us
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%w: %s", err, e.Stderr)
		}
		return nil, err
	}
	return readShare(text)
}

// readShare finds the share in what 'hostlab workload --format json' says.
func readShare(text []byte) (*interval, error) {
	var doc struct {
		Responses []struct {
			Name                string
			Median, Least, Most *float64
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for _, r := range doc.Responses {
		if r.Name == "log_share" && r.Median != nil && r.Least != nil && r.Most != nil {
			return &interval{Value: r.Median, Low: r.Least, High: r.Most}, nil
		}
	}
	return nil, errors.New("the workload told no log_share")
}
