// Command emulated measures emulated power policies with the built-in study
// power-emulated and writes what it found, with the case that the model has to
// simulate for it, to the file that docs/validation.md is made from.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/testkit/modeltest"
	"hostlab/internal/workload"
	"hostlab/internal/workload/dialog"
	"hostlab/studies"
)

// cases are the workloads, as parameters of dialog, with the policies to compare.
var cases = []struct {
	name   string
	params map[string]string
	levels []string
}{
	{"slices of 100 ms, 300 ms idle", map[string]string{"slice": "100ms", "think": "300ms", "duration": "2s"}, []string{"balanced-rs1", "balanced-rs2", "ondemand"}},
	{"the same, checks every 50 ms", map[string]string{"slice": "100ms", "think": "300ms", "duration": "2s", "check": "50ms"}, []string{"balanced-rs1"}},
	{"steady, no idle time", map[string]string{"slice": "100ms", "think": "0s", "warm_up": "1s", "duration": "1s"}, []string{"balanced-rs1"}},
	{"open, 20 % load", sap("0.2"), []string{"balanced-rs1"}},
	{"open, 80 % load", sap("0.8"), []string{"balanced-rs1"}},
}

func sap(load string) map[string]string {
	return map[string]string{"slices": "3", "slice": "60ms", "slice_dist": "exp", "wait": "40ms", "wait_dist": "exp", "think": "0s", "load": load,
		"warm_up": "500ms", "duration": "3s"}
}

func main() {
	hostlab := flag.String("hostlab", "bin/hostlab", "the program")
	file := flag.String("out", "internal/testkit/modeltest/measured.json",
		"file to write; cases measured anew replace those in it")
	blocks := flag.Int("blocks", 8, "blocks of each case")
	only := flag.Int("case", 0, "number of the one case to measure, from 1; 0: all")
	about := flag.String("about", "", "the host, in a few words")
	processes := flag.Bool("processes", false, "slow down processes by each method, in place of the workload's own spins; print, and write no file")
	flag.Parse()
	if *processes {
		if err := runProcesses(*hostlab, *blocks); err != nil {
			fmt.Fprintln(os.Stderr, "emulated:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*hostlab, *file, *blocks, *only, *about); err != nil {
		fmt.Fprintln(os.Stderr, "emulated:", err)
		os.Exit(1)
	}
}

func run(hostlab, file string, blocks, only int, about string) error {
	old, err := read(file)
	if err != nil {
		return err
	}
	for i, c := range cases {
		if only != 0 && only != i+1 {
			continue
		}
		found, err := measure(hostlab, c.name, c.params, c.levels, blocks)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		old = slices.DeleteFunc(old, func(m modeltest.Measured) bool { return m.Name == c.name })
		for _, m := range found {
			m.Host = about
			old = append(old, m)
			fmt.Printf("%s, %s, %s: %.3f [%.3f, %.3f], n %d\n", m.Name, m.Policy, m.Response, m.Ratio, m.Low, m.High, m.N)
		}
	}
	number := func(m modeltest.Measured) int {
		for i, c := range cases {
			if c.name == m.Name {
				return i
			}
		}
		return len(cases)
	}
	slices.SortStableFunc(old, func(a, b modeltest.Measured) int { return cmp.Compare(number(a), number(b)) })
	b, err := json.MarshalIndent(old, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

func read(file string) (out []modeltest.Measured, err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, &out)
}

// study is power-emulated for these levels. Its guard against neighbours is taken out:
// time on the CPU does not count what they take, and on a shared host no run would be
// left.
func study(levels []string) (string, error) {
	b, err := studies.Files.ReadFile("power-emulated.toml")
	if err != nil {
		return "", err
	}
	var quoted []string
	for _, l := range append([]string{"high-performance"}, levels...) {
		quoted = append(quoted, strconv.Quote(l))
	}
	text := regexp.MustCompile(`(?m)^levels = .*$`).ReplaceAllLiteralString(string(b), "levels = ["+strings.Join(quoted, ", ")+"]")
	text, _, _ = strings.Cut(text, "[guard]")
	return text, nil
}

func measure(hostlab, name string, params map[string]string, levels []string, blocks int) ([]modeltest.Measured, error) {
	text, err := study(levels)
	if err != nil {
		return nil, err
	}
	var args []string
	given := map[string]any{}
	d := dialog.Workload{}.Describe()
	for _, k := range slices.Sorted(maps.Keys(params)) {
		args = append(args, "--set", "workload."+k+"="+params[k])
		given[k] = workload.Typed(params[k])
	}
	r, err := experiment(hostlab, text, append(args, "--blocks", strconv.Itoa(blocks)))
	if err != nil {
		return nil, err
	}
	var out []modeltest.Measured
	for _, e := range r.Effects {
		if e.Effect == nil || e.Low == nil || e.High == nil || e.Alpha == nil || e.Kind != "main" || e.Evidence != "emulated" {
			return nil, fmt.Errorf("%s of %s has no interval, or is not of evidence emulated", e.Response, e.Level)
		}
		given["policy"] = e.Level
		v, err := workload.Check(d, given)
		if err != nil {
			return nil, err
		}
		c, err := dialog.Case(v)
		if err != nil {
			return nil, err
		}
		out = append(out, modeltest.Measured{Name: name, Policy: c.Policy.String(), Baseline: e.Baseline, Response: e.Response,
			Ratio: 1 + *e.Effect, Low: 1 + *e.Low, High: 1 + *e.High, Level: 1 - *e.Alpha, N: e.N, Unit: e.Unit,
			CPUs: c.Machine.CPUs(), Floor: v.(*dialog.Params).Floor, Load: c.Load, Workload: c.Workload})
	}
	return out, nil
}
