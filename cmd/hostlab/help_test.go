package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// Every command's help fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	const width = 80
	seen := 0
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		var out, errs bytes.Buffer
		if status := run(t.Context(), append(path, "--help"), streams{in: &bytes.Buffer{}, out: &out, err: &errs}); status != 0 || errs.Len() > 0 {
			t.Errorf("%q --help: exit status %d, %s", path, status, &errs)
		}
		seen++
		for line := range bytes.Lines(out.Bytes()) {
			if line = bytes.TrimRight(line, "\n"); utf8.RuneCount(line) > width {
				t.Errorf("%q --help: %d columns: %s", path, utf8.RuneCount(line), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.DisableFlagParsing { // it names another command
				continue
			}
			walk(append(path[:len(path):len(path)], sub.Name()), sub)
		}
	}
	walk(nil, newRoot(streams{in: &bytes.Buffer{}, out: &bytes.Buffer{}, err: &bytes.Buffer{}}))
	if seen < 20 {
		t.Errorf("only %d commands have a help", seen)
	}
}

// own are commands of hostlab that a report prints: on a line of their own, or in a sentence.
var own = regexp.MustCompile(`(?m)^  (hostlab .*)$|"(hostlab [^"]*)"|'(hostlab [^']*)'`)

// TestPrintedCommandsParse: what a report says to type has the commands, flags and arguments that this program takes.
func TestPrintedCommandsParse(t *testing.T) {
	recorded, err := filepath.Glob("../../internal/host/testdata/*.txtar")
	if err != nil || len(recorded) < 10 {
		t.Fatalf("%d recorded machines: %v", len(recorded), err)
	}
	seen := map[string]bool{}
	for _, file := range testkit.Sample(recorded, 6) {
		data := testkit.Must(os.ReadFile(file))(t)
		dir := t.TempDir()
		testkit.OK(t, host.ExtractArchive(data, dir))
		facts := host.Collect(t.Context(), host.Options{Tree: host.Tree{Root: dir}})
		for _, role := range check.Roles {
			a := &report.Assessment{Role: role, Facts: facts, Results: check.Run(facts, role, check.All())}
			a.Levers, a.Verdict.Text = lever.Platform(role, facts, a.Results, nil)
			parsed(t, a, seen)
			a.Minute = starved()
			a.Levers = a.Minute.Join(a.Levers)
			a.Verdict.Text = a.Minute.Verdict(a.Levers)
			parsed(t, a, seen)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d commands: %v", len(seen), seen)
	}
}

// starved is the minute of a service that waits for everything.
func starved() *assess.Minute {
	m := &assess.Minute{Service: service.Service{Kind: service.Unit, Name: "shop.service", PID: 812},
		Unseen: map[string]string{}}
	m.Report = explain.Report{Wall: 60, Elapsed: 60, Busy: 60, Transactions: -1}
	for _, name := range []explain.PartName{explain.DatabaseCPU, explain.RunQueue, explain.LogWait, explain.DataReads} {
		m.Report.Parts = append(m.Report.Parts, explain.Part{Name: name, Seconds: 15, Source: "test",
			Share: result.Estimate{Value: 0.25, Low: 0.2, High: 0.3, N: 100}})
	}
	return m
}

func parsed(t *testing.T, a *report.Assessment, seen map[string]bool) {
	t.Helper()
	for _, d := range []*document.Document{a.Document(), a.Brief()} {
		var b bytes.Buffer
		testkit.OK(t, document.WriteText(&b, d, document.TextOptions{Width: 1 << 20}))
		for _, m := range own.FindAllStringSubmatch(b.String(), -1) {
			line := m[1] + m[2] + m[3]
			if seen[line] {
				continue
			}
			seen[line] = true
			root := newRoot(streams{})
			cmd, args, err := root.Find(strings.Fields(strings.ReplaceAll(line, "'", ""))[1:])
			if err == nil && cmd == root {
				t.Errorf("%s: no command", line)
			}
			if err == nil {
				err = cmd.ParseFlags(args)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
